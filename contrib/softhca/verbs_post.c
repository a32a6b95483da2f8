/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Posting of work requests to send queues.
 *
 * The owner writes "posted" under the post lock; the sequence of publishing a request and then
 * looking whether the link and the peer's inbox know of it is described in doorbells.c.
 *
 * Owns nothing. Any thread; a queue pair's requests are written under its post lock, and with
 * release: "posted" is stored after all of the request. Other processes write to a slot from then
 * on until it is retired.
 */
#define _GNU_SOURCE

#include "clock.h"
#include "completion.h"
#include "datagram.h"
#include "doorbells.h"
#include "engine.h"
#include "fault.h"
#include "link.h"
#include "memory.h"
#include "verbs.h"

#include <errno.h>
#include <string.h>

/* Gathers the payload list or the inline payload into the slot; an errno value. */
static int take_payload(struct queue_pair *qp, struct work_request *request,
                        const struct ibv_send_wr *wr)
{
    unsigned access = request_has_response(request) ? IBV_ACCESS_LOCAL_WRITE : 0;
    uint64_t length = 0;

    request->is_inline = wr->send_flags & IBV_SEND_INLINE;
    request->n_sge = 0;
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];

        if (request->is_inline) {
            if (length + sge->length > qp->init.cap.max_inline_data)
                return ENOMEM;
            memcpy(request->inline_data + length, (void *) (uintptr_t) sge->addr, sge->length);
        } else if (sge->length) {
            if (!request->local_error)
                request->local_error = memory_check_local(qp->entry->domain, sge, access);
            request->sge[request->n_sge++] = *sge;
        }
        length += sge->length;
    }
    if (length > 1u << 30)
        return EINVAL;
    request->length = (uint32_t) length;
    if (request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
        request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        if (request->n_sge != 1 || length != 8)
            return EINVAL;
    }
    return 0;
}

static int take_request(struct queue_pair *qp, struct work_request *request,
                        const struct ibv_send_wr *wr)
{
    int err;

    request->wr_id = wr->wr_id;
    request->opcode = (uint8_t) wr->opcode;
    request->imm_data = wr->imm_data;
    request->signaled = qp->init.sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED);
    request->solicited = wr->send_flags & IBV_SEND_SOLICITED;
    request->fenced = wr->send_flags & IBV_SEND_FENCE;
    request->local_error = 0;
    request->copied = 0;
    switch (wr->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        break;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
        request->remote_addr = wr->wr.rdma.remote_addr;
        request->remote_key = wr->wr.rdma.rkey;
        break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        if (device_setting(qp->qp.context)->model->atomics == ATOMICS_NONE)
            return EINVAL;
        request->remote_addr = wr->wr.atomic.remote_addr;
        request->remote_key = wr->wr.atomic.rkey;
        request->compare_add = wr->wr.atomic.compare_add;
        request->swap = wr->wr.atomic.swap;
        break;
    default:
        return EINVAL;
    }
    err = take_payload(qp, request, wr);
    if (err)
        return err;
    request->posted_ns = clock_now();
    if (fault_request(++qp->n_posted))
        request->local_error = IBV_WC_RETRY_EXC_ERR;
    atomic_store_explicit(&request->status,
                          request->local_error ? request->local_error : REQUEST_PENDING,
                          memory_order_relaxed);
    link_prepare(request);
    return 0;
}

static void publish_datagram(struct queue_pair *qp, struct work_request *request,
                             const struct ibv_send_wr *wr)
{
    uint64_t latency = self.fabric->parameters.latency_ns;
    uint64_t leaves = datagram_departure(qp, request->length, request->posted_ns);

    if (!request->local_error) {
        datagram_send(qp, wr, leaves + latency, request->length);
        atomic_store(&request->status, IBV_WC_SUCCESS);
    }
    /* There is no acknowledgement: complete when it has left. */
    atomic_store(&request->flow_done_ns, leaves - latency);
}

static void ring_peer(struct queue_pair *qp)
{
    uint32_t peer = atomic_load_explicit(&qp->entry->peer, memory_order_relaxed);
    struct node *node = segment_node(number_slot(peer));

    if (!node)
        return;
    doorbells_ring(&node->inbox, number_index(peer));
    agent_wake(node, AGENT_DEEP);
}

/* The first lines of a request that the other side had last. A program that posts again finds them
 * here, as it always has an adapter's work queue. */
static void fetch_request(const struct work_request *request)
{
    fetch_to_write(request);
    fetch_to_write(&request->request_ns);
    fetch_to_write(request->inline_data);
}

/* first_turn: see link_announce(); 0 before the first request. */
static int post_one(struct queue_pair *qp, struct ibv_send_wr *wr, uint64_t *first_turn)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t posted = atomic_load_explicit(&entry->posted, memory_order_relaxed);
    uint64_t retired = atomic_load_explicit(&entry->retired, memory_order_acquire);
    struct work_request *request = request_slot(self.node, entry, posted);
    int err;

    if (wr->num_sge < 0 || (uint32_t) wr->num_sge > qp->init.cap.max_send_sge)
        return EINVAL;
    if (posted - retired >= (qp->init.cap.max_send_wr ? qp->init.cap.max_send_wr : 1))
        return ENOMEM;
    err = take_request(qp, request, wr);
    if (err)
        return err;
    if (entry->type == IBV_QPT_UD)
        publish_datagram(qp, request, wr);
    if (!*first_turn)
        *first_turn = link_first_turn(entry, request);
    atomic_store(&entry->posted, posted + 1);
    if (posted + 1 - retired < entry->slots) /* else it is with the other side still */
        fetch_request(request_slot(self.node, entry, posted + 1));
    return 0;
}

int verbs_post_send(struct ibv_qp *ibv_qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct queue_pair *qp = to_queue_pair(ibv_qp);
    uint64_t first_turn = 0;
    uint32_t state;
    int err = 0;

    if (fault_call(CALL_POST_SEND)) {
        *bad = wr;
        return errno;
    }
    pthread_spin_lock(&qp->post_lock);
    state = atomic_load_explicit(&qp->entry->state, memory_order_relaxed);
    for (; wr; wr = wr->next) {
        if (state == IBV_QPS_ERR)
            completion_push_flushed(to_completion_queue(ibv_qp->send_cq), wr->wr_id, ibv_qp->qp_num,
                                    IBV_WC_SEND);
        else if (state != IBV_QPS_RTS)
            err = EINVAL;
        else
            err = post_one(qp, wr, &first_turn);
        if (err) {
            *bad = wr;
            break;
        }
    }
    pthread_spin_unlock(&qp->post_lock);
    engine_add_outstanding(qp->index);
    if (qp->entry->type == IBV_QPT_RC) {
        link_announce(qp->entry, first_turn);
        ring_peer(qp);
    }
    agent_wake(self.node, AGENT_DEEP);
    return err;
}
