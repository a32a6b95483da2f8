/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The eager limit: how long a message may be and still go without a rendezvous.
 *
 * There are two limits. `least` fits a receive buffer of the control channel; up to `most` a
 * message goes by an eager ring. A message between the two that finds no room in a ring is a miss.
 * It may go by the bulk channel; but that is slower than a rendezvous (contrib/speed.sh eager), and
 * takes receive buffers that all peers share. So only a few messages may.
 *
 * After too many misses comes a pause, in which the limit is `least`. It lasts for a number of
 * messages between the two limits, which then go by a rendezvous: RBUF_EAGER_PAUSE_LEAST at first,
 * and twice as many each time, unless more messages than the last pause had have gone by rings
 * since.
 *
 * A synchronous message up to the limit (MPI_Ssend) is sent in one buffer with its rendezvous. It
 * is no miss, and does not count for a pause.
 *
 * The caller serialises calls for one limit.
 */
#ifndef RBUF_CORE_EAGER_LIMIT_H
#define RBUF_CORE_EAGER_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RBUF_EAGER_PAUSE_LEAST 16u /* messages */
#define RBUF_EAGER_PAUSE_MOST  1024u

/* Zeroed but for the two sizes, which may be equal: then the limit never changes. */
struct rbuf_eager {
    size_t near;      /* bytes; `most` where some peer is near */
    size_t far;       /* likewise where all are far; no less, or it does not matter */
    size_t most;      /* while messages find room in rings */
    size_t least;     /* else; no more than that */
    uint32_t pause;   /* messages of the last pause; 0: there was none */
    uint32_t left;    /* of them, before it ends; 0: there is none now */
    uint32_t by_ring; /* messages longer than `least` that went by rings since the last pause */
};

/* The limit in force, bytes. */
static inline size_t rbuf_eager_limit(const struct rbuf_eager *eager)
{
    return eager->left > 0 ? eager->least : eager->most;
}

/* A message longer than `least` went by a ring. */
static inline void rbuf_eager_by_ring(struct rbuf_eager *eager)
{
    eager->by_ring++;
}

/* One could not, and there have been too many. No news while a pause lasts: the message was on its
 * way when that began. */
void rbuf_eager_missed(struct rbuf_eager *eager);

/* A message of `bytes` goes by a rendezvous. */
void rbuf_eager_rendezvous(struct rbuf_eager *eager, size_t bytes);

#endif
