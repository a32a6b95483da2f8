/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The queue pairs of this process: their table, their shared halves, and how they fail.
 *
 * Life of a queue pair beside the states of the verbs, which are told in verbs_qp.c:
 *
 *   claimed     has an index, a ring and an entry whose number is 0: nobody finds it
 *   published   is in the table, and its number in the entry: peers and links find it
 *   withdrawn   is in neither; the numbers of an index differ by generation
 *
 * Invariants: a queue pair in the table has an entry; who wants to forget requests first holds
 * their post lock and "executing", so that nobody posts or executes meanwhile, then takes them from
 * the link.
 *
 * Owns the table and the entries of this node's queue pairs. All under the progress lock, but
 * queue_pair_claim(), whose callers exclude each other.
 */
#define _GNU_SOURCE

#include "queue_pair.h"
#include "completion.h"
#include "config.h"
#include "doorbells.h"
#include "event.h"
#include "link.h"
#include "receive_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SLOT_PAYLOAD 128u

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

static void flush_receives(struct queue_pair *qp)
{
    struct completion_queue *cq = to_completion_queue(qp->qp.recv_cq);

    if (qp->has_receive)
        completion_push_flushed(cq, qp->receiving.wr_id, qp->qp.qp_num, IBV_WC_RECV);
    qp->has_receive = false;
    if (qp->qp.srq) {
        event_raise(qp->qp.context, IBV_EVENT_QP_LAST_WQE_REACHED, &qp->qp);
        return;
    }
    while (receive_queue_take(qp->receives, &qp->receiving))
        completion_push_flushed(cq, qp->receiving.wr_id, qp->qp.qp_num, IBV_WC_RECV);
}

/* Stops all others from touching the send queue, then forgets what it holds. */
static void drop_requests(struct queue_pair *qp, uint32_t state, bool flush)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t posted, count;

    pthread_spin_lock(&qp->post_lock);
    shared_lock_take(&entry->executing);
    atomic_store(&entry->state, state);
    posted = atomic_load(&entry->posted);
    count = atomic_load(&entry->retired);
    for (; flush && count < posted; count++) {
        struct work_request *request = request_slot(self.node, entry, count);

        completion_push_flushed(to_completion_queue(qp->qp.send_cq), request->wr_id, qp->qp.qp_num,
                                IBV_WC_SEND);
    }
    atomic_store(&entry->retired, posted);
    atomic_store(&entry->executed, posted);
    entry->rnr_tries = 0;
    entry->rnr_until_ns = 0;
    shared_unlock(&entry->executing);
    link_drop(entry);
    qp->lookahead_to = qp->reads_end = qp->retire_from_ns = qp->push_from_ns = 0;
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

void queue_pair_reset(struct queue_pair *qp)
{
    drop_requests(qp, IBV_QPS_RESET, false);
    qp->has_receive = qp->broken = false;
    qp->unreachable_since = 0;
    while (!qp->qp.srq && receive_queue_take(qp->receives, &qp->receiving))
        ;
    completion_purge(to_completion_queue(qp->qp.send_cq), qp->qp.qp_num);
    completion_purge(to_completion_queue(qp->qp.recv_cq), qp->qp.qp_num);
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

static int init_entry(struct queue_pair *qp, const struct ibv_qp_init_attr *attr, uint32_t domain)
{
    struct queue_pair_entry *entry = &self.node->queue_pairs[qp->index];
    uint32_t slots = power_of_two(attr->cap.max_send_wr ? attr->cap.max_send_wr : 1);
    uint32_t slot_size = slot_size_for(&attr->cap);
    uint64_t ring = segment_alloc((size_t) slots * slot_size);

    if (!ring)
        return ENOMEM;
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
    return 0;
}

int queue_pair_claim(struct queue_pair *qp, const struct ibv_qp_init_attr *attr, uint32_t domain)
{
    int err = claim_index(qp);

    if (!err)
        err = init_entry(qp, attr, domain);
    if (!err)
        qp->qp.qp_num = number_make(generations[qp->index]++, self.slot, qp->index);
    return err;
}

void queue_pair_publish(struct queue_pair *qp)
{
    table[qp->index] = qp;
    atomic_store_explicit(&qp->entry->number, qp->qp.qp_num, memory_order_release);
}

void queue_pair_withdraw(struct queue_pair *qp)
{
    queue_pair_reset(qp);
    atomic_store(&qp->entry->number, 0);
    link_drop(qp->entry); /* from here on the link does not find it */
    doorbells_clear(&self.node->outbox, qp->index);
    doorbells_clear(&self.node->inbox, qp->index);
    table[qp->index] = NULL;
}
