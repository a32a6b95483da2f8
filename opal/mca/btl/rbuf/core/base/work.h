/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Work: what a signalled work request points back to.
 *
 * Every request that core posts carries a pointer to a struct rbuf_work as its work-request id; the
 * completion brings it back, and rbuf_core_completed() calls what its owner has for that. The
 * object that embeds the work must live until that completion.
 *
 * Owner: core sets `completed` and `peer`; the fabric sets `queue` and `producer_index` at each
 * post (send_queue.h).
 */
#ifndef RBUF_CORE_WORK_H
#define RBUF_CORE_WORK_H

#include <stdint.h>

struct rbuf_fab_queue;
struct rbuf_peer;

struct rbuf_work {
    /* The request is done; `status` is 0 or a negative errno: then its peer has failed before.
     * NULL: a marker, which retires unsignalled requests of a queue pair, and means nothing else.
     */
    void (*completed)(struct rbuf_work *work, int status);
    struct rbuf_peer *peer;       /* that it was for; NULL: a marker */
    struct rbuf_fab_queue *queue; /* where it was posted */
    uint32_t producer_index;      /* of the queue, just after this post */
};

#endif
