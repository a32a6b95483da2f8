/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Queue pairs as the application calls them: creation, attributes and states, destruction.
 *
 * States, as in the InfiniBand specification; every one may go to RESET and ERR:
 *
 *   RESET -> INIT -> RTR -> RTS <-> SQD       a queue pair fails to ERR by queue_pair_fail()
 *
 * Owns no data but the mutex that lets one thread at a time create. States and attributes change
 * under the progress lock; the words of the entry are atomic, since other processes read them at
 * any time.
 */
#define _GNU_SOURCE

#include "address.h"
#include "config.h"
#include "doorbells.h"
#include "engine.h"
#include "fault.h"
#include "link.h"
#include "queue_pair.h"
#include "receive_queue.h"
#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

/* Whether all objects are of one device. */
static bool is_of_one_device(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
    const struct ibv_device *device = pd->context->device;

    return attr->send_cq && attr->recv_cq && attr->send_cq->context->device == device &&
           attr->recv_cq->context->device == device &&
           (!attr->srq || attr->srq->context->device == device);
}

/* 0, or the errno value with which the provider refuses. The capabilities are cut where it cuts. */
static int check_capabilities(const struct device_setting *device, struct ibv_qp_init_attr *attr)
{
    const struct device_model *model = device->model;
    struct ibv_qp_cap *cap = &attr->cap;

    if (attr->qp_type != IBV_QPT_UD && !(attr->qp_type == IBV_QPT_RC && model->has_rc))
        return EOPNOTSUPP;
    if (cap->max_inline_data > device->max_inline) {
        if (model->inline_excess == EXCESS_REFUSED)
            return EINVAL;
        cap->max_inline_data = device->max_inline;
    }
    if (cap->max_send_sge > model->max_sge ||
        !model_takes_queue(model, &cap->max_send_wr, cap->max_send_sge, cap->max_inline_data))
        return EINVAL;
    if (attr->srq)
        return 0;
    if (cap->max_recv_wr > model->max_qp_wr && model->depth_excess == EXCESS_CUT)
        cap->max_recv_wr = model->max_qp_wr;
    return cap->max_recv_wr > model->max_qp_wr || cap->max_recv_sge > model->max_sge ? EINVAL : 0;
}

/* What the queue pair has got, which may be more than it asked for. */
static void report_capabilities(const struct device_setting *device, struct ibv_qp_init_attr *attr,
                                const struct queue_pair_entry *entry)
{
    uint32_t room = entry->slot_size - (uint32_t) sizeof(struct work_request);

    if (device->model->inline_granted == INLINE_THAT_FITS)
        attr->cap.max_inline_data = room < device->max_inline ? room : device->max_inline;
    if (device->model->depth_granted == DEPTH_POWER_OF_TWO)
        attr->cap.max_send_wr = entry->slots;
    if (!attr->cap.max_send_sge)
        attr->cap.max_send_sge = 1;
    if (!attr->cap.max_recv_sge && !attr->srq)
        attr->cap.max_recv_sge = 1;
}

#undef ibv_create_qp
EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    const struct device_setting *device = device_setting(pd->context);
    struct queue_pair *qp;
    int err;

    if (fault_call(CALL_CREATE_QP))
        return NULL;
    err = is_of_one_device(pd, attr) ? check_capabilities(device, attr) : EINVAL;
    if (err)
        goto fail;
    err = ENOMEM;
    qp = calloc(1, sizeof(*qp));
    if (!qp)
        goto fail;
    qp->qp.context = pd->context;
    if (attr->srq)
        qp->receives = &((struct shared_receive_queue *) attr->srq)->queue;
    else if (receive_queue_init(&qp->own_receives, attr->cap.max_recv_wr, attr->cap.max_recv_sge))
        goto free_qp;
    else
        qp->receives = &qp->own_receives;
    pthread_mutex_lock(&creating);
    err = queue_pair_claim(qp, attr, pd->handle);
    if (err)
        goto unlock;
    report_capabilities(device, attr, qp->entry);
    qp->init = *attr;
    pthread_spin_init(&qp->post_lock, PTHREAD_PROCESS_PRIVATE);
    qp->qp.qp_context = attr->qp_context;
    qp->qp.pd = pd;
    qp->qp.send_cq = attr->send_cq;
    qp->qp.recv_cq = attr->recv_cq;
    qp->qp.srq = attr->srq;
    qp->qp.handle = qp->index;
    qp->qp.state = IBV_QPS_RESET;
    qp->qp.qp_type = attr->qp_type;
    pthread_mutex_init(&qp->qp.mutex, NULL);
    pthread_cond_init(&qp->qp.cond, NULL);
    engine_lock();
    queue_pair_publish(qp);
    engine_unlock();
    pthread_mutex_unlock(&creating);
    return &qp->qp;

unlock:
    pthread_mutex_unlock(&creating);
    if (!attr->srq)
        receive_queue_destroy(&qp->own_receives);
free_qp:
    free(qp);
fail:
    errno = err;
    return NULL;
}

static bool may_follow(enum ibv_qp_state from, enum ibv_qp_state to)
{
    switch (to) {
    case IBV_QPS_RESET:
    case IBV_QPS_ERR:
        return true;
    case IBV_QPS_INIT:
        return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
    case IBV_QPS_RTR:
        return from == IBV_QPS_INIT;
    case IBV_QPS_RTS:
        return from == IBV_QPS_RTR || from == IBV_QPS_RTS || from == IBV_QPS_SQD;
    case IBV_QPS_SQD:
        return from == IBV_QPS_RTS;
    default:
        return false;
    }
}

static void change_state(struct queue_pair *qp, enum ibv_qp_state state)
{
    switch (state) {
    case IBV_QPS_ERR:
        queue_pair_fail(qp);
        break;
    case IBV_QPS_RESET:
        queue_pair_reset(qp);
        break;
    default:
        atomic_store(&qp->entry->state, state);
        break;
    }
    qp->qp.state = state;
    if (state == IBV_QPS_RTR) /* the peer may have posted already */
        doorbells_ring(&self.node->inbox, qp->index);
}

static void take_attributes(struct queue_pair *qp, const struct ibv_qp_attr *attr, int mask)
{
    struct queue_pair_entry *entry = qp->entry;
    struct ibv_qp_attr *own = &qp->attr;

    if (mask & IBV_QP_ACCESS_FLAGS) {
        own->qp_access_flags = attr->qp_access_flags;
        atomic_store(&entry->access, attr->qp_access_flags);
    }
    if (mask & IBV_QP_QKEY)
        entry->qkey = own->qkey = attr->qkey;
    if (mask & IBV_QP_AV) {
        own->ah_attr = attr->ah_attr;
        atomic_store(&entry->destination,
                     address_destination(device_setting(qp->qp.context), &attr->ah_attr));
    }
    if (mask & IBV_QP_PATH_MTU)
        own->path_mtu = attr->path_mtu;
    if (mask & IBV_QP_TIMEOUT)
        own->timeout = attr->timeout & 31;
    if (mask & IBV_QP_RETRY_CNT)
        own->retry_cnt = attr->retry_cnt & 7;
    if (mask & IBV_QP_RNR_RETRY) {
        own->rnr_retry = attr->rnr_retry & 7;
        atomic_store(&entry->rnr_retry, own->rnr_retry);
    }
    if (mask & IBV_QP_MIN_RNR_TIMER) {
        own->min_rnr_timer = attr->min_rnr_timer & 31;
        atomic_store(&entry->rnr_timer, own->min_rnr_timer);
    }
    if (mask & IBV_QP_RQ_PSN)
        own->rq_psn = attr->rq_psn;
    if (mask & IBV_QP_SQ_PSN)
        own->sq_psn = attr->sq_psn;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC) {
        own->max_rd_atomic = attr->max_rd_atomic;
        atomic_store(&entry->max_reads, attr->max_rd_atomic);
    }
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
        own->max_dest_rd_atomic = attr->max_dest_rd_atomic;
    if (mask & IBV_QP_PKEY_INDEX) {
        own->pkey_index = attr->pkey_index;
        atomic_store(&entry->pkey, device_setting(qp->qp.context)->pkeys[attr->pkey_index]);
    }
    if (mask & IBV_QP_PORT) {
        own->port_num = attr->port_num;
        atomic_store(&entry->port,
                     device_setting(qp->qp.context)->first_port + attr->port_num - 1u);
    }
    if (mask & IBV_QP_DEST_QPN) {
        own->dest_qp_num = attr->dest_qp_num;
        atomic_store(&entry->peer, attr->dest_qp_num);
    }
    qp->bandwidth = link_bandwidth(entry);
}

/* A port that wants global addresses takes no other, and none that is not that of a port on the
 * peer's node. */
static bool is_addressed(const struct queue_pair *qp, const struct ibv_qp_attr *attr, int mask)
{
    const struct device_setting *device = device_setting(qp->qp.context);
    uint32_t lid;

    if (!(mask & IBV_QP_AV) || !address_requires_grh(device))
        return true;
    lid = attr->ah_attr.is_global ? address_lid(&attr->ah_attr.grh.dgid) : 0;
    return lid && (device->link_layer == LINK_LAYER_ROCE || lid == attr->ah_attr.dlid) &&
           (!(mask & IBV_QP_DEST_QPN) || lid_slot(lid) == number_slot(attr->dest_qp_num));
}

/* The numbers of the device's own ports and of nothing else. */
static bool is_own_port(const struct queue_pair *qp, uint8_t number)
{
    return number && number <= device_setting(qp->qp.context)->ports;
}

static bool is_valid(const struct queue_pair *qp, const struct ibv_qp_attr *attr, int mask)
{
    const struct device_setting *device = device_setting(qp->qp.context);
    const struct device_model *model = device->model;

    return (!(mask & IBV_QP_PORT) || is_own_port(qp, attr->port_num)) &&
           !((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index >= device->n_pkeys) &&
           !((mask & IBV_QP_AV) && !address_has_source(device, &attr->ah_attr)) &&
           !((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > model->max_reads) &&
           !((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > model->max_reads) &&
           is_addressed(qp, attr, mask);
}

EXPORT int ibv_modify_qp(struct ibv_qp *ibv_qp, struct ibv_qp_attr *attr, int mask)
{
    struct queue_pair *qp = to_queue_pair(ibv_qp);
    int err = 0;

    if (fault_call(CALL_MODIFY_QP))
        return errno;
    if (!is_valid(qp, attr, mask))
        return EINVAL;
    engine_lock();
    if ((mask & IBV_QP_STATE) && !may_follow(atomic_load(&qp->entry->state), attr->qp_state)) {
        err = EINVAL;
    } else {
        take_attributes(qp, attr, mask);
        if (mask & IBV_QP_STATE)
            change_state(qp, attr->qp_state);
    }
    engine_unlock();
    report_at(2, "queue pair 0x%x: state %d, peer 0x%x", ibv_qp->qp_num, ibv_qp->state,
              qp->attr.dest_qp_num);
    return err;
}

EXPORT int ibv_query_qp(struct ibv_qp *ibv_qp, struct ibv_qp_attr *attr, int mask,
                        struct ibv_qp_init_attr *init)
{
    struct queue_pair *qp = to_queue_pair(ibv_qp);

    (void) mask;
    *attr = qp->attr;
    attr->qp_state = attr->cur_qp_state = atomic_load(&qp->entry->state);
    attr->cap = qp->init.cap;
    ibv_qp->state = attr->qp_state;
    if (init)
        *init = qp->init;
    return 0;
}

/* Of later versions of libibverbs: flags of the call, and bits of its answer. */
enum { RETURN_CAPS = 1, DEVICE_ONLY = 2, WHOLE_MESSAGE = 1, ALIGNED_128_BYTES = 2 };

/* Only a queue pair in RTS is asked for what it does, as by mlx5, whose firmware decides when it
 * knows the path (rdma-core, providers/mlx5/verbs.c). */
EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    static const int in_order[] = {
        [IN_ORDER_NOT] = 0,
        [IN_ORDER_ALIGNED] = ALIGNED_128_BYTES,
        [IN_ORDER_WHOLE] = WHOLE_MESSAGE | ALIGNED_128_BYTES,
    };

    (void) op;
    if (!device_setting(qp->context)->model->tells_order)
        return 0;
    if ((flags & ~(RETURN_CAPS | DEVICE_ONLY)) ||
        atomic_load(&to_queue_pair(qp)->entry->state) != IBV_QPS_RTS)
        return 0;
    return flags & RETURN_CAPS ? in_order[config.data_in_order]
                               : in_order[config.data_in_order] & WHOLE_MESSAGE;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *ibv_qp)
{
    struct queue_pair *qp = to_queue_pair(ibv_qp);

    engine_lock();
    queue_pair_withdraw(qp);
    engine_unlock();
    segment_free(qp->entry->ring, (size_t) qp->entry->slots * qp->entry->slot_size);
    if (!ibv_qp->srq)
        receive_queue_destroy(&qp->own_receives);
    pthread_spin_destroy(&qp->post_lock);
    free(qp->batch);
    free(qp);
    return 0;
}
