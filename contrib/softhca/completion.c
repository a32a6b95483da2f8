/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Completion queues and channels, as those see them that complete requests. A queue is private to
 * its process: the process itself executes or retires whatever completes in it.
 *
 * A channel is a pipe; each event in it is the address of the queue that fired.
 *
 * States of arming:
 *
 *   CQ_UNARMED            entries raise no event
 *   CQ_ARMED              the next entry raises one       -> CQ_UNARMED
 *   CQ_ARMED_SOLICITED    the next solicited or failed one does   -> CQ_UNARMED
 *
 * Invariants: tail - head <= capacity; a queue that was overrun takes no more entries, ever. Any
 * thread; head, tail and arming change under the queue's spin lock, and tail is stored with release
 * after its entry, so that who polls may look without the lock.
 */
#define _GNU_SOURCE

#include "completion.h"
#include "config.h"
#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic bool any_overrun;

bool completion_overrun(void)
{
    return atomic_load_explicit(&any_overrun, memory_order_relaxed) &&
           atomic_exchange(&any_overrun, false);
}

static void notify(struct completion_queue *cq)
{
    struct completion_channel *channel = (struct completion_channel *) cq->cq.channel;

    if (channel && write(channel->write_fd, &cq, sizeof(cq)) != sizeof(cq))
        report("completion channel: %s", strerror(errno));
}

void completion_push(struct completion_queue *cq, const struct ibv_wc *wc, bool solicited)
{
    uint32_t tail;
    bool fire = false, first_overrun = false;

    pthread_spin_lock(&cq->lock);
    tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
    if (cq->overrun ||
        tail - atomic_load_explicit(&cq->head, memory_order_relaxed) >= cq->capacity) {
        first_overrun = !cq->overrun;
        cq->overrun = true;
    } else {
        cq->entries[tail % cq->capacity] = *wc;
        atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
        fire = cq->arming == CQ_ARMED || (cq->arming == CQ_ARMED_SOLICITED && solicited);
        if (fire) {
            cq->arming = CQ_UNARMED;
            cq->announced = tail + 1;
        }
    }
    pthread_spin_unlock(&cq->lock);
    if (first_overrun) {
        report("completion queue of %u entries overrun: completions are lost", cq->capacity);
        atomic_store(&any_overrun, true);
        event_raise(cq->cq.context, IBV_EVENT_CQ_ERR, &cq->cq);
    }
    if (fire)
        notify(cq);
}

void completion_push_flushed(struct completion_queue *cq, uint64_t wr_id, uint32_t number,
                             enum ibv_wc_opcode opcode)
{
    struct ibv_wc wc = {
        .wr_id = wr_id, .status = IBV_WC_WR_FLUSH_ERR, .opcode = opcode, .qp_num = number};

    completion_push(cq, &wc, true);
}

/* What came since the last event and is still there fires at once: programs that poll before they
 * arm rely on it. What that event announced does not: programs that arm before they poll would be
 * woken once more for nothing. */
void completion_arm(struct completion_queue *cq, bool solicited_only)
{
    uint32_t tail;
    bool fire;

    pthread_spin_lock(&cq->lock);
    tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
    fire = completion_has_entries(cq) && tail != cq->announced;
    if (fire)
        cq->announced = tail;
    cq->arming = fire ? CQ_UNARMED : solicited_only ? CQ_ARMED_SOLICITED : CQ_ARMED;
    pthread_spin_unlock(&cq->lock);
    if (fire)
        notify(cq);
}

void completion_purge(struct completion_queue *cq, uint32_t queue_pair)
{
    uint32_t head, tail, kept;

    pthread_spin_lock(&cq->lock);
    head = kept = atomic_load_explicit(&cq->head, memory_order_relaxed);
    tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
    for (; head != tail; head++) {
        if (cq->entries[head % cq->capacity].qp_num != queue_pair)
            cq->entries[kept++ % cq->capacity] = cq->entries[head % cq->capacity];
    }
    atomic_store_explicit(&cq->tail, kept, memory_order_release);
    pthread_spin_unlock(&cq->lock);
}
