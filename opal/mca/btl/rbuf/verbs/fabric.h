/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The fabric as core sees it, over libibverbs. tests/sim/fabric.h is the same interface over a
 * simulated link; core is compiled against either.
 *
 * The contract that both sides keep:
 * - A post never blocks. RBUF_FAB_AGAIN means that nothing was posted because the send queue or the
 *   port's share of the completion queue is full; ask again after completions were polled.
 *   RBUF_FAB_DEAD means that the queue pair takes no more requests.
 * - Requests of one queue pair execute and complete in order. A request with a work is signalled
 * and its completion hands the work back exactly once, also when it failed. A request without a
 * work is unsignalled; the queue's own marker retires those now and then.
 * - Inline data may be reused when the post returns; other local memory when the work is back.
 *
 * Queue arithmetic:
 * - `posted` counts requests, `retired` is the newest ticket that came back; requests in the send
 *   queue = posted - retired <= depth.
 * - An unsignalled request is refused rather than allowed to fill the queue's last quarter, unless
 * a signalled one is on its way behind which it retires: so a queue can always drain.
 * - Each queue pair has its depth reserved in a send completion queue of the port, so that even a
 *   flush of everything fits; `room` is the sum of those queues. Receive completions <= buffers
 *   posted to the shared receive queues = size of the receive completion queue. Neither overflows.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_VERBS_FABRIC_H
#define RBUF_VERBS_FABRIC_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/work.h"

enum rbuf_fab_status { RBUF_FAB_OK, RBUF_FAB_AGAIN, RBUF_FAB_DEAD };

/* Room for signalled requests in the completion queue that the queue pairs of a port share. */
struct rbuf_fab_port {
    uint32_t signalled;   /* requests posted with a work whose completion was not polled yet */
    uint32_t room;        /* size of the send completion queue */
    uint64_t requests;    /* posted on all queue pairs, signalled or not */
    uint64_t completions; /* polled, of requests */
};

/* One reliable connected queue pair. Filled by verbs/queue_pair.c. */
struct rbuf_fab_queue {
    struct ibv_qp *qp;
    struct rbuf_fab_port *port;
    uint32_t depth;      /* send queue size, requests */
    uint32_t posted;     /* wraps */
    uint32_t retired;    /* wraps */
    uint32_t inline_max; /* bytes */
    bool marker_busy;    /* the marker is on its way */
    struct rbuf_work marker;
};

/* Opaque request storage: prebuilt by the owner of a slot, or a scratch on the stack. */
struct rbuf_fab_request {
    struct ibv_send_wr wr;
    struct ibv_sge sge[2];
};

struct rbuf_fab_piece {
    const void *address;
    uint32_t bytes;
    uint32_t lkey;
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

/* Posts `request`, whose wr is complete but for id, signalling and list. */
static inline enum rbuf_fab_status rbuf_fab_post(struct rbuf_fab_queue *queue,
                                                 struct rbuf_fab_request *request,
                                                 struct rbuf_work *work)
{
    struct ibv_send_wr *bad;
    struct rbuf_work *signal = work;

    if (!rbuf_fab_has_room(queue, work != NULL)) {
        return RBUF_FAB_AGAIN;
    }
    if (signal == NULL && !queue->marker_busy && queue->port->signalled < queue->port->room &&
        rbuf_fab_room(queue) <= queue->depth - queue->depth / 4) {
        signal = &queue->marker;
    }
    request->wr.next = NULL;
    request->wr.wr_id = (uintptr_t) (signal != NULL ? signal : &queue->marker);
    if (signal != NULL) {
        request->wr.send_flags |= IBV_SEND_SIGNALED;
    }
    if (ibv_post_send(queue->qp, &request->wr, &bad) != 0) {
        return RBUF_FAB_DEAD;
    }
    queue->posted++;
    queue->port->requests++;
    if (signal != NULL) {
        signal->queue = queue;
        signal->ticket = queue->posted;
        queue->port->signalled++;
        queue->marker_busy = queue->marker_busy || signal == &queue->marker;
    }
    return RBUF_FAB_OK;
}

static inline void rbuf_fab_local(struct rbuf_fab_request *request, const void *local,
                                  uint32_t bytes, uint32_t lkey)
{
    request->sge[0] = (struct ibv_sge){.addr = (uintptr_t) local, .length = bytes, .lkey = lkey};
    request->wr.sg_list = request->sge;
    request->wr.num_sge = bytes == 0 ? 0 : 1;
}

/* RDMA write of `bytes` from registered memory. */
static inline enum rbuf_fab_status rbuf_fab_write(struct rbuf_fab_queue *queue, const void *local,
                                                  uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                  uint32_t rkey, struct rbuf_work *work)
{
    struct rbuf_fab_request request = {.wr = {.opcode = IBV_WR_RDMA_WRITE}};

    rbuf_fab_local(&request, local, bytes, lkey);
    request.wr.wr.rdma.remote_addr = remote;
    request.wr.wr.rdma.rkey = rkey;
    return rbuf_fab_post(queue, &request, work);
}

/* The same, announced by a receive completion that carries `immediate` (host order). */
static inline enum rbuf_fab_status rbuf_fab_write_immediate(struct rbuf_fab_queue *queue,
                                                            const void *local, uint32_t lkey,
                                                            uint32_t bytes, uint64_t remote,
                                                            uint32_t rkey, uint32_t immediate,
                                                            struct rbuf_work *work)
{
    struct rbuf_fab_request request = {.wr = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM}};

    rbuf_fab_local(&request, local, bytes, lkey);
    request.wr.imm_data = htobe32(immediate);
    request.wr.wr.rdma.remote_addr = remote;
    request.wr.wr.rdma.rkey = rkey;
    return rbuf_fab_post(queue, &request, work);
}

/* RDMA write whose data (at most rbuf_fab_inline_max() bytes) travels in the request itself. */
static inline enum rbuf_fab_status rbuf_fab_write_inline(struct rbuf_fab_queue *queue,
                                                         const void *data, uint32_t bytes,
                                                         uint64_t remote, uint32_t rkey,
                                                         struct rbuf_work *work)
{
    struct rbuf_fab_request request = {
        .wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE}};

    rbuf_fab_local(&request, data, bytes, 0);
    request.wr.wr.rdma.remote_addr = remote;
    request.wr.wr.rdma.rkey = rkey;
    return rbuf_fab_post(queue, &request, work);
}

/* Fills what stays the same in every write from memory under `lkey` to memory under `rkey`. */
static inline void rbuf_fab_prepare_write(struct rbuf_fab_request *request, uint32_t lkey,
                                          uint32_t rkey)
{
    *request = (struct rbuf_fab_request){.wr = {.opcode = IBV_WR_RDMA_WRITE, .num_sge = 1}};
    request->sge[0].lkey = lkey;
    request->wr.wr.rdma.rkey = rkey;
}

/* Posts a prepared write, unsignalled; inline if `inlined`. */
static inline enum rbuf_fab_status rbuf_fab_post_write(struct rbuf_fab_queue *queue,
                                                       struct rbuf_fab_request *request,
                                                       const void *local, uint32_t bytes,
                                                       uint64_t remote, bool inlined)
{
    request->sge[0].addr = (uintptr_t) local;
    request->sge[0].length = bytes;
    request->wr.sg_list = request->sge; /* the request may have been moved */
    request->wr.send_flags = inlined ? IBV_SEND_INLINE : 0;
    request->wr.wr.rdma.remote_addr = remote;
    return rbuf_fab_post(queue, request, NULL);
}

/* Sends one message gathered from one or two pieces; inline if `inlined` (keys are not looked at).
 */
static inline enum rbuf_fab_status rbuf_fab_send(struct rbuf_fab_queue *queue,
                                                 const struct rbuf_fab_piece *pieces,
                                                 unsigned count, bool inlined,
                                                 struct rbuf_work *work)
{
    struct rbuf_fab_request request = {
        .wr = {.opcode = IBV_WR_SEND, .send_flags = inlined ? IBV_SEND_INLINE : 0}};

    for (unsigned i = 0; i < count; i++) {
        request.sge[i] = (struct ibv_sge){.addr = (uintptr_t) pieces[i].address,
                                          .length = pieces[i].bytes,
                                          .lkey = pieces[i].lkey};
    }
    request.wr.sg_list = request.sge;
    request.wr.num_sge = (int) count;
    return rbuf_fab_post(queue, &request, work);
}

/* RDMA read into registered memory. */
static inline enum rbuf_fab_status rbuf_fab_read(struct rbuf_fab_queue *queue, void *local,
                                                 uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                 uint32_t rkey, struct rbuf_work *work)
{
    struct rbuf_fab_request request = {.wr = {.opcode = IBV_WR_RDMA_READ}};

    rbuf_fab_local(&request, local, bytes, lkey);
    request.wr.wr.rdma.remote_addr = remote;
    request.wr.wr.rdma.rkey = rkey;
    return rbuf_fab_post(queue, &request, work);
}

/* Adds `operand` to the 8-byte aligned word at `remote`; its old value lands in `local`. */
static inline enum rbuf_fab_status rbuf_fab_fetch_add(struct rbuf_fab_queue *queue, uint64_t *local,
                                                      uint32_t lkey, uint64_t remote, uint32_t rkey,
                                                      uint64_t operand, struct rbuf_work *work)
{
    struct rbuf_fab_request request = {.wr = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD}};

    rbuf_fab_local(&request, local, sizeof(*local), lkey);
    request.wr.wr.atomic.remote_addr = remote;
    request.wr.wr.atomic.rkey = rkey;
    request.wr.wr.atomic.compare_add = operand;
    return rbuf_fab_post(queue, &request, work);
}

/* Replaces the word at `remote` by `swap` if it equals `compare`; its old value lands in `local`.
 */
static inline enum rbuf_fab_status
rbuf_fab_compare_swap(struct rbuf_fab_queue *queue, uint64_t *local, uint32_t lkey, uint64_t remote,
                      uint32_t rkey, uint64_t compare, uint64_t swap, struct rbuf_work *work)
{
    struct rbuf_fab_request request = {.wr = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP}};

    rbuf_fab_local(&request, local, sizeof(*local), lkey);
    request.wr.wr.atomic.remote_addr = remote;
    request.wr.wr.atomic.rkey = rkey;
    request.wr.wr.atomic.compare_add = compare;
    request.wr.wr.atomic.swap = swap;
    return rbuf_fab_post(queue, &request, work);
}

/* Takes a completed work off the books; call once for each, before it is dispatched. */
static inline void rbuf_fab_retire(struct rbuf_work *work)
{
    struct rbuf_fab_queue *queue = work->queue;

    queue->retired = work->ticket;
    queue->port->signalled--;
    if (work == &queue->marker) {
        queue->marker_busy = false;
    }
}

#endif
