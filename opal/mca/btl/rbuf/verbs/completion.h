/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Completions of a port, from its receive and its send completion queues.
 *
 * A work comes back exactly once, good or failed. A failed unsignalled request has no work: it is
 * reported once a queue, as SENT with work NULL and the queue (the queue's own markers are kept
 * from the caller). A buffer is reported exactly once for each time that it was posted, and belongs
 * to the caller from then on, also when the status is bad.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_VERBS_COMPLETION_H
#define RBUF_VERBS_COMPLETION_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "core/base/fab.h"

struct rbuf_port;
struct rbuf_buffer;
struct rbuf_fab_queue;

enum rbuf_completion_kind {
    RBUF_COMPLETION_SENT,     /* work is back; or a failed queue (work NULL) */
    RBUF_COMPLETION_RECEIVED, /* buffer holds `bytes` */
    RBUF_COMPLETION_IMMEDIATE /* a write-with-immediate took this buffer, which is empty */
};

struct rbuf_completion {
    enum rbuf_completion_kind kind;
    int status; /* 0 or a negative errno: -ECONNRESET flushed, -ETIMEDOUT retries exhausted,
                   -EHOSTUNREACH receiver not ready, -EREMOTEIO refused by the other side, -EIO */
    enum ibv_wc_status wc;
    uint32_t vendor_error;
    struct rbuf_work *work;       /* SENT */
    struct rbuf_fab_queue *queue; /* SENT; if failed also the others, NULL if it is closed by now */
    struct rbuf_buffer *buffer;   /* RECEIVED, IMMEDIATE */
    uint32_t bytes;               /* RECEIVED */
    uint32_t immediate;           /* IMMEDIATE, host order */
    uint32_t qp_num;              /* of this side */
};

/* Takes up to `max` completions, receives first. Returns their number (good send completions are
 * retired already, see rbuf_fab_retire()), or a negative errno if a completion queue is broken and
 * nothing else was there to return. */
int rbuf_poll(struct rbuf_port *port, struct rbuf_completion *out, int max);

/* The negative errno that stands for a completion status; 0 for success. */
int rbuf_completion_errno(enum ibv_wc_status wc);

#endif
