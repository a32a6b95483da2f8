/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Progress. The target of a send or write pulls the payload into its own memory, the requester of a
 * read or atomic pulls the answer into its own; both look at the requester's send queue in the
 * segment. Each step is gated by the times that the links gave (link.c).
 *
 *  - "carried" counts the requests of a queue pair that the target is done with, in order. Reads and
 *    atomics do not hold it up (they may be passed, as the transport allows); the requester carries
 *    them once everything before them is carried.
 *  - A long transfer is copied in pieces as its bytes arrive. A copy starts early by what it costs,
 *    so that it ends when the bytes are due; nothing is completed before it is due.
 *  - A target that does not poll while something is overdue is stood in for: writes are pushed by the
 *    requester if that polls, the rest is carried by the target's agent (agent.c).
 *  - The requester retires requests in order when the acknowledgement or the answer is back.
 */
#include "engine.h"
#include "clock.h"
#include "config.h"
#include "copy.h"
#include "fault.h"
#include "link.h"
#include "stats.h"

#include <errno.h>
#include <string.h>

#define PIECE_MIN       16384u
#define PIECE_MAX       65536u
#define OVERDUE_NS      300u  /* a polling target has carried a request out by then */
#define SILENCE_NS      1000u /* without a poll while a request is overdue */
#define CHECK_EVERY_NS  5000000ull
#define RETRY_LIMIT_NS  3000000000ull /* of timeout and retry count together */

enum outcome { CARRIED, WAITING };

static atomic_flag progressing = ATOMIC_FLAG_INIT;
static struct doorbells outstanding; /* queue pairs with requests that are not retired */

void engine_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&progressing, memory_order_acquire))
        cpu_relax();
}

void engine_unlock(void)
{
    atomic_flag_clear_explicit(&progressing, memory_order_release);
}

void engine_watch(uint32_t index)
{
    doorbells_ring(&outstanding, index);
}

bool request_has_answer(const struct work_request *request)
{
    return request->opcode == IBV_WR_RDMA_READ || request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* How many further bytes of the payload may be copied now; the wait for too few is WAITING. */
static bool piece_is_due(const struct work_request *request, uint64_t now, uint32_t *bytes)
{
    uint64_t done = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);
    uint64_t arrived, arrival;
    uint32_t left = request->length - request->copied;

    if (done != TIME_UNKNOWN) {
        *bytes = left < PIECE_MAX ? left : PIECE_MAX;
        return now + (request->is_inline ? 0 : copy_cost(*bytes)) >= done;
    }
    arrived = atomic_load_explicit(&request->flow_bytes, memory_order_acquire);
    arrival = atomic_load_explicit(&request->flow_ns, memory_order_relaxed);
    *bytes = (uint32_t) (arrived - request->copied) / PIECE_MIN * PIECE_MIN;
    if (*bytes > PIECE_MAX)
        *bytes = PIECE_MAX;
    return *bytes && now + copy_cost(*bytes) >= arrival;
}

static bool is_due(const struct work_request *request, uint64_t now)
{
    uint64_t done = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);

    return done != TIME_UNKNOWN && now >= done;
}

static void set_status(struct work_request *request, enum ibv_wc_status status)
{
    atomic_store_explicit(&request->status, status, memory_order_release);
}

static bool is_connected(struct queue_pair *qp, struct queue_pair_entry *source)
{
    uint32_t state = atomic_load(&qp->entry->state);
    uint32_t theirs;

    if (!source || (state != IBV_QPS_RTR && state != IBV_QPS_RTS && state != IBV_QPS_SQD))
        return false;
    theirs = atomic_load(&source->state);
    return (theirs == IBV_QPS_RTS || theirs == IBV_QPS_SQD) &&
           atomic_load(&source->peer) == qp->qp.qp_num;
}

/* The responder of a request that breaks the rules refuses it and goes into the error state. */
static enum outcome refuse(struct queue_pair *qp, struct work_request *request,
                           enum ibv_wc_status requester)
{
    report_at(2, "queue pair 0x%x refuses opcode %u from 0x%x: %s", qp->qp.qp_num, request->opcode,
              atomic_load(&qp->entry->peer), ibv_wc_status_str(requester));
    set_status(request, requester);
    if (requester == IBV_WC_REM_ACCESS_ERR)
        async_event(qp->qp.context, IBV_EVENT_QP_ACCESS_ERR, &qp->qp);
    qp->broken = true;
    return WAITING;
}

/* Pulls the next pieces of a request's payload as far as they are due. 0 when all is in place, EAGAIN
 * if some is not due yet, otherwise what the copy failed with. */
static int pull(struct queue_pair_entry *source, struct work_request *request,
                const struct memory_list *to, uint64_t *now)
{
    struct memory_list from = {
        .pid = atomic_load(
            &self.fabric->ports[number_slot(atomic_load(&source->number))].pid),
        .n_sge = request->n_sge,
        .sge = request->sge,
    };

    while (request->copied < request->length) {
        uint32_t bytes;
        int err = 0;

        if (!piece_is_due(request, *now, &bytes))
            return EAGAIN;
        if (config.faults.order != ORDER_KEPT)
            err = fault_copy(to, request->is_inline ? NULL : &from, request->inline_data,
                             request->copied, bytes);
        else if (request->is_inline)
            copy_inline(to, request->inline_data + request->copied, request->copied, bytes);
        else
            err = copy_between(to, &from, request->copied, bytes);
        if (err)
            return err;
        request->copied += bytes;
        *now = clock_now();
    }
    return is_due(request, *now) ? 0 : EAGAIN;
}

/* A copy failed: the requester's memory or process is gone, or this side's memory is. */
static enum outcome copy_failed(struct queue_pair *qp, struct work_request *request, int err)
{
    if (err == ESRCH) /* the requester has died; nobody waits for an answer */
        return WAITING;
    report("stale registration: memory of opcode %u between queue pairs 0x%x and 0x%x is not "
           "mapped (%s)",
           request->opcode, atomic_load(&qp->entry->peer), qp->qp.qp_num, strerror(err));
    return refuse(qp, request, IBV_WC_REM_OP_ERR);
}

static bool take_receive(struct queue_pair *qp)
{
    if (!qp->has_receive)
        qp->has_receive = receive_queue_take(qp->receives, &qp->receiving);
    return qp->has_receive;
}

/* No receive is posted: the requester backs off for this side's timer and tries again, as often as its
 * retry count allows. */
static enum outcome not_ready(struct queue_pair *qp, struct queue_pair_entry *source,
                              struct work_request *request, uint64_t now)
{
    static const uint32_t timer_us[32] = {655360, 10,   20,    30,    40,    60,    80,     120,
                                          160,    240,  320,   480,   640,   960,   1280,   1920,
                                          2560,   3840, 5120,  7680,  10240, 15360, 20480,  30720,
                                          40960,  61440, 81920, 122880, 163840, 245760, 327680,
                                          491520};
    uint32_t retries = atomic_load(&source->rnr_retry);

    if (!is_due(request, now))
        return WAITING;
    if (retries != 7 && source->rnr_tries >= retries) {
        set_status(request, IBV_WC_RNR_RETRY_EXC_ERR);
        return WAITING;
    }
    source->rnr_tries++;
    source->rnr_until_ns = now + timer_us[atomic_load(&qp->entry->rnr_timer) & 31] * 1000ull;
    return WAITING;
}

static void deliver_receive(struct queue_pair *qp, struct queue_pair_entry *source,
                            const struct work_request *request, enum ibv_wc_status status)
{
    bool has_imm = request->opcode == IBV_WR_SEND_WITH_IMM ||
                   request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    struct ibv_wc wc = {
        .wr_id = qp->receiving.wr_id,
        .status = status,
        .opcode = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM
                                                                : IBV_WC_RECV,
        .byte_len = request->length,
        .imm_data = request->imm_data,
        .qp_num = qp->qp.qp_num,
        .src_qp = atomic_load(&source->number),
        .wc_flags = has_imm ? IBV_WC_WITH_IMM : 0,
        .slid = (uint16_t) (number_slot(atomic_load(&source->number)) + 1),
    };

    qp->has_receive = false;
    completion_push(to_completion_queue(qp->qp.recv_cq), &wc, request->solicited || status);
}

static enum outcome carry_send(struct queue_pair *qp, struct queue_pair_entry *source,
                               struct work_request *request, uint64_t *now)
{
    struct memory_list to = {.pid = self.pid};
    uint64_t room = 0;
    uint32_t bytes;
    int err;

    if (request->copied < request->length && !piece_is_due(request, *now, &bytes))
        return WAITING;
    if (!request->length && !is_due(request, *now))
        return WAITING;
    if (!take_receive(qp))
        return not_ready(qp, source, request, *now);
    for (uint32_t i = 0; i < qp->receiving.n_sge; i++) {
        room += qp->receiving.sge[i].length;
        if (!request->copied && request->length &&
            memory_check_local(qp->entry->domain, &qp->receiving.sge[i], IBV_ACCESS_LOCAL_WRITE)) {
            deliver_receive(qp, source, request, IBV_WC_LOC_PROT_ERR);
            return refuse(qp, request, IBV_WC_REM_OP_ERR);
        }
    }
    if (room < request->length) {
        deliver_receive(qp, source, request, IBV_WC_LOC_LEN_ERR);
        return refuse(qp, request, IBV_WC_REM_INV_REQ_ERR);
    }
    to.n_sge = qp->receiving.n_sge;
    to.sge = qp->receiving.sge;
    err = pull(source, request, &to, now);
    if (err == EAGAIN)
        return WAITING;
    if (err)
        return copy_failed(qp, request, err);
    deliver_receive(qp, source, request, IBV_WC_SUCCESS);
    return CARRIED;
}

static enum outcome carry_write(struct queue_pair *qp, struct queue_pair_entry *source,
                                struct work_request *request, uint64_t *now)
{
    bool has_imm = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    struct ibv_sge target = {.length = request->length};
    struct memory_list to = {.pid = self.pid, .n_sge = 1, .sge = &target};
    uint32_t bytes;
    int err;

    if (request->copied < request->length && !piece_is_due(request, *now, &bytes))
        return WAITING;
    if (request->length) {
        bool allowed = atomic_load(&qp->entry->access) & IBV_ACCESS_REMOTE_WRITE;

        target.addr = memory_translate(self.port, qp->entry->domain, request->remote_key,
                                       request->remote_addr, request->length,
                                       IBV_ACCESS_REMOTE_WRITE);
        if (!allowed || !target.addr)
            return refuse(qp, request, IBV_WC_REM_ACCESS_ERR);
    }
    err = pull(source, request, &to, now);
    if (err == EAGAIN)
        return WAITING;
    if (err)
        return copy_failed(qp, request, err);
    if (has_imm) {
        if (!take_receive(qp))
            return not_ready(qp, source, request, *now);
        deliver_receive(qp, source, request, IBV_WC_SUCCESS);
    }
    return CARRIED;
}

static enum outcome carry(struct queue_pair *qp, struct queue_pair_entry *source,
                          struct work_request *request, uint64_t *now)
{
    enum outcome outcome;

    if (request_has_answer(request))
        return CARRIED;
    if (atomic_load_explicit(&request->status, memory_order_acquire) != REQUEST_PENDING)
        return WAITING; /* failed; the requester is about to flush */
    if (*now < source->rnr_until_ns)
        return WAITING;
    switch (request->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        outcome = carry_send(qp, source, request, now);
        break;
    default:
        outcome = carry_write(qp, source, request, now);
        break;
    }
    if (outcome == CARRIED) {
        source->rnr_tries = 0;
        set_status(request, IBV_WC_SUCCESS);
    }
    return outcome;
}

static bool has_incoming(struct queue_pair *qp)
{
    struct queue_pair_entry *source = segment_queue_pair(atomic_load(&qp->entry->peer));

    return is_connected(qp, source) && atomic_load(&source->carried) < atomic_load(&source->posted);
}

/* Carries out what a queue pair's peer has posted. */
static void serve_incoming(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *source = segment_queue_pair(atomic_load(&qp->entry->peer));

    if (is_connected(qp, source)) {
        struct port *owner = segment_port(number_slot(atomic_load(&source->number)));

        if (!shared_trylock(&source->carrying))
            return;
        /* The state may have changed before the lock was ours. */
        while (!qp->broken && is_connected(qp, source)) {
            uint64_t count = atomic_load_explicit(&source->carried, memory_order_relaxed);

            if (count >= atomic_load_explicit(&source->posted, memory_order_acquire) ||
                carry(qp, source, request_slot(owner, source, count), now) == WAITING)
                break;
            atomic_store(&source->carried, count + 1);
        }
        shared_unlock(&source->carrying);
    }
    if (qp->broken) /* not under the peer's lock: the peer may be failing too */
        queue_pair_fail(qp);
    if (!has_incoming(qp)) {
        doorbells_clear(&self.port->inbox, qp->index);
        if (has_incoming(qp))
            doorbells_ring(&self.port->inbox, qp->index);
    }
}

/* Whether the target of this queue pair has not polled for a while though the oldest request was due.
 * Its count of polls is looked at only then, since each look costs both sides a cache miss. */
static bool target_is_silent(struct queue_pair *qp, struct port *target, uint64_t due, uint64_t now)
{
    uint64_t polls;

    if (now < due + OVERDUE_NS)
        return false;
    polls = atomic_load_explicit(&target->polls, memory_order_relaxed);
    if (polls != qp->seen_polls || !qp->seen_polls_ns) {
        qp->seen_polls = polls;
        qp->seen_polls_ns = now;
        return false;
    }
    return now - qp->seen_polls_ns >= SILENCE_NS;
}

/* Carries a write on behalf of a target that does not poll. Anything that is not in order is left to the
 * target, which refuses it; WAITING then. */
static enum outcome push_write(struct queue_pair *qp, struct work_request *request, uint64_t *now)
{
    uint32_t peer = atomic_load(&qp->entry->peer);
    struct queue_pair_entry *target = segment_queue_pair(peer);
    struct port *port = segment_port(number_slot(peer));
    struct ibv_sge remote = {.length = request->length};
    struct memory_list to = {
        .pid = atomic_load(&self.fabric->ports[number_slot(peer)].pid),
        .n_sge = 1,
        .sge = &remote,
    };
    struct ibv_sge local = {.addr = (uintptr_t) request->inline_data, .length = request->length};
    struct memory_list from = {.pid = self.pid, .n_sge = request->n_sge, .sge = request->sge};
    uint32_t bytes;

    if (!target || request->opcode != IBV_WR_RDMA_WRITE || config.faults.order != ORDER_KEPT ||
        atomic_load(&target->peer) != qp->qp.qp_num ||
        (atomic_load(&target->state) != IBV_QPS_RTR && atomic_load(&target->state) != IBV_QPS_RTS))
        return WAITING;
    if (request->length) {
        remote.addr =
            memory_translate(port, target->domain, request->remote_key, request->remote_addr,
                             request->length, IBV_ACCESS_REMOTE_WRITE);
        if (!remote.addr || !(atomic_load(&target->access) & IBV_ACCESS_REMOTE_WRITE))
            return WAITING;
    }
    if (request->is_inline) {
        from.n_sge = 1;
        from.sge = &local;
    }
    while (request->copied < request->length) {
        if (!piece_is_due(request, *now, &bytes) ||
            copy_in_order(&to, &from, request->copied, bytes))
            return WAITING;
        request->copied += bytes;
        *now = clock_now();
    }
    return is_due(request, *now) ? CARRIED : WAITING;
}

/* Does the target's work where the target is busy with other things: writes are carried from here,
 * for the rest its agent is called. */
static void push(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t count = atomic_load_explicit(&entry->carried, memory_order_acquire);
    struct port *target = segment_port(number_slot(atomic_load(&entry->peer)));
    struct work_request *request = request_slot(self.port, entry, count);
    uint64_t due;

    if (count >= atomic_load_explicit(&entry->posted, memory_order_relaxed) || !target ||
        target == self.port || request_has_answer(request))
        return;
    due = atomic_load_explicit(&request->flow_done_ns, memory_order_relaxed);
    if (due == TIME_UNKNOWN &&
        atomic_load_explicit(&request->flow_bytes, memory_order_relaxed) <
            request->copied + 2 * PIECE_MIN)
        return; /* no piece is waiting that a polling target would have taken */
    if (!target_is_silent(qp, target, due, *now))
        return;
    if (request->opcode != IBV_WR_RDMA_WRITE) {
        agent_call(target, AGENT_LIGHT);
        qp->seen_polls_ns = 0;
        return;
    }
    if (!shared_trylock(&entry->carrying))
        return;
    for (; (count = atomic_load(&entry->carried)) < atomic_load(&entry->posted);) {
        request = request_slot(self.port, entry, count);
        if (!request_has_answer(request)) {
            if (atomic_load(&request->status) != REQUEST_PENDING)
                break;
            if (push_write(qp, request, now) == WAITING) {
                if (is_due(request, *now)) /* the target has to look at it, perhaps to refuse it */
                    agent_call(target, AGENT_LIGHT);
                break;
            }
            set_status(request, IBV_WC_SUCCESS);
        }
        atomic_store(&entry->carried, count + 1);
    }
    shared_unlock(&entry->carrying);
}

/* Reads and atomics that the target has left to the requester count as carried. */
static void skip_answered(struct queue_pair *qp, struct port *owner)
{
    struct queue_pair_entry *entry = qp->entry;

    if (!shared_trylock(&entry->carrying))
        return;
    for (;;) {
        uint64_t count = atomic_load_explicit(&entry->carried, memory_order_relaxed);

        if (count >= atomic_load(&entry->posted) ||
            !request_has_answer(request_slot(owner, entry, count)))
            break;
        atomic_store(&entry->carried, count + 1);
    }
    shared_unlock(&entry->carrying);
}

static enum ibv_wc_status do_atomic(struct port *target, int32_t pid, uint64_t addr,
                                    struct work_request *request)
{
    struct ibv_sge remote = {.addr = addr, .length = 8};
    uint64_t old = 0, new = 0;
    struct ibv_sge local = {.addr = (uintptr_t) &old, .length = 8};
    struct memory_list theirs = {.pid = pid, .n_sge = 1, .sge = &remote};
    struct memory_list ours = {.pid = self.pid, .n_sge = 1, .sge = &local};
    bool store = true;
    int err;

    shared_lock_take(&target->atomics);
    err = copy_between(&ours, &theirs, 0, 8);
    if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        new = old + request->compare_add;
    } else {
        new = request->swap;
        store = old == request->compare_add;
    }
    local.addr = (uintptr_t) &new;
    if (!err && store)
        err = copy_between(&theirs, &ours, 0, 8);
    shared_unlock(&target->atomics);
    if (err)
        return err == ESRCH ? REQUEST_PENDING : IBV_WC_REM_OP_ERR;
    memcpy((void *) (uintptr_t) request->sge[0].addr, &old, 8);
    return IBV_WC_SUCCESS;
}

/* Carries a read or atomic whose turn it is; REQUEST_PENDING while it waits. */
static uint32_t carry_answered(struct queue_pair *qp, struct work_request *request, uint64_t *now)
{
    uint32_t peer = atomic_load(&qp->entry->peer);
    struct queue_pair_entry *target = segment_queue_pair(peer);
    struct port *port = segment_port(number_slot(peer));
    bool is_read = request->opcode == IBV_WR_RDMA_READ;
    unsigned access = is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_ATOMIC;
    struct ibv_sge remote = {.length = request->length};
    struct memory_list from = {.n_sge = 1, .sge = &remote};
    struct memory_list to = {.pid = self.pid, .n_sge = request->n_sge, .sge = request->sge};
    uint32_t bytes;
    int err = 0;

    if (request->length && !(request->copied == request->length) &&
        !piece_is_due(request, *now, &bytes))
        return REQUEST_PENDING;
    if (!target || atomic_load(&target->peer) != qp->qp.qp_num ||
        (atomic_load(&target->state) != IBV_QPS_RTR && atomic_load(&target->state) != IBV_QPS_RTS))
        return REQUEST_PENDING;
    if (request->length) {
        remote.addr = memory_translate(port, target->domain, request->remote_key,
                                       request->remote_addr, request->length, access);
        if (!(atomic_load(&target->access) & access) || !remote.addr)
            return IBV_WC_REM_ACCESS_ERR;
        if (!is_read && request->remote_addr % 8)
            return IBV_WC_REM_INV_REQ_ERR;
    }
    from.pid = atomic_load(&self.fabric->ports[number_slot(peer)].pid);
    while (request->copied < request->length) {
        if (!piece_is_due(request, *now, &bytes))
            return REQUEST_PENDING;
        if (is_read) {
            err = copy_between(&to, &from, request->copied, bytes);
        } else {
            uint32_t status = do_atomic(port, from.pid, remote.addr, request);

            if (status != IBV_WC_SUCCESS)
                return status;
        }
        if (err)
            return err == ESRCH ? REQUEST_PENDING : IBV_WC_REM_OP_ERR;
        request->copied += bytes;
        *now = clock_now();
    }
    return is_due(request, *now) ? IBV_WC_SUCCESS : REQUEST_PENDING;
}

static void carry_reads(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t posted = atomic_load_explicit(&entry->posted, memory_order_acquire);
    uint64_t retired = atomic_load_explicit(&entry->retired, memory_order_relaxed);

    if (qp->next_read < retired)
        qp->next_read = retired;
    for (; qp->next_read < posted; qp->next_read++) {
        struct work_request *request = request_slot(self.port, entry, qp->next_read);
        uint32_t status;

        if (!request_has_answer(request) ||
            atomic_load_explicit(&request->status, memory_order_relaxed) != REQUEST_PENDING)
            continue;
        if (atomic_load_explicit(&entry->carried, memory_order_acquire) < qp->next_read)
            skip_answered(qp, self.port);
        if (atomic_load_explicit(&entry->carried, memory_order_acquire) < qp->next_read)
            return;
        status = carry_answered(qp, request, now);
        if (status == REQUEST_PENDING)
            return;
        set_status(request, status);
    }
    if (atomic_load_explicit(&entry->carried, memory_order_acquire) < posted)
        skip_answered(qp, self.port);
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
    const struct work_request *request = request_slot(self.port, qp->entry, count);
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

static uint64_t completion_time(const struct work_request *request)
{
    uint64_t done = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);

    if (done == TIME_UNKNOWN || request_has_answer(request))
        return done;
    return done + self.fabric->parameters.latency_ns;
}

/* Delivers completions in order. False when the queue pair has failed and was flushed. */
static bool retire(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t posted = atomic_load_explicit(&entry->posted, memory_order_acquire);
    uint64_t count = atomic_load_explicit(&entry->retired, memory_order_relaxed);

    for (; count < posted; count++) {
        struct work_request *request = request_slot(self.port, entry, count);
        uint32_t status = atomic_load_explicit(&request->status, memory_order_acquire);

        if (status == REQUEST_PENDING || *now < completion_time(request))
            break;
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

static bool peer_answers(struct queue_pair *qp)
{
    uint32_t peer = atomic_load(&qp->entry->peer);
    struct queue_pair_entry *target = segment_queue_pair(peer);
    uint32_t state;

    if (!target || atomic_load(&target->peer) != qp->qp.qp_num)
        return false;
    state = atomic_load(&target->state);
    return (state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD) &&
           segment_port_alive(number_slot(peer));
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
    if (peer_answers(qp)) {
        qp->unreachable_since = 0;
        return;
    }
    if (!qp->unreachable_since)
        qp->unreachable_since = now;
    if (patience > RETRY_LIMIT_NS)
        patience = RETRY_LIMIT_NS;
    if (!qp->attr.timeout || now - qp->unreachable_since < patience)
        return;
    shared_lock_take(&entry->carrying);
    for (; count < atomic_load(&entry->posted); count++) {
        request = request_slot(self.port, entry, count);
        if (atomic_load(&request->status) != REQUEST_PENDING)
            continue;
        atomic_store(&request->flow_done_ns, now - self.fabric->parameters.latency_ns);
        set_status(request, IBV_WC_RETRY_EXC_ERR);
        break;
    }
    shared_unlock(&entry->carrying);
}

static bool has_outstanding(struct queue_pair *qp)
{
    return atomic_load(&qp->entry->retired) < atomic_load(&qp->entry->posted);
}

static void serve_outgoing(struct queue_pair *qp, uint64_t *now)
{
    if (qp->entry->type == IBV_QPT_RC && atomic_load(&qp->entry->state) != IBV_QPS_ERR) {
        carry_reads(qp, now);
        push(qp, now);
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

bool engine_progress(void)
{
    bool incoming = atomic_load_explicit(&self.port->inbox.summary, memory_order_relaxed);
    bool outgoing = atomic_load_explicit(&outstanding.summary, memory_order_relaxed);
    bool mail;
    uint64_t now;

    if (!incoming && !outgoing && !datagram_waiting())
        return false;
    if (atomic_flag_test_and_set_explicit(&progressing, memory_order_acquire))
        return true;
    now = clock_now();
    if (incoming || outgoing)
        link_advance(now);
    if (incoming)
        for_each(&self.port->inbox, serve_incoming, &now);
    if (outgoing)
        for_each(&outstanding, serve_outgoing, &now);
    mail = datagram_deliver(now);
    engine_unlock();
    return incoming || outgoing || mail;
}

void engine_reset(void)
{
    memset((void *) &outstanding, 0, sizeof(outstanding));
    atomic_flag_clear(&progressing);
    datagram_reset();
}
