/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Operations on registered memory of the peer: in-place writes, reads and atomics, on the bulk
 * queue pair. What does not fit the send queue waits here. A transfer larger than the port's
 * largest message goes in pieces, one behind the other's end: so it ends, also with an error, when
 * the adapter has nothing of it left that could write to the user's memory. A write that fits into
 * its request travels there, and its source need not be registered.
 *
 * One-sided programs start many writes and reads before they wait for any, and MPI says nothing of
 * their order. Such are held until the peer's next progress, or until something is started for it
 * that is not held; then they are put in order (core/onesided/rma_order.c) and posted with one
 * doorbell. Neighbours become one request. What is held counts in core's `queued`, so that somebody
 * sees to it also while the process computes.
 *
 * States: held -> queued -> posted -> ended; started: queued at once. One in pieces stays queued
 * until its last piece is posted. Owner: core, from start or
 * hold to RBUF_EVENT_RMA. Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_RMA_H
#define RBUF_CORE_RMA_H

#include "core/state/state.h"

/* The user sets everything down to `compare`, and owns it again with its RBUF_EVENT_RMA. */
struct rbuf_rma {
    enum rbuf_fab_verb operation; /* not WRITE_INLINE: that is core's choice */
    void *local;     /* 8 aligned bytes for atomics; registered unless a write goes inline */
    uint64_t remote; /* registered at the peer */
    uint64_t bytes;
    uint32_t lkey;
    uint32_t rkey;
    uint64_t operand; /* addend, or new value */
    uint64_t compare;

    uint64_t done; /* core's, like everything below: bytes posted */
    uint64_t back; /* of them, those of pieces that have completed; less than `done` while
                      a piece is under way */
    uint64_t span; /* bytes of its request: its own, and those of `with` */
    struct rbuf_rma_list with; /* neighbours that are merged into it */
    struct rbuf_work work;
    TAILQ_ENTRY(rbuf_rma) link;
    struct rbuf_event_place ended;
};

/* Posts or queues; ends in RBUF_EVENT_RMA when the data is at its place, or with a status. */
void rbuf_rma_start(struct rbuf_peer *peer, struct rbuf_rma *rma);

/* The same of a write or read that others may be done before: it is held, unless the order is
 * ISSUE. The bound of their number keeps the adapter busy while a program starts more than that. */
#define RBUF_RMA_HELD_MOST 64u
void rbuf_rma_hold(struct rbuf_peer *peer, struct rbuf_rma *rma);

/* Puts what is held in order; what is queued next goes behind it. */
void rbuf_rma_release(struct rbuf_peer *peer);

/* Orders `count` writes and reads, of which `reads` reads may be under way. */
void rbuf_rma_arrange(enum rbuf_rma_order order, unsigned reads, struct rbuf_rma **list,
                      unsigned count);

/* For core's own files. */
void rbuf_rma_open(struct rbuf_peer *peer);
int rbuf_rma_progress(struct rbuf_peer *peer);

/* True if some are held, which rbuf_rma_release() posts. */
static inline bool rbuf_rma_holds(const struct rbuf_peer *peer)
{
    return peer->onesided.held > 0;
}

/* True if none waits to be posted. */
static inline bool rbuf_rma_idle(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->onesided.rmas);
}

void rbuf_rma_fail(struct rbuf_peer *peer, int status);

#endif
