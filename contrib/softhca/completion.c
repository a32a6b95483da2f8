/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Completion queues and channels. A queue is private to its process: the process itself carries out
 * or retires whatever completes in it. Polling an empty queue is what drives the emulation.
 *
 * A channel is a pipe; each event in it is the address of the queue that fired.
 */
#define _GNU_SOURCE

#include "clock.h"
#include "config.h"
#include "engine.h"
#include "event.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIN_ENTRIES 16

static _Atomic bool any_overrun;

bool completion_overrun(void)
{
    return atomic_load_explicit(&any_overrun, memory_order_relaxed) &&
           atomic_exchange(&any_overrun, false);
}

static bool has_entries(struct completion_queue *cq)
{
    return atomic_load_explicit(&cq->tail, memory_order_acquire) !=
           atomic_load_explicit(&cq->head, memory_order_relaxed);
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

int completion_poll(struct ibv_cq *ibv_cq, int n, struct ibv_wc *wc)
{
    struct completion_queue *cq = to_completion_queue(ibv_cq);
    uint32_t head, tail;
    int taken = 0;

    if (fault_call(CALL_POLL_CQ))
        return -1;
    node_shows_life();
    if (!has_entries(cq)) {
        engine_progress();
        if (!has_entries(cq))
            return 0;
    }
    pthread_spin_lock(&cq->lock);
    head = atomic_load_explicit(&cq->head, memory_order_relaxed);
    tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
    for (; taken < n && head != tail; head++)
        wc[taken++] = cq->entries[head % cq->capacity];
    atomic_store_explicit(&cq->head, head, memory_order_relaxed);
    pthread_spin_unlock(&cq->lock);
    return taken;
}

/* What came since the last event and is still there fires at once: programs that poll before they
 * arm rely on it. What that event announced does not: programs that arm before they poll would be
 * woken once more for nothing. */
int completion_request_notify(struct ibv_cq *ibv_cq, int solicited_only)
{
    struct completion_queue *cq = to_completion_queue(ibv_cq);
    uint32_t tail;
    bool fire;

    pthread_spin_lock(&cq->lock);
    tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
    fire = has_entries(cq) && tail != cq->announced;
    if (fire)
        cq->announced = tail;
    cq->arming = fire ? CQ_UNARMED : solicited_only ? CQ_ARMED_SOLICITED : CQ_ARMED;
    pthread_spin_unlock(&cq->lock);
    if (fire)
        notify(cq);
    agent_expect();
    return 0;
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

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                    struct ibv_comp_channel *channel, int comp_vector)
{
    struct completion_queue *cq;

    if (fault_call(CALL_CREATE_CQ))
        return NULL;
    if (cqe < 1 || (unsigned) cqe > device_setting(context)->model->max_cqe || comp_vector < 0 ||
        comp_vector >= context->num_comp_vectors) {
        errno = EINVAL;
        return NULL;
    }
    /* Devices round up, and programs have come to rely on it. */
    if (cqe < MIN_ENTRIES)
        cqe = MIN_ENTRIES;
    cq = calloc(1, sizeof(*cq));
    if (cq)
        cq->entries = calloc((size_t) cqe, sizeof(*cq->entries));
    if (!cq || !cq->entries) {
        free(cq);
        errno = ENOMEM;
        return NULL;
    }
    cq->capacity = fault_completion_entries((uint32_t) cqe);
    pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
    cq->cq.context = context;
    cq->cq.channel = channel;
    cq->cq.cq_context = cq_context;
    cq->cq.cqe = cqe;
    pthread_mutex_init(&cq->cq.mutex, NULL);
    pthread_cond_init(&cq->cq.cond, NULL);
    if (channel)
        channel->refcnt++;
    return &cq->cq;
}

EXPORT int ibv_resize_cq(struct ibv_cq *ibv_cq, int cqe)
{
    struct completion_queue *cq = to_completion_queue(ibv_cq);
    struct ibv_wc *entries, *old = NULL;
    uint32_t head, tail, n = 0;
    int err = EINVAL;

    if (cqe < 1 || (unsigned) cqe > device_setting(ibv_cq->context)->model->max_cqe)
        return EINVAL;
    entries = calloc((size_t) cqe, sizeof(*entries));
    if (!entries)
        return ENOMEM;
    pthread_spin_lock(&cq->lock);
    head = atomic_load_explicit(&cq->head, memory_order_relaxed);
    tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
    if (tail - head <= (uint32_t) cqe) {
        for (; head != tail; head++)
            entries[n++] = cq->entries[head % cq->capacity];
        old = cq->entries;
        cq->entries = entries;
        cq->capacity = (uint32_t) cqe;
        atomic_store_explicit(&cq->head, 0, memory_order_relaxed);
        atomic_store_explicit(&cq->tail, n, memory_order_release);
        cq->cq.cqe = cqe;
        err = 0;
    }
    pthread_spin_unlock(&cq->lock);
    free(err ? entries : old);
    return err;
}

/* Takes the events of a queue that goes away out of its channel. */
static void forget_events(struct completion_channel *channel, struct completion_queue *gone)
{
    struct pollfd readable = {.fd = channel->channel.fd, .events = POLLIN};
    struct completion_queue *kept[64], *cq;
    unsigned n = 0;

    while (n < 64 && poll(&readable, 1, 0) == 1 &&
           read(channel->channel.fd, &cq, sizeof(cq)) == sizeof(cq)) {
        if (cq != gone)
            kept[n++] = cq;
    }
    for (unsigned i = 0; i < n; i++) {
        if (write(channel->write_fd, &kept[i], sizeof(cq)) != sizeof(cq))
            report("completion channel: %s", strerror(errno));
    }
}

EXPORT int ibv_destroy_cq(struct ibv_cq *ibv_cq)
{
    struct completion_queue *cq = to_completion_queue(ibv_cq);

    engine_lock(); /* nobody is about to push */
    engine_unlock();
    if (ibv_cq->channel) {
        forget_events((struct completion_channel *) ibv_cq->channel, cq);
        ibv_cq->channel->refcnt--;
    }
    pthread_spin_destroy(&cq->lock);
    free(cq->entries);
    free(cq);
    return 0;
}

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct completion_channel *channel = calloc(1, sizeof(*channel));
    int ends[2];

    if (!channel)
        return NULL;
    if (pipe2(ends, O_CLOEXEC)) {
        free(channel);
        return NULL;
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    channel->channel.context = context;
    channel->channel.fd = ends[0];
    channel->write_fd = ends[1];
    return &channel->channel;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    if (channel->refcnt)
        return EBUSY;
    close(channel->fd);
    close(((struct completion_channel *) channel)->write_fd);
    free(channel);
    return 0;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    struct ibv_cq *fired;
    ssize_t n;

    do {
        n = read(channel->fd, &fired, sizeof(fired));
    } while (n < 0 && errno == EINTR);
    if (n != sizeof(fired))
        return -1;
    *cq = fired;
    *cq_context = fired->cq_context;
    return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
    cq->comp_events_completed += n;
}
