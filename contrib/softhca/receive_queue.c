/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receive queues: a queue pair's own and shared ones. Private to the process, which also empties
 * them.
 *
 * Invariant: tail - head <= capacity. A limit raises one event when fewer receives than that are
 * left, and is 0 from then on. Any thread; head, tail, limit and entries under the spin lock,
 * events outside of it.
 */
#define _GNU_SOURCE

#include "receive_queue.h"
#include "completion.h"
#include "event.h"
#include "fault.h"
#include "segment.h"
#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int receive_queue_init(struct receive_queue *queue, uint32_t capacity, uint32_t max_sge)
{
    memset(queue, 0, sizeof(*queue));
    queue->capacity = capacity ? capacity : 1;
    queue->max_sge = max_sge ? max_sge : 1;
    queue->entries = calloc(queue->capacity, sizeof(*queue->entries));
    if (!queue->entries)
        return ENOMEM;
    pthread_spin_init(&queue->lock, PTHREAD_PROCESS_PRIVATE);
    return 0;
}

void receive_queue_destroy(struct receive_queue *queue)
{
    pthread_spin_destroy(&queue->lock);
    free(queue->entries);
}

bool receive_queue_take(struct receive_queue *queue, struct receive_request *out)
{
    struct shared_receive_queue *limit_reached = NULL;
    bool taken = false;

    pthread_spin_lock(&queue->lock);
    if (queue->head != queue->tail) {
        struct receive_request *entry = &queue->entries[queue->head % queue->capacity];

        out->wr_id = entry->wr_id;
        out->n_sge = entry->n_sge;
        memcpy(out->sge, entry->sge, entry->n_sge * sizeof(entry->sge[0]));
        queue->head++;
        taken = true;
        if (queue->limit && queue->tail - queue->head < queue->limit) {
            queue->limit = 0;
            limit_reached = queue->shared;
        }
    }
    pthread_spin_unlock(&queue->lock);
    if (limit_reached)
        event_raise(limit_reached->srq.context, IBV_EVENT_SRQ_LIMIT_REACHED, &limit_reached->srq);
    return taken;
}

static int post(struct receive_queue *queue, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    int err = 0;

    pthread_spin_lock(&queue->lock);
    for (; wr; wr = wr->next) {
        struct receive_request *entry;

        if (wr->num_sge < 0 || (uint32_t) wr->num_sge > queue->max_sge)
            err = EINVAL;
        else if (queue->tail - queue->head >= queue->capacity)
            err = ENOMEM;
        if (err) {
            *bad = wr;
            break;
        }
        entry = &queue->entries[queue->tail % queue->capacity];
        entry->wr_id = wr->wr_id;
        entry->n_sge = (uint32_t) wr->num_sge;
        memcpy(entry->sge, wr->sg_list, (size_t) wr->num_sge * sizeof(entry->sge[0]));
        queue->tail++;
    }
    pthread_spin_unlock(&queue->lock);
    return err;
}

int verbs_post_recv(struct ibv_qp *ibv_qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct queue_pair *qp = to_queue_pair(ibv_qp);
    uint32_t state = atomic_load(&qp->entry->state);

    if (fault_call(CALL_POST_RECV)) {
        *bad = wr;
        return errno;
    }
    if (ibv_qp->srq || state == IBV_QPS_RESET) {
        *bad = wr;
        return EINVAL;
    }
    if (state != IBV_QPS_ERR)
        return post(qp->receives, wr, bad);
    for (; wr; wr = wr->next)
        completion_push_flushed(to_completion_queue(ibv_qp->recv_cq), wr->wr_id, ibv_qp->qp_num,
                                IBV_WC_RECV);
    return 0;
}

int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    if (fault_call(CALL_POST_SRQ_RECV)) {
        *bad = wr;
        return errno;
    }
    return post(&((struct shared_receive_queue *) srq)->queue, wr, bad);
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    const struct device_model *model = device_setting(pd->context)->model;
    struct shared_receive_queue *srq;

    if (fault_call(CALL_CREATE_SRQ))
        return NULL;
    if (!attr->attr.max_wr || attr->attr.max_wr > model->max_srq_wr ||
        attr->attr.max_sge > model->max_srq_sge) {
        errno = model->max_srq ? EINVAL : EOPNOTSUPP;
        return NULL;
    }
    srq = calloc(1, sizeof(*srq));
    if (!srq || receive_queue_init(&srq->queue, attr->attr.max_wr, attr->attr.max_sge)) {
        free(srq);
        errno = ENOMEM;
        return NULL;
    }
    srq->queue.shared = srq;
    srq->srq.context = pd->context;
    srq->srq.srq_context = attr->srq_context;
    srq->srq.pd = pd;
    pthread_mutex_init(&srq->srq.mutex, NULL);
    pthread_cond_init(&srq->srq.cond, NULL);
    return &srq->srq;
}

EXPORT int ibv_modify_srq(struct ibv_srq *ibv_srq, struct ibv_srq_attr *attr, int mask)
{
    struct receive_queue *queue = &((struct shared_receive_queue *) ibv_srq)->queue;
    bool reached = false;

    if (mask & IBV_SRQ_MAX_WR)
        return ENOSYS;
    if (!(mask & IBV_SRQ_LIMIT))
        return 0;
    if (attr->srq_limit > queue->capacity)
        return EINVAL;
    pthread_spin_lock(&queue->lock);
    queue->limit = attr->srq_limit;
    if (queue->limit && queue->tail - queue->head < queue->limit) {
        queue->limit = 0;
        reached = true;
    }
    pthread_spin_unlock(&queue->lock);
    if (reached)
        event_raise(ibv_srq->context, IBV_EVENT_SRQ_LIMIT_REACHED, ibv_srq);
    return 0;
}

EXPORT int ibv_query_srq(struct ibv_srq *ibv_srq, struct ibv_srq_attr *attr)
{
    struct receive_queue *queue = &((struct shared_receive_queue *) ibv_srq)->queue;

    attr->max_wr = queue->capacity;
    attr->max_sge = queue->max_sge;
    attr->srq_limit = queue->limit;
    return 0;
}

EXPORT int ibv_destroy_srq(struct ibv_srq *ibv_srq)
{
    receive_queue_destroy(&((struct shared_receive_queue *) ibv_srq)->queue);
    free(ibv_srq);
    return 0;
}
