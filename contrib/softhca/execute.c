/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The target's part: it pulls the payload of sends and writes into its own memory, as far as it is
 * due, checks keys, bounds and access, takes posted receives and refuses what breaks the rules.
 *
 * Invariants: a request is executed by one at a time, who holds its queue pair's "executing";
 * "copied" bytes of it are in place; it is acknowledged (status, with release) after its last byte
 * and before its receive completes. Owns nothing.
 */
#define _GNU_SOURCE

#include "execute.h"
#include "clock.h"
#include "completion.h"
#include "config.h"
#include "copy.h"
#include "disorder.h"
#include "event.h"
#include "fault.h"
#include "memory.h"
#include "receive_queue.h"
#include "shared_pages.h"

#include <errno.h>
#include <string.h>

#define WORD                 8u /* bytes, which are not torn */
#define DISORDER_PATIENCE_NS 2000000u
/* For a poll and a round of the links; twice what they take where processors share no cache. */
#define LOOKAHEAD_NS 1000u

uint64_t execute_lookahead(uint32_t slot, const struct work_request *request)
{
    struct ibv_sge mapped[MAX_SGE];

    if (request_has_response(request)) /* its requester's business */
        return 0;
    if (request->is_inline || !request->length)
        return LOOKAHEAD_NS;
    if (!shared_pages_map_list(slot, request, mapped))
        return UINT64_MAX;
    return LOOKAHEAD_NS + copy_cost(COPIER_PROCESS, PIECE_LEAST);
}

/* How much of `left` bytes, the last of which arrives at `end`, has arrived when a copy of it that
 * begins now is done; 0 if that is less than a piece. */
static uint32_t arrived_by_then(uint64_t bandwidth, enum copier copier, uint64_t now, uint32_t left,
                                uint64_t end)
{
    uint64_t picoseconds = bandwidth ? 1000000000000ull / bandwidth : 0; /* a byte, on the wire */
    uint32_t bytes = 0;

    while (bytes < left && bytes < PIECE_MAX) {
        uint32_t more = bytes + PIECE_LEAST < left ? bytes + PIECE_LEAST : left;

        if (now + copy_cost(copier, more) + (left - more) * picoseconds / 1000 < end)
            break;
        bytes = more;
    }
    return bytes;
}

/* The wait for too few is WAITING. Copies by the kernel are few and long, for what a call costs;
 * others follow the bytes as they come, as a device's do. */
bool piece_is_due(const struct queue_pair *qp, const struct work_request *request,
                  enum copier copier, uint64_t now, uint32_t *bytes)
{
    uint64_t end = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);
    uint32_t left = request->length - request->copied;

    if (end == TIME_UNKNOWN) {
        uint32_t least = copier == COPIER_PROCESS ? PIECE_LEAST : PIECE_MIN;

        left = (uint32_t) atomic_load_explicit(&request->flow_bytes, memory_order_acquire) -
               request->copied;
        left = left / least * least;
        end = atomic_load_explicit(&request->flow_ns, memory_order_relaxed);
    }
    if (copier == COPIER_PROCESS && !request->is_inline) {
        *bytes = arrived_by_then(qp->bandwidth, copier, now, left, end);
        return *bytes != 0;
    }
    *bytes = left < PIECE_MAX ? left : PIECE_MAX;
    return *bytes && now + (request->is_inline ? 0 : copy_cost(copier, *bytes)) >= end;
}

/* Whether some of the payload may be copied now, whoever it is that copies it. */
static bool any_is_due(const struct queue_pair *qp, const struct work_request *request,
                       uint64_t now)
{
    uint32_t bytes;

    return piece_is_due(qp, request, COPIER_PROCESS, now, &bytes) ||
           piece_is_due(qp, request, COPIER_KERNEL, now, &bytes);
}

bool is_due(const struct work_request *request, uint64_t now)
{
    uint64_t done = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);

    return done != TIME_UNKNOWN && now >= done;
}

void set_status(struct work_request *request, enum ibv_wc_status status)
{
    atomic_store_explicit(&request->status, status, memory_order_release);
}

/* The responder of a request that breaks the rules refuses it and goes into the error state. */
static enum outcome refuse(struct queue_pair *qp, struct work_request *request,
                           enum ibv_wc_status requester)
{
    report_at(2, "queue pair 0x%x refuses opcode %u from 0x%x: %s", qp->qp.qp_num, request->opcode,
              atomic_load(&qp->entry->peer), ibv_wc_status_str(requester));
    set_status(request, requester);
    if (requester == IBV_WC_REM_ACCESS_ERR)
        event_raise(qp->qp.context, IBV_EVENT_QP_ACCESS_ERR, &qp->qp);
    qp->broken = true;
    return WAITING;
}

bool left_to_requester(struct queue_pair *qp, struct node *peer, const struct work_request *request)
{
    uint64_t polls;
    bool moved;

    if (worker != AGENT || request->opcode != IBV_WR_RDMA_WRITE || peer == self.node ||
        fault_disorders())
        return false;
    polls = atomic_load_explicit(&peer->polls, memory_order_relaxed);
    moved = polls != qp->requester_polls;
    qp->requester_polls = polls;
    return moved;
}

bool disorder_by_requester(const struct work_request *request, struct node *peer)
{
    return fault_disorders() && request->opcode == IBV_WR_RDMA_WRITE &&
           request->length > (config.faults.overtake ? 0 : WORD) && peer != self.node;
}

/* Whether a write in disorder is the requester's to execute: it has some time for it. */
static bool awaits_disorder(const struct work_request *request, uint32_t slot, uint64_t now)
{
    uint64_t done = atomic_load_explicit(&request->flow_done_ns, memory_order_acquire);

    return disorder_by_requester(request, segment_node(slot)) &&
           (done == TIME_UNKNOWN || now < done + DISORDER_PATIENCE_NS);
}

/* Pulls the next pieces of a request's payload as far as they are due. 0 when all is in place,
 * EAGAIN if some is not due yet, otherwise what the copy failed with. */
static int pull(struct queue_pair *qp, struct queue_pair_entry *source,
                struct work_request *request, const struct memory_list *to, uint64_t *now)
{
    uint32_t slot = number_slot(atomic_load(&source->number));
    struct memory_list from = {
        .pid = atomic_load(&self.fabric->nodes[slot].pid),
        .n_sge = request->n_sge,
        .sge = request->sge,
    };
    struct ibv_sge mapped[MAX_SGE];
    enum copier copier = COPIER_KERNEL;

    if (!request->is_inline && shared_pages_map_list(slot, request, mapped)) {
        from.pid = self.pid;
        from.sge = mapped;
        copier = COPIER_PROCESS;
    }
    if (awaits_disorder(request, slot, *now))
        return EAGAIN;
    while (request->copied < request->length) {
        uint64_t begun = *now;
        uint32_t bytes;
        int err = 0;

        if (!piece_is_due(qp, request, copier, *now, &bytes))
            return EAGAIN;
        if (config.faults.order != ORDER_KEPT)
            err = disorder_copy(&qp->attr, to, request->is_inline ? NULL : &from,
                                request->inline_data, request->copied, bytes);
        else if (request->is_inline)
            copy_inline(to, request->inline_data + request->copied, request->copied, bytes);
        else if (worker != APPLICATION && to->n_sge == 1) /* the program may look meanwhile */
            err = copy_in_order(to, &from, request->copied, bytes);
        else
            err = copy_between(to, &from, request->copied, bytes);
        if (err)
            return err;
        request->copied += bytes;
        node_count_poll();
        *now = clock_now();
        if (copier == COPIER_PROCESS)
            copy_took(bytes, *now - begun);
        if (request->copied < request->length && left_to_requester(qp, segment_node(slot), request))
            return EAGAIN;
    }
    return is_due(request, *now) ? 0 : EAGAIN;
}

/* A copy failed: the requester's memory or process is gone, or this side's memory is. */
static enum outcome copy_failed(struct queue_pair *qp, struct work_request *request, int err)
{
    if (err == ESRCH) /* the requester has died; nobody waits for a response */
        return WAITING;
    report("stale registration: memory of opcode %u between queue pairs 0x%x and 0x%x is not "
           "mapped (%s)",
           request->opcode, atomic_load(&qp->entry->peer), qp->qp.qp_num, strerror(err));
    return refuse(qp, request, IBV_WC_REM_OP_ERR);
}

static bool take_receive(struct queue_pair *qp)
{
    struct receive_queue *queue = qp->receives;

    if (!qp->has_receive && !fault_hides_receives(queue->head, &queue->hidden_since_ns))
        qp->has_receive = receive_queue_take(qp->receives, &qp->receiving);
    return qp->has_receive;
}

/* No receive is posted: the requester backs off for this side's timer and tries again, as often as
 * its retry count allows. */
static enum outcome not_ready(struct queue_pair *qp, struct queue_pair_entry *source,
                              struct work_request *request, uint64_t now)
{
    static const uint32_t timer_us[32] = {
        655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
        480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
        20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
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

static void acknowledge(struct queue_pair_entry *source, struct work_request *request)
{
    source->rnr_tries = 0;
    set_status(request, IBV_WC_SUCCESS);
}

/* A request that succeeds is acknowledged first: who sees the receive may answer at once, and the
 * answer must not be there before the acknowledgement. The requester may reuse the request then. */
static void deliver_receive(struct queue_pair *qp, struct queue_pair_entry *source,
                            struct work_request *request, enum ibv_wc_status status)
{
    bool solicited = request->solicited || status;
    bool has_imm =
        request->opcode == IBV_WR_SEND_WITH_IMM || request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    struct ibv_wc wc = {
        .wr_id = qp->receiving.wr_id,
        .status = status,
        .opcode =
            request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
        .byte_len = request->length,
        .imm_data = request->imm_data,
        .qp_num = qp->qp.qp_num,
        .src_qp = atomic_load(&source->number),
        .wc_flags = has_imm ? IBV_WC_WITH_IMM : 0,
        .slid = (uint16_t) queue_pair_lid(source),
    };

    qp->has_receive = false;
    if (status == IBV_WC_SUCCESS)
        acknowledge(source, request);
    completion_push(to_completion_queue(qp->qp.recv_cq), &wc, solicited);
}

static enum outcome execute_send(struct queue_pair *qp, struct queue_pair_entry *source,
                                 struct work_request *request, uint64_t *now)
{
    struct memory_list to = {.pid = self.pid};
    uint64_t room = 0;
    int err;

    if (request->copied < request->length && !any_is_due(qp, request, *now))
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
    err = pull(qp, source, request, &to, now);
    if (err == EAGAIN)
        return WAITING;
    if (err)
        return copy_failed(qp, request, err);
    deliver_receive(qp, source, request, IBV_WC_SUCCESS);
    return EXECUTED;
}

static enum outcome execute_write(struct queue_pair *qp, struct queue_pair_entry *source,
                                  struct work_request *request, uint64_t *now)
{
    bool has_imm = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    struct ibv_sge target = {.length = request->length};
    struct memory_list to = {.pid = self.pid, .n_sge = 1, .sge = &target};
    int err;

    if (request->copied < request->length && !any_is_due(qp, request, *now))
        return WAITING;
    if (request->length) {
        bool allowed = atomic_load(&qp->entry->access) & IBV_ACCESS_REMOTE_WRITE;

        target.addr =
            memory_translate(self.node, qp->entry->domain, request->remote_key,
                             request->remote_addr, request->length, IBV_ACCESS_REMOTE_WRITE);
        if (!allowed || !target.addr) {
            memory_report_refusal(self.node, qp->entry, request, IBV_ACCESS_REMOTE_WRITE);
            return refuse(qp, request, IBV_WC_REM_ACCESS_ERR);
        }
    }
    err = pull(qp, source, request, &to, now);
    if (err == EAGAIN)
        return WAITING;
    if (err)
        return copy_failed(qp, request, err);
    if (has_imm) {
        if (!take_receive(qp))
            return not_ready(qp, source, request, *now);
        deliver_receive(qp, source, request, IBV_WC_SUCCESS);
    } else {
        acknowledge(source, request);
    }
    return EXECUTED;
}

enum outcome execute(struct queue_pair *qp, struct queue_pair_entry *source,
                     struct work_request *request, uint64_t *now)
{
    if (request_has_response(request))
        return EXECUTED;
    if (atomic_load_explicit(&request->status, memory_order_acquire) != REQUEST_PENDING)
        return WAITING; /* failed; the requester is about to flush */
    if (*now < source->rnr_until_ns)
        return WAITING;
    switch (request->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return execute_send(qp, source, request, now);
    default:
        return execute_write(qp, source, request, now);
    }
}
