/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The requester's part in reads and atomics: it takes the response out of the target's memory when
 * the response is due, once the target is done with everything posted before. Atomics on one node
 * exclude each other by the node's lock.
 *
 * Owns next_read and reads_end of its queue pairs, under the progress lock. "executed" moves under
 * "executing". Reads and atomics are executed by their requester alone, so their status and
 * "copied" need no lock.
 */
#define _GNU_SOURCE

#include "clock.h"
#include "copy.h"
#include "execute.h"
#include "link.h"
#include "memory.h"

#include <errno.h>
#include <string.h>

/* Reads and atomics that the target has left to the requester count as executed. */
static void skip_reads(struct queue_pair *qp, struct node *owner)
{
    struct queue_pair_entry *entry = qp->entry;

    if (!shared_trylock(&entry->executing))
        return;
    for (;;) {
        uint64_t count = atomic_load_explicit(&entry->executed, memory_order_relaxed);

        if (count >= atomic_load(&entry->posted) ||
            !request_has_response(request_slot(owner, entry, count)))
            break;
        atomic_store(&entry->executed, count + 1);
    }
    shared_unlock(&entry->executing);
}

/* The same for those behind which nothing is to be executed here. A requester of writes alone
 * leaves the line of "executed" and its lock with the target, which takes the lock at every piece.
 */
static void skip_last_reads(struct queue_pair *qp)
{
    if (!qp->reads_end)
        return;
    if (atomic_load_explicit(&qp->entry->executed, memory_order_acquire) < qp->reads_end)
        skip_reads(qp, self.node);
    else
        qp->reads_end = 0;
}

static uint32_t do_atomic(int32_t pid, uint64_t addr, struct work_request *request)
{
    struct ibv_sge remote = {.addr = addr, .length = 8};
    uint64_t old = 0, new = 0;
    struct ibv_sge local = {.addr = (uintptr_t) &old, .length = 8};
    struct memory_list theirs = {.pid = pid, .n_sge = 1, .sge = &remote};
    struct memory_list ours = {.pid = self.pid, .n_sge = 1, .sge = &local};
    bool store = true;
    int err;

    shared_lock_take(&self.fabric->atomics);
    err = copy_between(&ours, &theirs, 0, 8);
    if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        new = old + request->compare_add;
    } else {
        new = request->swap;
        store = old == request->compare_add;
    }
    local.addr = (uintptr_t) & new;
    if (!err && store)
        err = copy_between(&theirs, &ours, 0, 8);
    shared_unlock(&self.fabric->atomics);
    if (err)
        return err == ESRCH ? REQUEST_PENDING : IBV_WC_REM_OP_ERR;
    memcpy((void *) (uintptr_t) request->sge[0].addr, &old, 8);
    return IBV_WC_SUCCESS;
}

/* Executes a read or atomic whose turn it is; REQUEST_PENDING while it waits. */
static uint32_t execute_read(struct queue_pair *qp, struct work_request *request, uint64_t *now)
{
    uint32_t peer = atomic_load(&qp->entry->peer);
    struct queue_pair_entry *target = segment_queue_pair(peer);
    struct node *node = segment_node(number_slot(peer));
    bool is_read = request->opcode == IBV_WR_RDMA_READ;
    unsigned access = is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_ATOMIC;
    struct ibv_sge remote = {.length = request->length};
    struct memory_list from = {.n_sge = 1, .sge = &remote};
    struct memory_list to = {.pid = self.pid, .n_sge = request->n_sge, .sge = request->sge};
    uint32_t bytes;
    int err = 0;

    if (request->length && !(request->copied == request->length) &&
        !piece_is_due(qp, request, COPIER_KERNEL, *now, &bytes))
        return REQUEST_PENDING;
    if (!target || !are_connected(qp->entry, target) ||
        (atomic_load(&target->state) != IBV_QPS_RTR && atomic_load(&target->state) != IBV_QPS_RTS))
        return REQUEST_PENDING;
    if (request->length) {
        remote.addr = memory_translate(node, target->domain, request->remote_key,
                                       request->remote_addr, request->length, access);
        if (!(atomic_load(&target->access) & access) || !remote.addr) {
            memory_report_refusal(node, target, request, access);
            return IBV_WC_REM_ACCESS_ERR;
        }
        if (!is_read && request->remote_addr % 8)
            return IBV_WC_REM_INV_REQ_ERR;
    }
    from.pid = atomic_load(&self.fabric->nodes[number_slot(peer)].pid);
    while (request->copied < request->length) {
        if (!piece_is_due(qp, request, COPIER_KERNEL, *now, &bytes))
            return REQUEST_PENDING;
        if (is_read) {
            err = copy_between(&to, &from, request->copied, bytes);
        } else {
            uint32_t status = do_atomic(from.pid, remote.addr, request);

            if (status != IBV_WC_SUCCESS)
                return status;
        }
        if (err)
            return err == ESRCH ? REQUEST_PENDING : IBV_WC_REM_OP_ERR;
        request->copied += bytes;
        node_count_poll();
        *now = clock_now();
    }
    return is_due(request, *now) ? IBV_WC_SUCCESS : REQUEST_PENDING;
}

void execute_reads(struct queue_pair *qp, uint64_t *now)
{
    struct queue_pair_entry *entry = qp->entry;
    uint64_t posted = atomic_load_explicit(&entry->posted, memory_order_acquire);
    uint64_t retired = atomic_load_explicit(&entry->retired, memory_order_relaxed);

    if (qp->next_read < retired)
        qp->next_read = retired;
    for (; qp->next_read < posted; qp->next_read++) {
        struct work_request *request = request_slot(self.node, entry, qp->next_read);
        uint32_t status;

        if (!request_has_response(request))
            continue;
        qp->reads_end = qp->next_read + 1;
        if (atomic_load_explicit(&request->status, memory_order_relaxed) != REQUEST_PENDING)
            continue;
        link_look_ahead(UINT64_MAX);
        if (atomic_load_explicit(&entry->executed, memory_order_acquire) < qp->next_read)
            skip_reads(qp, self.node);
        if (atomic_load_explicit(&entry->executed, memory_order_acquire) < qp->next_read)
            return;
        status = execute_read(qp, request, now);
        if (status == REQUEST_PENDING)
            return;
        set_status(request, status);
    }
    skip_last_reads(qp);
}
