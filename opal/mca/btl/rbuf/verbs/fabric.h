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

/* Posts an RDMA request with one piece of local memory; `immediate` in network order. */
static inline enum rbuf_fab_status rbuf_fab_rdma(struct rbuf_fab_queue *queue,
                                                 enum ibv_wr_opcode opcode, unsigned flags,
                                                 const void *local, uint32_t lkey, uint32_t bytes,
                                                 uint64_t remote, uint32_t rkey, __be32 immediate,
                                                 struct rbuf_work *work)
{
    struct rbuf_fab_request request = {
        .wr = {.opcode = opcode, .send_flags = flags, .imm_data = immediate}};

    rbuf_fab_local(&request, local, bytes, lkey);
    request.wr.wr.rdma.remote_addr = remote;
    request.wr.wr.rdma.rkey = rkey;
    return rbuf_fab_post(queue, &request, work);
}

/* RDMA write of `bytes` from registered memory. */
static inline enum rbuf_fab_status rbuf_fab_write(struct rbuf_fab_queue *queue, const void *local,
                                                  uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                  uint32_t rkey, struct rbuf_work *work)
{
    return rbuf_fab_rdma(queue, IBV_WR_RDMA_WRITE, 0, local, lkey, bytes, remote, rkey, 0, work);
}

/* The same, announced by a receive completion that carries `immediate` (host order). */
static inline enum rbuf_fab_status rbuf_fab_write_immediate(struct rbuf_fab_queue *queue,
                                                            const void *local, uint32_t lkey,
                                                            uint32_t bytes, uint64_t remote,
                                                            uint32_t rkey, uint32_t immediate,
                                                            struct rbuf_work *work)
{
    return rbuf_fab_rdma(queue, IBV_WR_RDMA_WRITE_WITH_IMM, 0, local, lkey, bytes, remote, rkey,
                         htobe32(immediate), work);
}

/* RDMA write whose data (at most rbuf_fab_inline_max() bytes) travels in the request itself. */
static inline enum rbuf_fab_status rbuf_fab_write_inline(struct rbuf_fab_queue *queue,
                                                         const void *data, uint32_t bytes,
                                                         uint64_t remote, uint32_t rkey,
                                                         struct rbuf_work *work)
{
    return rbuf_fab_rdma(queue, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, data, 0, bytes, remote, rkey, 0,
                         work);
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

/* RDMA read into registered memory. */
static inline enum rbuf_fab_status rbuf_fab_read(struct rbuf_fab_queue *queue, void *local,
                                                 uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                 uint32_t rkey, struct rbuf_work *work)
{
    return rbuf_fab_rdma(queue, IBV_WR_RDMA_READ, 0, local, lkey, bytes, remote, rkey, 0, work);
}

/* An atomic on the 8-byte aligned word at `remote`, whose old value lands in `local`. */
static inline enum rbuf_fab_status rbuf_fab_atomic(struct rbuf_fab_queue *queue,
                                                   enum ibv_wr_opcode opcode, uint64_t *local,
                                                   uint32_t lkey, uint64_t remote, uint32_t rkey,
                                                   uint64_t compare_add, uint64_t swap,
                                                   struct rbuf_work *work)
{
    struct rbuf_fab_request request = {.wr = {.opcode = opcode}};

    rbuf_fab_local(&request, local, sizeof(*local), lkey);
    request.wr.wr.atomic.remote_addr = remote;
    request.wr.wr.atomic.rkey = rkey;
    request.wr.wr.atomic.compare_add = compare_add;
    request.wr.wr.atomic.swap = swap;
    return rbuf_fab_post(queue, &request, work);
}

/* Adds `operand` to the word. */
static inline enum rbuf_fab_status rbuf_fab_fetch_add(struct rbuf_fab_queue *queue, uint64_t *local,
                                                      uint32_t lkey, uint64_t remote, uint32_t rkey,
                                                      uint64_t operand, struct rbuf_work *work)
{
    return rbuf_fab_atomic(queue, IBV_WR_ATOMIC_FETCH_AND_ADD, local, lkey, remote, rkey, operand,
                           0, work);
}

/* Replaces the word by `swap` if it equals `compare`. */
static inline enum rbuf_fab_status
rbuf_fab_compare_swap(struct rbuf_fab_queue *queue, uint64_t *local, uint32_t lkey, uint64_t remote,
                      uint32_t rkey, uint64_t compare, uint64_t swap, struct rbuf_work *work)
{
    return rbuf_fab_atomic(queue, IBV_WR_ATOMIC_CMP_AND_SWP, local, lkey, remote, rkey, compare,
                           swap, work);
}

#endif
