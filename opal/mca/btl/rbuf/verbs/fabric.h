/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The fabric as core sees it, over libibverbs: requests are built and posted. The contract is that
 * of core/base/fab.h, the queue arithmetic that of core/base/send_queue.h.
 *
 * Receive completions <= buffers of the receive queues <= size of the receive completion queue, and
 * send completions <= the sum of depths reserved: neither overflows.
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

#include "core/base/send_queue.h"

/* Opaque request storage: prebuilt by the owner of a slot, or a scratch on the stack. */
struct rbuf_fab_request {
    struct ibv_send_wr wr;
    struct ibv_sge sge[2];
};

/* Posts a request that has everything but its id: alone, and without a signal, while the queue is
 * far from full. */
static inline enum rbuf_fab_status rbuf_fab_post_far(struct rbuf_fab_queue *queue,
                                                     struct rbuf_fab_request *request)
{
    struct ibv_send_wr *bad;

    request->wr.wr_id = (uintptr_t) &queue->marker;
    if (ibv_post_send(queue->qp, &request->wr, &bad) != 0) {
        return RBUF_FAB_DEAD;
    }
    rbuf_fab_posted(queue, NULL);
    return RBUF_FAB_OK;
}

/* Posts `request`, whose wr is complete but for id, signalling and list. */
static inline enum rbuf_fab_status rbuf_fab_post(struct rbuf_fab_queue *queue,
                                                 struct rbuf_fab_request *request,
                                                 struct rbuf_work *work)
{
    struct ibv_send_wr *bad;
    struct rbuf_work *signal;

    if (!rbuf_fab_has_room(queue, work != NULL)) {
        return RBUF_FAB_AGAIN;
    }
    signal = rbuf_fab_signal(queue, work);
    request->wr.next = NULL;
    request->wr.wr_id = (uintptr_t) (signal != NULL ? signal : &queue->marker);
    if (signal != NULL) {
        request->wr.send_flags |= IBV_SEND_SIGNALED;
    }
    if (ibv_post_send(queue->qp, &request->wr, &bad) != 0) {
        return RBUF_FAB_DEAD;
    }
    rbuf_fab_posted(queue, signal);
    return RBUF_FAB_OK;
}

static inline void rbuf_fab_local(struct rbuf_fab_request *request, const void *local,
                                  uint32_t bytes, uint32_t lkey)
{
    request->sge[0] = (struct ibv_sge){.addr = (uintptr_t) local, .length = bytes, .lkey = lkey};
    request->wr.sg_list = request->sge;
    request->wr.num_sge = bytes == 0 ? 0 : 1;
}

/* A write to `remote`, which wants its local memory yet: then it stays where it is. */
static inline struct rbuf_fab_request rbuf_fab_write_to(enum ibv_wr_opcode opcode, uint64_t remote,
                                                        uint32_t rkey)
{
    struct rbuf_fab_request request = {.wr = {.opcode = opcode}};

    request.wr.wr.rdma.remote_addr = remote;
    request.wr.wr.rdma.rkey = rkey;
    return request;
}

/* RDMA write of `bytes` from registered memory. */
static inline enum rbuf_fab_status rbuf_fab_write(struct rbuf_fab_queue *queue, const void *local,
                                                  uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                  uint32_t rkey, struct rbuf_work *work)
{
    struct rbuf_fab_request request = rbuf_fab_write_to(IBV_WR_RDMA_WRITE, remote, rkey);

    rbuf_fab_local(&request, local, bytes, lkey);
    return rbuf_fab_post(queue, &request, work);
}

/* The same, announced by a receive completion that carries `immediate` (host order). */
static inline enum rbuf_fab_status rbuf_fab_write_immediate(struct rbuf_fab_queue *queue,
                                                            const void *local, uint32_t lkey,
                                                            uint32_t bytes, uint64_t remote,
                                                            uint32_t rkey, uint32_t immediate,
                                                            struct rbuf_work *work)
{
    struct rbuf_fab_request request = rbuf_fab_write_to(IBV_WR_RDMA_WRITE_WITH_IMM, remote, rkey);

    request.wr.imm_data = htobe32(immediate);
    rbuf_fab_local(&request, local, bytes, lkey);
    return rbuf_fab_post(queue, &request, work);
}

/* RDMA write whose data (at most rbuf_fab_inline_max() bytes) travels in the request itself. */
static inline enum rbuf_fab_status rbuf_fab_write_inline(struct rbuf_fab_queue *queue,
                                                         const void *data, uint32_t bytes,
                                                         uint64_t remote, uint32_t rkey,
                                                         struct rbuf_work *work)
{
    struct rbuf_fab_request request = rbuf_fab_write_to(IBV_WR_RDMA_WRITE, remote, rkey);

    request.wr.send_flags = IBV_SEND_INLINE;
    rbuf_fab_local(&request, data, bytes, 0);
    return rbuf_fab_post(queue, &request, work);
}

/* Fills what stays the same in every write from memory under `lkey` to memory under `rkey`. The
 * request stays at its address from now on. */
static inline void rbuf_fab_prepare_write(struct rbuf_fab_request *request, uint32_t lkey,
                                          uint32_t rkey)
{
    *request = (struct rbuf_fab_request){.wr = {.opcode = IBV_WR_RDMA_WRITE, .num_sge = 1}};
    request->sge[0].lkey = lkey;
    request->wr.sg_list = request->sge;
    request->wr.wr.rdma.rkey = rkey;
}

/* Posts a prepared write, unsignalled; inline if `inlined`. Inline in its callers: every small
 * message comes by. */
static inline __attribute__((always_inline)) enum rbuf_fab_status
rbuf_fab_post_write(struct rbuf_fab_queue *queue, struct rbuf_fab_request *request,
                    const void *local, uint32_t bytes, uint64_t remote, bool inlined)
{
    request->sge[0].addr = (uintptr_t) local;
    request->sge[0].length = bytes;
    request->wr.send_flags = inlined ? IBV_SEND_INLINE : 0;
    request->wr.wr.rdma.remote_addr = remote;
    return rbuf_fab_is_far_from_full(queue) ? rbuf_fab_post_far(queue, request)
                                            : rbuf_fab_post(queue, request, NULL);
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

/* RDMA write gathered from up to RBUF_FAB_PIECES pieces of registered memory. */
static inline enum rbuf_fab_status rbuf_fab_gather(struct rbuf_fab_queue *queue,
                                                   const struct rbuf_fab_piece *pieces,
                                                   unsigned count, uint64_t remote, uint32_t rkey,
                                                   struct rbuf_work *work)
{
    struct ibv_sge list[RBUF_FAB_PIECES];
    struct rbuf_fab_request request = {
        .wr = {.opcode = IBV_WR_RDMA_WRITE, .sg_list = list, .num_sge = (int) count}};

    for (unsigned i = 0; i < count; i++) {
        list[i] = (struct ibv_sge){.addr = (uintptr_t) pieces[i].address,
                                   .length = pieces[i].bytes,
                                   .lkey = pieces[i].lkey};
    }
    request.wr.wr.rdma.remote_addr = remote;
    request.wr.wr.rdma.rkey = rkey;
    return rbuf_fab_post(queue, &request, work);
}

/* Builds one request of a list. */
static inline void rbuf_fab_build(struct rbuf_fab_request *request, const struct rbuf_fab_rma *rma)
{
    static const enum ibv_wr_opcode opcodes[] = {[RBUF_FAB_WRITE] = IBV_WR_RDMA_WRITE,
                                                 [RBUF_FAB_WRITE_INLINE] = IBV_WR_RDMA_WRITE,
                                                 [RBUF_FAB_READ] = IBV_WR_RDMA_READ,
                                                 [RBUF_FAB_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                                 [RBUF_FAB_COMPARE_SWAP] =
                                                     IBV_WR_ATOMIC_CMP_AND_SWP};

    request->wr = (struct ibv_send_wr){.opcode = opcodes[rma->verb]};
    rbuf_fab_local(request, rma->local, rma->bytes, rma->lkey);
    if (rma->verb == RBUF_FAB_FETCH_ADD || rma->verb == RBUF_FAB_COMPARE_SWAP) {
        const bool adds = rma->verb == RBUF_FAB_FETCH_ADD;

        request->wr.wr.atomic.remote_addr = rma->remote;
        request->wr.wr.atomic.rkey = rma->rkey;
        request->wr.wr.atomic.compare_add = adds ? rma->operand : rma->compare;
        request->wr.wr.atomic.swap = rma->operand;
    } else {
        request->wr.send_flags = rma->verb == RBUF_FAB_WRITE_INLINE ? IBV_SEND_INLINE : 0;
        request->wr.wr.rdma.remote_addr = rma->remote;
        request->wr.wr.rdma.rkey = rma->rkey;
    }
}

/* Posts the first of `count` (at most RBUF_FAB_LIST) requests with one doorbell; `posted` is their
 * number. */
static inline enum rbuf_fab_status rbuf_fab_post_list(struct rbuf_fab_queue *queue,
                                                      const struct rbuf_fab_rma *list,
                                                      unsigned count, unsigned *posted)
{
    struct rbuf_fab_request requests[RBUF_FAB_LIST + 1]; /* the last has a next, which is cut off */
    struct rbuf_work *signals[RBUF_FAB_LIST];
    struct ibv_send_wr *bad = NULL;
    unsigned built = 0;

    *posted = 0;
    for (; built < count && rbuf_fab_has_room(queue, list[built].work != NULL); built++) {
        struct ibv_send_wr *wr = &requests[built].wr;

        rbuf_fab_build(&requests[built], &list[built]);
        signals[built] = rbuf_fab_signal(queue, list[built].work);
        wr->wr_id = (uintptr_t) (signals[built] != NULL ? signals[built] : &queue->marker);
        wr->send_flags |= signals[built] != NULL ? IBV_SEND_SIGNALED : 0;
        wr->next = &requests[built + 1].wr;
        rbuf_fab_posted(queue, signals[built]);
    }
    if (built == 0) {
        return RBUF_FAB_AGAIN;
    }
    requests[built - 1].wr.next = NULL;
    if (ibv_post_send(queue->qp, &requests[0].wr, &bad) == 0) {
        *posted = built;
        return built < count ? RBUF_FAB_AGAIN : RBUF_FAB_OK;
    }
    while (*posted < built && &requests[*posted].wr != bad) {
        ++*posted;
    }
    while (built > *posted) {
        rbuf_fab_unposted(queue, signals[--built]);
    }
    return RBUF_FAB_DEAD;
}

#endif
