/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How long a message may be and still go eagerly.
 *
 * What is longer than a receive buffer belongs into a ring. A few that find it full may go beside
 * it; but that is slower than a rendezvous (contrib/speed.sh eager) and takes buffers that all who
 * send share, so that nobody may send many in this manner, nor go on to a peer that leases no ring.
 * After such a miss the limit is the lesser one for a number of messages that go by a rendezvous
 * and are no longer than the greater: twice as many each time, unless more than that went by rings
 * since the last one.
 *
 * Synchronous messages up to the limit are sent with their rendezvous, in one buffer: they are
 * neither misses, nor do they count for a pause.
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
