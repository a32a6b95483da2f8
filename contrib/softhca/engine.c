/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Progress. The target of a send or write pulls the payload into its own memory, the requester of a
 * read or atomic pulls the response into its own; both look at the requester's send queue in the
 * segment. Each step is gated by the times that the links gave (link.c).
 *
 *  - "executed" counts the requests of a queue pair that the target is done with, in order. Reads
 *    and atomics do not hold it up (they may be passed, as the transport allows); the requester
 *    executes them once everything before them is executed.
 *  - A long transfer is copied in pieces as its bytes arrive. A copy starts early by what it costs,
 *    so that it ends when the bytes are due; nothing is completed before it is due.
 *  - A target that does not poll while something is overdue is stood in for: writes are pushed by
 *    the requester if that polls (push.c), the rest is executed by the target's agent (agent.c).
 *  - The requester retires requests in order when the acknowledgement or the response is back. It
 *    does so before it looks at what has come in: the peer's answer to a message cannot be seen
 *    before that message's own completion.
 *
 * A request, by who moves it on:
 *
 *   posted     its poster, before it counts "posted"
 *   arriving   the links: flow_bytes and, at the end, flow_done_ns (link.c)
 *   executed   its target, or the requester in its stead: payload in place, status set
 *   retired    its requester, once the acknowledgement is due: completion, slot free
 *
 * Invariants: retired <= posted and executed <= posted; completions of a queue pair are in order.
 *
 * Owns the progress lock, taken by whoever progresses or changes a queue pair, and the set of queue
 * pairs with outstanding requests, which posters add to without the lock. One thread of a process
 * progresses at a time; another finds the lock taken and goes.
 */
#define _GNU_SOURCE

#include "engine.h"
#include "clock.h"
#include "completion.h"
#include "config.h"
#include "datagram.h"
#include "doorbells.h"
#include "execute.h"
#include "fault.h"
#include "link.h"
#include "queue_pair.h"
#include "stats.h"

#include <sched.h>
#include <string.h>

#define CHECK_EVERY_NS 5000000ull
#define RETRY_LIMIT_NS 3000000000ull /* of timeout and retry count together */

static atomic_flag progressing = ATOMIC_FLAG_INIT;
static bool acted; /* in the last round, rather than have left everything to requesters */
static struct doorbells outstanding; /* queue pairs with requests that are not retired */

/* The other thread of this process that progresses (the agent, mostly) may have been interrupted by
 * this one, on the processor that both are bound to: let it end. */
static void let_the_other_run(void)
{
    sched_yield();
}

void engine_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&progressing, memory_order_acquire))
        let_the_other_run();
}

void engine_unlock(void)
{
    atomic_flag_clear_explicit(&progressing, memory_order_release);
}

void engine_add_outstanding(uint32_t index)
{
    doorbells_ring(&outstanding, index);
}

/* Whether the links of both sides are up. */
static bool reaches_peer(const struct queue_pair *qp)
{
    uint32_t destination = atomic_load_explicit(&qp->entry->destination, memory_order_relaxed);
    struct node *peer = destination ? segment_node(lid_slot(destination)) : NULL;

    return !link_is_down(self.node, atomic_load_explicit(&qp->entry->port, memory_order_relaxed)) &&
           (!peer || !link_is_down(peer, lid_port(destination)));
}

static bool is_connected(struct queue_pair *qp, struct queue_pair_entry *source)
{
    uint32_t state = atomic_load(&qp->entry->state);
    uint32_t theirs;

    if (!source || (state != IBV_QPS_RTR && state != IBV_QPS_RTS && state != IBV_QPS_SQD))
        return false;
    theirs = atomic_load(&source->state);
    return (theirs == IBV_QPS_RTS || theirs == IBV_QPS_SQD) && are_connected(source, qp->entry);
}

static bool has_incoming(struct queue_pair *qp)
{
    struct queue_pair_entry *source = segment_queue_pair(atomic_load(&qp->entry->peer));

    return is_connected(qp, source) &&
           atomic_load(&source->executed) < atomic_load(&source->posted);
}

/* Gets the request's lines while the one before it is executed, if it is posted: what its poster is
 * still writing is left with it. */
static void fetch_next(struct node *owner, struct queue_pair_entry *source, uint64_t count)
{
    const struct work_request *request = request_slot(owner, source, count);

    if (count < atomic_load_explicit(&source->posted, memory_order_relaxed)) {
        __builtin_prefetch(request);
        fetch_to_write(&request->request_ns);
        __builtin_prefetch(request->inline_data);
    }
}

/* Tells the links how soon this side has to know of what waits: of the oldest request and of the
 * one after it, whose copy may begin before the next round. */
static void look_ahead_of_incoming(struct queue_pair *qp, struct node *owner,
                                   struct queue_pair_entry *source, uint64_t count)
{
    uint64_t end = atomic_load_explicit(&source->posted, memory_order_acquire);

    if (end > count + 2)
        end = count + 2;
    if (qp->lookahead_from != count || qp->lookahead_to != end) {
        qp->lookahead_ns = 0;
        qp->lookahead_from = count;
        qp->lookahead_to = end;
        for (; count < end; count++) {
            uint64_t ns = execute_lookahead(number_slot(atomic_load(&source->number)),
                                            request_slot(owner, source, count));

            qp->lookahead_ns = ns > qp->lookahead_ns ? ns : qp->lookahead_ns;
        }
    }
    link_look_ahead(qp->lookahead_ns);
}

/* Executes what a queue pair's peer has posted. */
static void serve_incoming(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *source = segment_queue_pair(atomic_load(&qp->entry->peer));

    if (is_connected(qp, source)) {
        struct node *owner = segment_node(number_slot(atomic_load(&source->number)));

        if (!reaches_peer(qp) || !shared_trylock(&source->executing))
            return;
        /* The state may have changed before the lock was ours. */
        while (!qp->broken && is_connected(qp, source)) {
            uint64_t count = atomic_load_explicit(&source->executed, memory_order_relaxed);
            struct work_request *request = request_slot(owner, source, count);

            if (count >= atomic_load_explicit(&source->posted, memory_order_acquire) ||
                left_to_requester(qp, owner, request))
                break;
            acted = true;
            fetch_next(owner, source, count + 1);
            if (execute(qp, source, request, now) == WAITING) {
                look_ahead_of_incoming(qp, owner, source, count);
                break;
            }
            atomic_store(&source->executed, count + 1);
        }
        shared_unlock(&source->executing);
    }
    if (qp->broken) /* not under the peer's lock: the peer may be failing too */
        queue_pair_fail(qp);
    if (!has_incoming(qp)) {
        doorbells_clear(&self.node->inbox, qp->index);
        if (has_incoming(qp))
            doorbells_ring(&self.node->inbox, qp->index);
    }
}

/* Frees the request's slot and delivers its completion, in this order: who sees the completion may
 * post again. */
static void complete(struct queue_pair *qp, uint64_t count, uint32_t status)
{
    static const enum ibv_wc_opcode opcodes[] = {
        [IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
        [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
        [IBV_WR_SEND] = IBV_WC_SEND,
        [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
        [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
        [IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
        [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
    };
    const struct work_request *request = request_slot(self.node, qp->entry, count);
    bool wanted = status != IBV_WC_SUCCESS || request->signaled;
    struct ibv_wc wc = {
        .wr_id = request->wr_id,
        .status = status,
        .opcode = opcodes[request->opcode],
        .byte_len = request->length,
        .qp_num = qp->qp.qp_num,
        .vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x50 + status,
    };

    atomic_store_explicit(&qp->entry->retired, count + 1, memory_order_release);
    if (wanted)
        completion_push(to_completion_queue(qp->qp.send_cq), &wc, status != IBV_WC_SUCCESS);
}

static uint64_t completion_time(struct queue_pair *qp, uint64_t count)
{
    const struct work_request *request = request_slot(self.node, qp->entry, count);
    uint64_t done = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);

    if (done == TIME_UNKNOWN)
        return done;
    if (!request_has_response(request))
        done += self.fabric->parameters.latency_ns;
    return done + fault_lateness(qp->qp.qp_num, count);
}

/* Before when the oldest request cannot complete: when its completion is due or, while the link has
 * not carried it all, the way there and back and most of its bytes' time (turns are rounded). Until
 * then its line is left to the target and the link, which write to it. */
static uint64_t earliest_completion(struct queue_pair *qp, uint64_t count)
{
    const struct work_request *request = request_slot(self.node, qp->entry, count);
    uint64_t due = completion_time(qp, count);

    if (due != TIME_UNKNOWN)
        return due;
    return request->posted_ns + 2 * self.fabric->parameters.latency_ns +
           (qp->bandwidth ? request->length * 900000000ull / qp->bandwidth : 0);
}

/* Delivers completions in order. False when the queue pair has failed and was flushed. */
static bool retire(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t posted = atomic_load_explicit(&entry->posted, memory_order_acquire);
    uint64_t count = atomic_load_explicit(&entry->retired, memory_order_relaxed);

    if (*now < qp->retire_from_ns)
        return true;
    for (; count < posted; count++) {
        struct work_request *request = request_slot(self.node, entry, count);
        uint32_t status = atomic_load_explicit(&request->status, memory_order_acquire);

        if (status == REQUEST_PENDING || *now < completion_time(qp, count)) {
            if (entry->type == IBV_QPT_RC)
                qp->retire_from_ns = earliest_completion(qp, count);
            break;
        }
        if (entry->type != IBV_QPT_UD && status != IBV_WC_SUCCESS) {
            report_at(2, "queue pair 0x%x: opcode %u fails: %s", qp->qp.qp_num, request->opcode,
                      ibv_wc_status_str(status));
            complete(qp, count, status);
            queue_pair_fail(qp);
            return false;
        }
        stats_request(request->length);
        complete(qp, count, status);
    }
    return true;
}

static bool peer_responds(struct queue_pair *qp)
{
    uint32_t peer = atomic_load(&qp->entry->peer);
    struct queue_pair_entry *target = segment_queue_pair(peer);
    uint32_t state;

    if (!target || !are_connected(qp->entry, target))
        return false;
    state = atomic_load(&target->state);
    return (state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD) &&
           segment_node_alive(number_slot(peer)) && reaches_peer(qp);
}

/* A peer that does not answer fails the oldest request after the time-out and its repetitions. */
static void watch_peer(struct queue_pair *qp, uint64_t now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t count = atomic_load_explicit(&entry->retired, memory_order_relaxed);
    uint64_t patience = (4096ull << qp->attr.timeout) * (qp->attr.retry_cnt + 1u);
    struct work_request *request;

    if (now < qp->next_check)
        return;
    qp->next_check = now + CHECK_EVERY_NS;
    if (peer_responds(qp)) {
        qp->unreachable_since = 0;
        return;
    }
    if (!qp->unreachable_since)
        qp->unreachable_since = now;
    if (patience > RETRY_LIMIT_NS)
        patience = RETRY_LIMIT_NS;
    if (!qp->attr.timeout || now - qp->unreachable_since < patience)
        return;
    shared_lock_take(&entry->executing);
    for (; count < atomic_load(&entry->posted); count++) {
        request = request_slot(self.node, entry, count);
        if (atomic_load(&request->status) != REQUEST_PENDING)
            continue;
        atomic_store(&request->flow_done_ns, now - self.fabric->parameters.latency_ns);
        set_status(request, IBV_WC_RETRY_EXC_ERR);
        qp->retire_from_ns = 0;
        break;
    }
    shared_unlock(&entry->executing);
}

static bool has_outstanding(struct queue_pair *qp)
{
    return atomic_load(&qp->entry->retired) < atomic_load(&qp->entry->posted);
}

static void serve_outgoing(struct queue_pair *qp, uint64_t *now)
{
    if (qp->entry->type == IBV_QPT_RC && atomic_load(&qp->entry->state) != IBV_QPS_ERR) {
        if (reaches_peer(qp)) {
            execute_reads(qp, now);
            push(qp, now);
        }
        if (!retire(qp, now))
            return;
        if (has_outstanding(qp))
            watch_peer(qp, *now);
    } else {
        retire(qp, now);
    }
    if (!has_outstanding(qp)) {
        qp->unreachable_since = 0;
        doorbells_clear(&outstanding, qp->index);
        if (has_outstanding(qp))
            doorbells_ring(&outstanding, qp->index);
    }
}

static void for_each(struct doorbells *set, void (*serve)(struct queue_pair *, uint64_t *),
                     uint64_t *now)
{
    uint64_t words = atomic_load_explicit(&set->summary, memory_order_acquire);

    for (; words; words &= words - 1) {
        uint32_t w = (uint32_t) __builtin_ctzll(words);
        uint64_t bits = atomic_load_explicit(&set->word[w], memory_order_acquire);

        for (; bits; bits &= bits - 1) {
            uint32_t index = w * 64 + (uint32_t) __builtin_ctzll(bits);
            struct queue_pair *qp = queue_pair_at(index);

            if (qp)
                serve(qp, now);
            else
                doorbells_clear(set, index);
        }
    }
}

bool engine_has_deferred(void)
{
    return !acted;
}

bool engine_progress(void)
{
    bool incoming = atomic_load_explicit(&self.node->inbox.summary, memory_order_relaxed);
    bool outgoing = atomic_load_explicit(&outstanding.summary, memory_order_relaxed);
    bool mail;
    uint64_t now;

    if (!incoming && !outgoing && !datagram_waiting())
        return false;
    if (atomic_flag_test_and_set_explicit(&progressing, memory_order_acquire)) {
        let_the_other_run();
        return true;
    }
    now = clock_now();
    fault_link_step(now);
    if (incoming || outgoing)
        link_advance(now);
    if (outgoing)
        for_each(&outstanding, serve_outgoing, &now);
    acted = outgoing;
    if (incoming)
        for_each(&self.node->inbox, serve_incoming, &now);
    mail = datagram_deliver(now);
    acted |= mail;
    if (completion_overrun())
        queue_pair_fail_overrun();
    engine_unlock();
    return incoming || outgoing || mail;
}

void engine_reset(void)
{
    memset((void *) &outstanding, 0, sizeof(outstanding));
    atomic_flag_clear(&progressing);
    datagram_reset();
}
