/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The newer way to post, ibv_wr_start() .. ibv_wr_complete(): requests are gathered as old-style
 * work requests and posted together. One thread at a time a queue pair, from start to complete or
 * abort.
 *
 * Owns the batch of each queue pair that is made so.
 */
#define _GNU_SOURCE

#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct queue_pair *from_ex(struct ibv_qp_ex *ex)
{
    return (struct queue_pair *) ex;
}

static struct batch *batch_of(struct ibv_qp_ex *ex)
{
    return from_ex(ex)->batch;
}

/* The next request of the batch; when there is no room the last one is spoilt and complete fails.
 */
static struct ibv_send_wr *add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
    struct batch *batch = batch_of(ex);
    struct ibv_send_wr *wr;

    if (batch->n_requests == BATCH_REQUESTS) {
        batch->error = ENOMEM;
        return &batch->requests[BATCH_REQUESTS - 1];
    }
    wr = &batch->requests[batch->n_requests];
    memset(wr, 0, sizeof(*wr));
    wr->wr_id = ex->wr_id;
    wr->send_flags = ex->wr_flags;
    wr->opcode = opcode;
    if (batch->n_requests)
        wr[-1].next = wr;
    batch->n_requests++;
    return wr;
}

static struct ibv_send_wr *current(struct ibv_qp_ex *ex)
{
    struct batch *batch = batch_of(ex);

    return batch->n_requests ? &batch->requests[batch->n_requests - 1] : NULL;
}

static void wr_start(struct ibv_qp_ex *ex)
{
    struct batch *batch = batch_of(ex);

    batch->n_requests = batch->n_sge = 0;
    batch->error = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
    struct batch *batch = batch_of(ex);
    struct ibv_send_wr *bad;

    if (batch->error)
        return batch->error;
    return batch->n_requests ? verbs_post_send(&ex->qp_base, batch->requests, &bad) : 0;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
    wr_start(ex);
}

static void wr_send(struct ibv_qp_ex *ex)
{
    add(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
    add(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static struct ibv_send_wr *add_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
                                    uint64_t addr)
{
    struct ibv_send_wr *wr = add(ex, opcode);

    wr->wr.rdma.rkey = rkey;
    wr->wr.rdma.remote_addr = addr;
    return wr;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
    add_rdma(ex, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
    add_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr)->imm_data = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
    add_rdma(ex, IBV_WR_RDMA_READ, rkey, addr);
}

static struct ibv_send_wr *add_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode,
                                      uint32_t rkey, uint64_t addr, uint64_t compare_add)
{
    struct ibv_send_wr *wr = add(ex, opcode);

    wr->wr.atomic.rkey = rkey;
    wr->wr.atomic.remote_addr = addr;
    wr->wr.atomic.compare_add = compare_add;
    return wr;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
                              uint64_t swap)
{
    add_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare)->wr.atomic.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add_by)
{
    add_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add_by);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t number, uint32_t qkey)
{
    struct ibv_send_wr *wr = current(ex);

    if (!wr)
        return;
    wr->wr.ud.ah = ah;
    wr->wr.ud.remote_qpn = number;
    wr->wr.ud.remote_qkey = qkey;
}

/* Room for n more elements of payload for the current request, NULL if there is none. */
static struct ibv_sge *add_sge(struct ibv_qp_ex *ex, size_t n, unsigned flags)
{
    struct batch *batch = batch_of(ex);
    struct ibv_send_wr *wr = current(ex);
    struct ibv_sge *sge;

    if (!wr || n > BATCH_SGE - batch->n_sge) {
        batch->error = ENOMEM;
        return NULL;
    }
    sge = &batch->sge[batch->n_sge];
    batch->n_sge += (uint32_t) n;
    wr->sg_list = sge;
    wr->num_sge = (int) n;
    wr->send_flags |= flags;
    return sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
    struct ibv_sge *sge = add_sge(ex, 1, 0);

    if (sge)
        *sge = (struct ibv_sge){.addr = addr, .length = length, .lkey = lkey};
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
    struct ibv_sge *sge = add_sge(ex, n, 0);

    if (sge)
        memcpy(sge, list, n * sizeof(*list));
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
    struct ibv_sge *sge = add_sge(ex, 1, IBV_SEND_INLINE);

    if (sge)
        *sge = (struct ibv_sge){.addr = (uintptr_t) addr, .length = (uint32_t) length};
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
    struct ibv_sge *sge = add_sge(ex, n, IBV_SEND_INLINE);

    for (size_t i = 0; sge && i < n; i++)
        sge[i] =
            (struct ibv_sge){.addr = (uintptr_t) list[i].addr, .length = (uint32_t) list[i].length};
}

static void extend(struct queue_pair *qp)
{
    struct ibv_qp_ex *ex = &qp->ex;

    ex->wr_start = wr_start;
    ex->wr_complete = wr_complete;
    ex->wr_abort = wr_abort;
    ex->wr_send = wr_send;
    ex->wr_send_imm = wr_send_imm;
    ex->wr_rdma_write = wr_rdma_write;
    ex->wr_rdma_write_imm = wr_rdma_write_imm;
    ex->wr_rdma_read = wr_rdma_read;
    ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
    ex->wr_set_ud_addr = wr_set_ud_addr;
    ex->wr_set_sge = wr_set_sge;
    ex->wr_set_sge_list = wr_set_sge_list;
    ex->wr_set_inline_data = wr_set_inline_data;
    ex->wr_set_inline_data_list = wr_set_inline_data_list;
}

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    const uint64_t known = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                           IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                           IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                           IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    bool extended = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    struct batch *batch = NULL;
    struct ibv_qp *qp;

    (void) context;
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) ||
        (attr->comp_mask & ~(unsigned) (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)) ||
        (extended && (attr->send_ops_flags & ~known))) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if (extended) {
        batch = calloc(1, sizeof(*batch));
        if (!batch)
            return NULL;
    }
    /* The older structure is the head of the newer. */
    qp = ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *) attr);
    if (!qp) {
        free(batch);
        return NULL;
    }
    if (extended) {
        to_queue_pair(qp)->extended = true;
        to_queue_pair(qp)->batch = batch;
        extend(to_queue_pair(qp));
    }
    return qp;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return to_queue_pair(qp)->extended ? &to_queue_pair(qp)->ex : NULL;
}
