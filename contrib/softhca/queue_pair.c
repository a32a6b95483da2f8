/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Queue pairs: creation, states, posting, failing.
 *
 * The owner writes "posted" under the post lock; the sequence of publishing a request and then
 * looking whether the link and the peer's inbox know of it is described in doorbells.c.
 */
#define _GNU_SOURCE

#include "address.h"
#include "clock.h"
#include "config.h"
#include "doorbells.h"
#include "engine.h"
#include "event.h"
#include "fault.h"
#include "link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SLOT_PAYLOAD 128u

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct queue_pair *table[MAX_QUEUE_PAIRS]; /* changed under the progress lock as well */
static uint8_t generations[MAX_QUEUE_PAIRS];
static uint32_t next_index = 1;

struct queue_pair *queue_pair_at(uint32_t index)
{
    return table[index];
}

void queue_pair_reset_table(void)
{
    memset(table, 0, sizeof(table));
}

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

static uint32_t slot_size_for(const struct ibv_qp_cap *cap)
{
    uint32_t payload = cap->max_send_sge * (uint32_t) sizeof(struct ibv_sge);

    if (payload < cap->max_inline_data)
        payload = cap->max_inline_data;
    if (payload < MIN_SLOT_PAYLOAD)
        payload = MIN_SLOT_PAYLOAD;
    payload = (payload + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return (uint32_t) sizeof(struct work_request) + payload;
}

static uint32_t power_of_two(uint32_t n)
{
    uint32_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

static int claim_index(struct queue_pair *qp)
{
    for (uint32_t tried = 0; tried < MAX_QUEUE_PAIRS; tried++) {
        uint32_t index = next_index++ % MAX_QUEUE_PAIRS;

        if (table[index] || !index)
            continue;
        qp->index = index;
        return 0;
    }
    return ENOMEM;
}

static uint32_t init_entry(struct queue_pair *qp, struct ibv_qp_init_attr *attr, uint32_t domain)
{
    struct queue_pair_entry *entry = &self.node->queue_pairs[qp->index];
    uint32_t slots = power_of_two(attr->cap.max_send_wr ? attr->cap.max_send_wr : 1);
    uint32_t slot_size = slot_size_for(&attr->cap);
    uint64_t ring = segment_alloc((size_t) slots * slot_size);

    if (!ring)
        return 0;
    memset((void *) entry, 0, sizeof(*entry));
    entry->type = attr->qp_type;
    entry->domain = domain;
    entry->slots = slots;
    entry->slot_size = slot_size;
    entry->ring = ring;
    atomic_store(&entry->state, IBV_QPS_RESET);
    atomic_store(&entry->rnr_retry, 7);
    atomic_store(&entry->max_reads, 1);
    atomic_store(&entry->port, device_setting(qp->qp.context)->first_port);
    qp->entry = entry;
    return number_make(generations[qp->index]++, self.slot, qp->index);
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
    uint32_t number;
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
    pthread_mutex_lock(&table_mutex);
    err = claim_index(qp);
    if (err)
        goto unlock;
    err = ENOMEM;
    number = init_entry(qp, attr, pd->handle);
    if (!number)
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
    qp->qp.qp_num = number;
    qp->qp.state = IBV_QPS_RESET;
    qp->qp.qp_type = attr->qp_type;
    pthread_mutex_init(&qp->qp.mutex, NULL);
    pthread_cond_init(&qp->qp.cond, NULL);
    engine_lock();
    table[qp->index] = qp;
    atomic_store_explicit(&qp->entry->number, number, memory_order_release);
    engine_unlock();
    pthread_mutex_unlock(&table_mutex);
    return &qp->qp;

unlock:
    pthread_mutex_unlock(&table_mutex);
    if (!attr->srq)
        receive_queue_destroy(&qp->own_receives);
free_qp:
    free(qp);
fail:
    errno = err;
    return NULL;
}

static void push_flushed(struct completion_queue *cq, uint64_t wr_id, uint32_t number,
                         enum ibv_wc_opcode opcode)
{
    struct ibv_wc wc = {
        .wr_id = wr_id, .status = IBV_WC_WR_FLUSH_ERR, .opcode = opcode, .qp_num = number};

    completion_push(cq, &wc, true);
}

static void flush_receives(struct queue_pair *qp)
{
    struct completion_queue *cq = to_completion_queue(qp->qp.recv_cq);

    if (qp->has_receive)
        push_flushed(cq, qp->receiving.wr_id, qp->qp.qp_num, IBV_WC_RECV);
    qp->has_receive = false;
    if (qp->qp.srq) {
        event_raise(qp->qp.context, IBV_EVENT_QP_LAST_WQE_REACHED, &qp->qp);
        return;
    }
    while (receive_queue_take(qp->receives, &qp->receiving))
        push_flushed(cq, qp->receiving.wr_id, qp->qp.qp_num, IBV_WC_RECV);
}

/* Stops all others from touching the send queue, then forgets what it holds. */
static void drop_requests(struct queue_pair *qp, uint32_t state, bool flush)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t posted, count;

    pthread_spin_lock(&qp->post_lock);
    shared_lock_take(&entry->carrying);
    atomic_store(&entry->state, state);
    posted = atomic_load(&entry->posted);
    count = atomic_load(&entry->retired);
    for (; flush && count < posted; count++) {
        struct work_request *request = request_slot(self.node, entry, count);

        push_flushed(to_completion_queue(qp->qp.send_cq), request->wr_id, qp->qp.qp_num,
                     IBV_WC_SEND);
    }
    atomic_store(&entry->retired, posted);
    atomic_store(&entry->carried, posted);
    entry->rnr_tries = 0;
    entry->rnr_until_ns = 0;
    shared_unlock(&entry->carrying);
    link_drop(entry);
    qp->lead_to = qp->reads_end = qp->retire_from_ns = qp->push_from_ns = 0;
    pthread_spin_unlock(&qp->post_lock);
}

void queue_pair_fail(struct queue_pair *qp)
{
    qp->broken = false;
    if (atomic_load(&qp->entry->state) == IBV_QPS_ERR)
        return;
    drop_requests(qp, IBV_QPS_ERR, true);
    qp->qp.state = IBV_QPS_ERR;
    flush_receives(qp);
}

static bool is_overrun(struct ibv_cq *cq)
{
    return atomic_load(&to_completion_queue(cq)->overrun);
}

void queue_pair_fail_overrun(void)
{
    for (uint32_t i = 0; i < MAX_QUEUE_PAIRS; i++) {
        struct queue_pair *qp = table[i];

        if (!qp || atomic_load(&qp->entry->state) == IBV_QPS_ERR ||
            (!is_overrun(qp->qp.send_cq) && !is_overrun(qp->qp.recv_cq)))
            continue;
        queue_pair_fail(qp);
        event_raise(qp->qp.context, IBV_EVENT_QP_FATAL, &qp->qp);
    }
}

static void reset(struct queue_pair *qp)
{
    drop_requests(qp, IBV_QPS_RESET, false);
    qp->has_receive = qp->broken = false;
    qp->unreachable_since = 0;
    while (!qp->qp.srq && receive_queue_take(qp->receives, &qp->receiving))
        ;
    completion_purge(to_completion_queue(qp->qp.send_cq), qp->qp.qp_num);
    completion_purge(to_completion_queue(qp->qp.recv_cq), qp->qp.qp_num);
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
        reset(qp);
        break;
    default:
        atomic_store(&qp->entry->state, state);
        break;
    }
    qp->qp.state = state;
    if (state == IBV_QPS_RTR) /* the peer may have posted already */
        doorbells_ring(&self.node->inbox, qp->index);
}

bool queue_pair_reaches(const struct queue_pair *qp, const struct ibv_ah_attr *ah, uint32_t number)
{
    const struct queue_pair_entry *target = segment_queue_pair(number);

    return target &&
           address_destination(device_setting(qp->qp.context), ah) == queue_pair_lid(target);
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
    if (mask & IBV_QP_PKEY_INDEX)
        own->pkey_index = attr->pkey_index;
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
    const struct device_model *model = device_setting(qp->qp.context)->model;

    return (!(mask & IBV_QP_PORT) || is_own_port(qp, attr->port_num)) &&
           !((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index) &&
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
    (void) op;
    if (!device_setting(qp->context)->model->tells_order)
        return 0;
    if ((flags & ~(RETURN_CAPS | DEVICE_ONLY)) || !config.data_in_order ||
        atomic_load(&to_queue_pair(qp)->entry->state) != IBV_QPS_RTS)
        return 0;
    return flags & RETURN_CAPS ? WHOLE_MESSAGE | ALIGNED_128_BYTES : WHOLE_MESSAGE;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *ibv_qp)
{
    struct queue_pair *qp = to_queue_pair(ibv_qp);

    engine_lock();
    reset(qp);
    atomic_store(&qp->entry->number, 0);
    link_drop(qp->entry); /* from here on the link does not find it */
    doorbells_clear(&self.node->outbox, qp->index);
    doorbells_clear(&self.node->inbox, qp->index);
    table[qp->index] = NULL;
    engine_unlock();
    segment_free(qp->entry->ring, (size_t) qp->entry->slots * qp->entry->slot_size);
    if (!ibv_qp->srq)
        receive_queue_destroy(&qp->own_receives);
    pthread_spin_destroy(&qp->post_lock);
    free(qp->batch);
    free(qp);
    return 0;
}

/* Gathers the payload list or the inline payload into the slot; an errno value. */
static int take_payload(struct queue_pair *qp, struct work_request *request,
                        const struct ibv_send_wr *wr)
{
    unsigned access = request_has_answer(request) ? IBV_ACCESS_LOCAL_WRITE : 0;
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

int queue_pair_post_send(struct ibv_qp *ibv_qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
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
            push_flushed(to_completion_queue(ibv_qp->send_cq), wr->wr_id, ibv_qp->qp_num,
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
    engine_watch(qp->index);
    if (qp->entry->type == IBV_QPT_RC) {
        link_announce(qp->entry, first_turn);
        ring_peer(qp);
    }
    agent_wake(self.node, AGENT_DEEP);
    return err;
}
