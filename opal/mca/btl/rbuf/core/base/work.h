/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Work: what a signalled work request points back to.
 *
 * Every request that core posts carries a pointer to a struct rbuf_work as its work-request id; the
 * completion brings it back and rbuf_core_completed() dispatches on `kind`. The object that embeds
 * the work must live until that completion.
 *
 * Owner: core sets `kind` once; the fabric sets `queue` and `producer_index` at each post
 * (send_queue.h).
 */
#ifndef RBUF_CORE_WORK_H
#define RBUF_CORE_WORK_H

#include <stdint.h>

struct rbuf_fab_queue;

enum rbuf_work_kind {
    RBUF_WORK_MARKER, /* retires unsignalled requests of a queue pair, means nothing else */
    RBUF_WORK_CHUNK,  /* a chunk for a lane left its staging buffer */
    RBUF_WORK_EARLY,  /* likewise a chunk of early data */
    RBUF_WORK_COPIED, /* a chunk of a copied put is at its place */
    RBUF_WORK_READ,   /* a chunk of a copied get is in its staging buffer */
    RBUF_WORK_SEND,   /* an active message left its buffer */
    RBUF_WORK_RMA,    /* an in-place write, read or atomic has completed */
    RBUF_WORK_PROBE,  /* a liveness probe was acknowledged by the peer's adapter */
    RBUF_WORK_WORD    /* a write of a word into a mailbox was acknowledged */
};

struct rbuf_work {
    enum rbuf_work_kind kind;
    struct rbuf_fab_queue *queue; /* where it was posted */
    uint32_t producer_index;      /* of the queue, just after this post */
};

#endif
