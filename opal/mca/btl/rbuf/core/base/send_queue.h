/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Send queues: how many requests a queue pair holds, whether one more fits, and which are
 * signalled. The same for all fabrics whose requests take time; see fab.h for the contract.
 *
 *     room left of depth   an unsignalled request
 *     above 3/4            is posted unsignalled
 *     3/4 to 1/4           the first of these carries the queue's marker, and is signalled
 *     1/4 to 1             is posted only if the marker is on its way, or can be sent with it
 *     0                    AGAIN
 *
 * Invariants:
 * - `posted` counts requests, `retired` is the newest producer index that came back; requests in
 *   the send queue = posted - retired <= depth.
 * - An unsignalled request never fills the last quarter with nothing signalled behind it: so a
 *   queue can always drain.
 * - Each queue pair has its depth reserved in a send completion queue of the port, so that even a
 *   flush of everything fits; the port's `room` is the sum of those queues, and signalled <= room.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_CORE_SEND_QUEUE_H
#define RBUF_CORE_SEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fab.h"

/* Room for signalled requests in the completion queue that the queue pairs of a port share. */
struct rbuf_fab_port {
    uint32_t signalled;   /* requests posted with a work whose completion was not polled yet */
    uint32_t room;        /* size of the send completion queue */
    uint64_t requests;    /* posted on all queue pairs, signalled or not */
    uint64_t completions; /* polled, of requests; counted by the fabric */
};

/* The send side of one reliable connected queue pair. */
struct rbuf_fab_queue {
    void *qp; /* the fabric's: a struct ibv_qp, or the simulator's end of a pair */
    struct rbuf_fab_port *port;
    uint32_t depth;      /* send queue size, requests */
    uint32_t posted;     /* wraps */
    uint32_t retired;    /* wraps */
    uint32_t inline_max; /* bytes */
    bool marker_busy;    /* the marker is on its way, whatever else is */
    struct rbuf_work marker;
};

static inline uint32_t rbuf_fab_inline_max(const struct rbuf_fab_queue *queue)
{
    return queue->inline_max;
}

/* Requests posted and not known to be complete. */
static inline uint32_t rbuf_fab_outstanding(const struct rbuf_fab_queue *queue)
{
    return queue->posted - queue->retired;
}

/* Requests that may be posted before the queue pair says AGAIN, if all were signalled. */
static inline uint32_t rbuf_fab_room(const struct rbuf_fab_queue *queue)
{
    return queue->depth - rbuf_fab_outstanding(queue);
}

/* True if a few more unsignalled requests can be posted without AGAIN: half of the queue is free.
 */
static inline bool rbuf_fab_is_roomy(const struct rbuf_fab_queue *queue)
{
    return rbuf_fab_room(queue) > queue->depth / 2;
}

/* True if the next request has room, and wants no signal unless it has a work of its own. */
static inline bool rbuf_fab_is_far_from_full(const struct rbuf_fab_queue *queue)
{
    return rbuf_fab_outstanding(queue) < queue->depth / 4;
}

static inline bool rbuf_fab_has_room(const struct rbuf_fab_queue *queue, bool signalled)
{
    if (rbuf_fab_room(queue) == 0) {
        return false;
    }
    if (signalled) {
        return queue->port->signalled < queue->port->room;
    }
    return queue->marker_busy || rbuf_fab_room(queue) > queue->depth / 4 ||
           queue->port->signalled < queue->port->room;
}

/* For fabrics: what the completion of the next request, which has room, is to hand back. That is
 * `work`; without one it is the marker now and then, else NULL: the request is unsignalled. */
static inline struct rbuf_work *rbuf_fab_signal(struct rbuf_fab_queue *queue,
                                                struct rbuf_work *work)
{
    if (work == NULL && !queue->marker_busy && queue->port->signalled < queue->port->room &&
        rbuf_fab_room(queue) <= queue->depth - queue->depth / 4) {
        return &queue->marker;
    }
    return work;
}

/* For fabrics: enters a request that was posted with `signal` into the books. */
static inline void rbuf_fab_posted(struct rbuf_fab_queue *queue, struct rbuf_work *signal)
{
    queue->posted++;
    queue->port->requests++;
    if (signal != NULL) {
        signal->queue = queue;
        signal->producer_index = queue->posted;
        queue->port->signalled++;
        queue->marker_busy = queue->marker_busy || signal == &queue->marker;
    }
}

/* For fabrics: takes the newest request, which was entered with `signal`, off the books: it could
 * not be posted. */
static inline void rbuf_fab_unposted(struct rbuf_fab_queue *queue, const struct rbuf_work *signal)
{
    queue->posted--;
    queue->port->requests--;
    if (signal != NULL) {
        queue->port->signalled--;
        queue->marker_busy = queue->marker_busy && signal != &queue->marker;
    }
}

/* Takes a completed work off the books; call once for each, before it is dispatched. */
static inline void rbuf_fab_retire(struct rbuf_work *work)
{
    struct rbuf_fab_queue *queue = work->queue;

    queue->retired = work->producer_index;
    queue->port->signalled--;
    if (work == &queue->marker) {
        queue->marker_busy = false;
    }
}

/* For fabrics: the marker, which is on its way, comes back no more, or with an error that says
 * nothing of what has left the queue. */
static inline void rbuf_fab_lose_marker(struct rbuf_fab_queue *queue)
{
    queue->marker_busy = false;
    queue->port->signalled--;
}

#endif
