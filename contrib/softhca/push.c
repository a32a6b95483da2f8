/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Standing in for a target that does not poll while something is overdue. A requester that polls
 * pushes its writes itself; sends and whatever may have to be refused are left to the target's
 * agent.
 *
 * What a requester knows of its target (peer_is_silent, seen_polls, seen_polls_ns):
 *
 *   polls            its count has moved since it was last looked at
 *   quiet            a request is overdue; the count has stood still since seen_polls_ns
 *   silent           it has for SILENCE_NS, and is taken to be silent until the count moves
 *
 * With a fault of disorder writes are the requester's from the start: the target could not see them
 * halfway while it copied. With that of overtaking, a later write may be "copied" before its turn.
 *
 * Owns those, in the queue pair, under the progress lock. Writes into the target's memory and
 * "executed" under the queue pair's "executing", as the target itself does.
 */
#define _GNU_SOURCE

#include "clock.h"
#include "config.h"
#include "copy.h"
#include "disorder.h"
#include "doorbells.h"
#include "execute.h"
#include "fault.h"
#include "link.h"
#include "memory.h"
#include "shared_pages.h"

/* A polling target has executed a request by then, also on a virtual machine where a cache line
 * takes 200 ns from one processor to the other. A look that comes too early delays the target: 8
 * bytes took 4.0 us there with 300, 3.6 with 1000, 2.8 with 2000 or more. */
#define OVERDUE_NS  2000u
#define SMALL_BYTES 256u
/* Without a poll while a request is overdue. A small write is pushed soon: its target may well be a
 * program that only looks at its memory. Otherwise the target is more likely busy with what it got
 * before, and standing in for it would disturb it; or it is copying a piece, which takes up to 20
 * us while both sides do. */
#define SMALL_SILENCE_NS 1000u
#define SILENCE_NS       60000u
/* A send needs the target's own thread, its agent, on a processor where its application may just be
 * busy; an application that waits for events has asked for it before it went to sleep. */
#define SEND_SILENCE_NS 500000u
/* The count of polls is looked at so often in a silence. */
#define LOOKS 4u
/* The fault of overtaking: so many of the next writes may, if they arrive so soon after the one
 * that they overtake; and the target has so long to look before that one lands. */
#define OVERTAKERS         3u
#define OVERTAKEN_NS       20000u
#define OVERTAKEN_PAUSE_NS 3000u

/* Whether the target of this queue pair has not polled for a while though the oldest request was
 * due. Its count of polls is looked at only then, since each look costs both sides a cache miss. A
 * target known to be silent stays it until its count moves: a count that stands still is cheap to
 * look at, and copies to it start early as those of a target that polls. */
static bool target_is_silent(struct queue_pair *qp, struct node *target,
                             const struct work_request *request, uint64_t due, uint64_t now)
{
    bool write = request->opcode == IBV_WR_RDMA_WRITE;
    uint64_t silence = !write                           ? SEND_SILENCE_NS
                       : request->length <= SMALL_BYTES ? SMALL_SILENCE_NS
                                                        : SILENCE_NS;
    uint64_t polls;

    if (!(write && qp->peer_is_silent) && now < due + OVERDUE_NS) {
        qp->push_from_ns = due + OVERDUE_NS;
        return false;
    }
    polls = atomic_load_explicit(&target->polls, memory_order_relaxed);
    if (polls != qp->seen_polls || !qp->seen_polls_ns) {
        qp->seen_polls = polls;
        qp->seen_polls_ns = now;
        qp->peer_is_silent = false;
    } else {
        qp->peer_is_silent = now - qp->seen_polls_ns >= SILENCE_NS;
        if (now - qp->seen_polls_ns >= silence)
            return true;
    }
    qp->push_from_ns = now + silence / LOOKS;
    return false;
}

/* Whether a piece waits that a polling target would have taken. If not, none does before the bytes
 * that lack have been on the wire. */
static bool piece_waits(struct queue_pair *qp, const struct work_request *request, uint64_t now)
{
    uint64_t bytes = atomic_load_explicit(&request->flow_bytes, memory_order_relaxed);
    uint64_t wanted = request->copied + 2 * PIECE_MIN;

    if (bytes >= wanted)
        return true;
    if (wanted > request->length)
        wanted = request->length;
    if (!qp->peer_is_silent && !fault_disorders() && qp->bandwidth && bytes < wanted)
        qp->push_from_ns = now + (wanted - bytes) * 1000000000ull / qp->bandwidth;
    return false;
}

/* Whether a target found silent has polled since. */
static bool has_polled(const struct queue_pair *qp, struct node *target)
{
    return atomic_load_explicit(&target->polls, memory_order_relaxed) != qp->seen_polls;
}

/* Stores inline payload in this process' own view of the target, if it has one, which spares the
 * longer call of the kernel. Not what stands in the program's memory: it may be unmapped by now,
 * which the kernel's copy survives. The kernel would refuse a process that has died, whose pages
 * are still there. */
static bool store_mapped(uint32_t slot, const struct work_request *request)
{
    uint64_t mapped = request->is_inline ? shared_pages_map_target(slot, request) : 0;
    struct ibv_sge target = {.addr = mapped, .length = request->length};
    struct memory_list to = {.pid = self.pid, .n_sge = 1, .sge = &target};

    if (!mapped || !segment_node_alive(slot))
        return false;
    copy_inline(&to, request->inline_data, 0, request->length);
    return true;
}

/* The same out of order, of any payload: word by word, which the kernel would take long for. */
static int copy_disordered(const struct queue_pair *qp, uint32_t slot,
                           const struct work_request *request, const struct memory_list *to,
                           const struct memory_list *from, uint64_t length)
{
    uint64_t mapped = shared_pages_map_target(slot, request);
    struct ibv_sge target = {.addr = mapped, .length = request->length};
    struct memory_list own = {.pid = self.pid, .n_sge = 1, .sge = &target};

    return disorder_copy(&qp->attr, mapped && segment_node_alive(slot) ? &own : to, from, NULL,
                         request->copied, length);
}

/* Copies the next piece out; an error of the kernel's, or 0. */
static int copy_out(const struct queue_pair *qp, uint32_t slot, const struct work_request *request,
                    const struct memory_list *to, const struct memory_list *from, uint64_t length)
{
    if (config.faults.order != ORDER_KEPT)
        return copy_disordered(qp, slot, request, to, from, length);
    if (request->copied == 0 && length == request->length && store_mapped(slot, request))
        return 0;
    return copy_in_order(to, from, request->copied, length);
}

/* Executes a write on behalf of a target that does not poll. Anything that is not in order is left
 * to the target, which refuses it; WAITING then, as when the target is found awake. */
static enum outcome push_write(struct queue_pair *qp, struct work_request *request, uint64_t *now,
                               bool *awake)
{
    uint32_t peer = atomic_load(&qp->entry->peer);
    struct queue_pair_entry *target = segment_queue_pair(peer);
    struct node *node = segment_node(number_slot(peer));
    struct ibv_sge remote = {.length = request->length};
    struct memory_list to = {
        .pid = atomic_load(&self.fabric->nodes[number_slot(peer)].pid),
        .n_sge = 1,
        .sge = &remote,
    };
    struct ibv_sge local = {.addr = (uintptr_t) request->inline_data, .length = request->length};
    struct memory_list from = {.pid = self.pid, .n_sge = request->n_sge, .sge = request->sge};
    uint32_t bytes;

    if (!target || request->opcode != IBV_WR_RDMA_WRITE ||
        (fault_disorders() && !disorder_by_requester(request, node)) ||
        !are_connected(qp->entry, target) ||
        (atomic_load(&target->state) != IBV_QPS_RTR && atomic_load(&target->state) != IBV_QPS_RTS))
        return WAITING;
    if (request->length) {
        remote.addr =
            memory_translate(node, target->domain, request->remote_key, request->remote_addr,
                             request->length, IBV_ACCESS_REMOTE_WRITE);
        if (!remote.addr || !(atomic_load(&target->access) & IBV_ACCESS_REMOTE_WRITE))
            return WAITING;
    }
    if (request->is_inline) {
        from.n_sge = 1;
        from.sge = &local;
    }
    while (request->copied < request->length) {
        if (!piece_is_due(qp, request, COPIER_KERNEL, *now, &bytes) ||
            copy_out(qp, number_slot(peer), request, &to, &from, bytes))
            return WAITING;
        request->copied += bytes;
        node_count_poll();
        *now = clock_now();
        *awake = !fault_disorders() && has_polled(qp, node);
        if (*awake && request->copied < request->length)
            return WAITING;
    }
    return is_due(request, *now) ? EXECUTED : WAITING;
}

/* Whether a write changes what one of those from `count` on does. The last of such writes stays:
 * what they leave in memory is as if all had been in order. */
static bool overlaps_earlier(struct queue_pair *qp, uint64_t count,
                             const struct work_request *write)
{
    for (;; count++) {
        const struct work_request *earlier = request_slot(self.node, qp->entry, count);

        if (earlier == write)
            return false;
        if (earlier->remote_addr < write->remote_addr + write->length &&
            write->remote_addr < earlier->remote_addr + earlier->length)
            return true;
    }
}

/* Places the last of the next few writes that have arrived, ahead of its turn: it stays neither
 * executed nor acknowledged until then. False if there is none. */
static bool push_later(struct queue_pair *qp, uint64_t count, uint64_t *now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t end = atomic_load_explicit(&entry->posted, memory_order_acquire);
    struct work_request *found = NULL;
    bool awake;

    if (end > count + 1 + OVERTAKERS)
        end = count + 1 + OVERTAKERS;
    for (uint64_t next = count + 1; next < end; next++) {
        struct work_request *later = request_slot(self.node, entry, next);

        if (later->opcode != IBV_WR_RDMA_WRITE || !is_due(later, *now) ||
            atomic_load(&later->status) != REQUEST_PENDING)
            break;
        if (later->length && !overlaps_earlier(qp, count, later))
            found = later;
    }
    return found && push_write(qp, found, now, &awake) == EXECUTED;
}

/* Whether a write has to wait for a later one that is to overtake it: not for long, there may be
 * none. */
static bool waits_to_be_overtaken(struct queue_pair *qp, const struct work_request *request,
                                  uint64_t count, uint64_t *now)
{
    uint64_t due = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);

    if (request->opcode != IBV_WR_RDMA_WRITE || !fault_overtakes(qp->qp.qp_num, count))
        return false;
    if (due == TIME_UNKNOWN)
        return true;
    if (!push_later(qp, count, now))
        return *now < due + OVERTAKEN_NS;
    spin_until(clock_now() + OVERTAKEN_PAUSE_NS);
    *now = clock_now();
    return false;
}

/* Whether the oldest request is a write that this side has to push. */
static bool oldest_is_to_push(struct queue_pair *qp, struct node *target, uint64_t now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t count = atomic_load_explicit(&entry->executed, memory_order_acquire);
    const struct work_request *request = request_slot(self.node, entry, count);
    bool disorder;
    uint64_t due;

    if (count >= atomic_load_explicit(&entry->posted, memory_order_relaxed) ||
        request_has_response(request))
        return false;
    disorder = disorder_by_requester(request, target);
    if (disorder || qp->peer_is_silent)
        link_look_ahead(UINT64_MAX);
    due = atomic_load_explicit(&request->flow_done_ns, memory_order_relaxed);
    if (due == TIME_UNKNOWN && !piece_waits(qp, request, now))
        return false;
    if (!disorder && !target_is_silent(qp, target, request, due, now))
        return false;
    if (request->opcode == IBV_WR_RDMA_WRITE)
        return true;
    agent_wake(target, AGENT_LIGHT);
    qp->seen_polls_ns = 0;
    return false;
}

void push(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *entry = qp->entry;
    struct node *target = segment_node(number_slot(atomic_load(&entry->peer)));
    bool awake = false;
    uint64_t count;

    if (*now < qp->push_from_ns || !target || target == self.node ||
        !oldest_is_to_push(qp, target, *now) || !shared_trylock(&entry->executing))
        return;
    for (; !awake && (count = atomic_load(&entry->executed)) < atomic_load(&entry->posted);) {
        struct work_request *request = request_slot(self.node, entry, count);

        if (!request_has_response(request)) {
            if (atomic_load(&request->status) != REQUEST_PENDING)
                break;
            if (waits_to_be_overtaken(qp, request, count, now))
                break;
            if (push_write(qp, request, now, &awake) == WAITING) {
                if (!awake &&
                    is_due(request, *now)) /* the target has to look at it, perhaps to refuse it */
                    agent_wake(target, AGENT_LIGHT);
                break;
            }
            set_status(request, IBV_WC_SUCCESS);
        }
        atomic_store(&entry->executed, count + 1);
    }
    shared_unlock(&entry->executing);
}
