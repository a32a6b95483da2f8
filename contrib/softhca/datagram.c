/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Unreliable datagrams: the sender puts the payload into the mailbox of the target's node with the
 * time at which it arrives, the target's process moves it on into a posted receive. Datagrams take
 * time on a clock of their own; they do not compete with reliable traffic for the links.
 *
 * States of a mailbox slot:
 *
 *   FREE --claim(): sender, after it has moved mail_tail--> WRITING
 *   WRITING --datagram_send(): release, after the payload--> FULL
 *   FULL --datagram_deliver(): the owner, acquire--> FREE
 *   WRITING --the owner, after a second: its sender has died--> FREE
 *
 * Owns mail_head of this node, under the progress lock, and the clocks of its ports, atomic.
 * Senders are any thread of any process.
 */
#define _GNU_SOURCE

#include "datagram.h"
#include "address.h"
#include "completion.h"
#include "config.h"
#include "doorbells.h"
#include "memory.h"
#include "queue_pair.h"
#include "receive_queue.h"

#include <string.h>

#define GRH_BYTES       40u
#define ABANDONED_NS    1000000000ull /* a sender that died while writing */
#define PRIVILEGED_QKEY 0x80000000u

static uint64_t mail_head; /* under the progress lock */
static uint64_t stuck_since;
static _Atomic uint64_t departure_free[NODE_PORTS];

uint64_t datagram_departure(const struct queue_pair *qp, uint32_t length, uint64_t now)
{
    _Atomic uint64_t *port_free = &departure_free[atomic_load(&qp->entry->port)];
    uint64_t takes = self.fabric->parameters.gap_ns +
                     (qp->bandwidth ? length * 1000000000ull / qp->bandwidth : 0);
    uint64_t free = atomic_load(port_free), end;

    do {
        end = (free > now ? free : now) + takes;
    } while (!atomic_compare_exchange_weak(port_free, &free, end));
    return end;
}

static struct datagram *claim(struct node *node)
{
    uint64_t tail = atomic_load(&node->mail_tail);

    for (;;) {
        struct datagram *slot = &node->mail[tail % MAX_DATAGRAMS];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) != DATAGRAM_FREE) {
            uint64_t again = atomic_load(&node->mail_tail);

            if (again == tail)
                return NULL; /* full */
            tail = again;    /* another sender has just claimed the slot */
            continue;
        }
        if (atomic_compare_exchange_weak(&node->mail_tail, &tail, tail + 1)) {
            atomic_store_explicit(&slot->state, DATAGRAM_WRITING, memory_order_relaxed);
            return slot;
        }
    }
}

/* Whether a datagram to an address arrives at the queue pair of that number. */
static bool reaches(const struct queue_pair *qp, const struct ibv_ah_attr *ah, uint32_t number)
{
    const struct queue_pair_entry *target = segment_queue_pair(number);

    return target && share_partition(qp->entry, target) &&
           address_destination(device_setting(qp->qp.context), ah) == queue_pair_lid(target);
}

void datagram_send(struct queue_pair *qp, const struct ibv_send_wr *wr, uint64_t due_ns,
                   uint32_t length)
{
    struct address_handle *handle = (struct address_handle *) wr->wr.ud.ah;
    uint32_t target = wr->wr.ud.remote_qpn;
    struct queue_pair_entry *entry = segment_queue_pair(target);
    struct node *node = segment_node(number_slot(target));
    struct datagram *slot;
    uint32_t at = 0;

    if (!entry || entry->type != IBV_QPT_UD || length > DATAGRAM_PAYLOAD ||
        !reaches(qp, &handle->attr, target) ||
        link_is_down(self.node, atomic_load(&qp->entry->port)) ||
        link_is_down(node, atomic_load(&entry->port)))
        return;
    slot = claim(node);
    if (!slot) {
        report_at(2, "datagram to queue pair 0x%x lost: mailbox full", target);
        return;
    }
    slot->source = qp->qp.qp_num;
    slot->target = target;
    slot->qkey = wr->wr.ud.remote_qkey & PRIVILEGED_QKEY ? qp->entry->qkey : wr->wr.ud.remote_qkey;
    slot->imm_data = wr->imm_data;
    slot->has_imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
    slot->has_grh = handle->attr.is_global;
    slot->solicited = wr->send_flags & IBV_SEND_SOLICITED;
    slot->source_lid = (uint16_t) queue_pair_lid(qp->entry);
    if (slot->has_grh) {
        address_gid(slot->source_lid, handle->attr.grh.sgid_index, &slot->source_gid);
        slot->target_gid = handle->attr.grh.dgid;
    }
    slot->length = length;
    slot->due_ns = due_ns;
    for (int i = 0; i < wr->num_sge; i++) {
        memcpy(slot->payload + at, (void *) (uintptr_t) wr->sg_list[i].addr, wr->sg_list[i].length);
        at += wr->sg_list[i].length;
    }
    atomic_store_explicit(&slot->state, DATAGRAM_FULL, memory_order_release);
    agent_wake(node, AGENT_LIGHT);
}

/* Copies into a scatter list from an offset on; bytes that did not fit. */
static uint32_t scatter(const struct receive_request *to, uint32_t offset, const void *from,
                        uint32_t length)
{
    const uint8_t *in = from;

    for (uint32_t i = 0; i < to->n_sge && length; i++) {
        uint32_t part = to->sge[i].length;

        if (offset >= part) {
            offset -= part;
            continue;
        }
        part = part - offset < length ? part - offset : length;
        memcpy((uint8_t *) (uintptr_t) to->sge[i].addr + offset, in, part);
        in += part;
        length -= part;
        offset = 0;
    }
    return length;
}

static void deliver(const struct datagram *mail)
{
    struct queue_pair *qp = queue_pair_at(number_index(mail->target));
    struct receive_request receive;
    struct ibv_grh grh = {.hop_limit = 1};
    struct ibv_wc wc;
    uint32_t state;

    if (!qp || qp->qp.qp_num != mail->target || qp->entry->qkey != mail->qkey)
        return;
    state = atomic_load(&qp->entry->state);
    if ((state != IBV_QPS_RTR && state != IBV_QPS_RTS) ||
        !receive_queue_take(qp->receives, &receive)) {
        report_at(2, "datagram to queue pair 0x%x lost: no receive posted", mail->target);
        return;
    }
    for (uint32_t i = 0; i < receive.n_sge; i++) {
        if (memory_check_local(qp->entry->domain, &receive.sge[i], IBV_ACCESS_LOCAL_WRITE))
            return;
    }
    wc = (struct ibv_wc){
        .wr_id = receive.wr_id,
        .opcode = IBV_WC_RECV,
        .byte_len = mail->length + GRH_BYTES,
        .imm_data = mail->imm_data,
        .qp_num = mail->target,
        .src_qp = mail->source,
        .wc_flags = (mail->has_imm ? IBV_WC_WITH_IMM : 0) | (mail->has_grh ? IBV_WC_GRH : 0),
        .slid = mail->source_lid,
    };
    if (mail->has_grh) {
        grh.sgid = mail->source_gid;
        grh.dgid = mail->target_gid;
        scatter(&receive, 0, &grh, sizeof(grh));
    }
    if (scatter(&receive, GRH_BYTES, mail->payload, mail->length))
        wc.status = IBV_WC_LOC_LEN_ERR;
    report_at(3, "datagram of %u bytes from queue pair 0x%x to 0x%x", mail->length, mail->source,
              mail->target);
    completion_push(to_completion_queue(qp->qp.recv_cq), &wc, mail->solicited);
}

bool datagram_waiting(void)
{
    struct datagram *slot = &self.node->mail[mail_head % MAX_DATAGRAMS];

    return atomic_load_explicit(&slot->state, memory_order_relaxed) != DATAGRAM_FREE;
}

bool datagram_deliver(uint64_t now)
{
    for (;; mail_head++) {
        struct datagram *slot = &self.node->mail[mail_head % MAX_DATAGRAMS];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

        if (state == DATAGRAM_FREE)
            return false;
        if (state == DATAGRAM_WRITING) {
            if (!stuck_since)
                stuck_since = now;
            if (now - stuck_since < ABANDONED_NS)
                return true;
        } else {
            if (now < slot->due_ns)
                return true;
            deliver(slot);
        }
        stuck_since = 0;
        atomic_store_explicit(&slot->state, DATAGRAM_FREE, memory_order_release);
    }
}

void datagram_reset(void)
{
    mail_head = 0;
    stuck_since = 0;
    memset((void *) departure_free, 0, sizeof(departure_free));
}
