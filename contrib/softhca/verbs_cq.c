/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Completion queues and channels as the application calls them. Polling an empty queue is what
 * drives the emulation.
 *
 * A channel is a pipe; each event in it is the address of the queue that fired.
 *
 * Owns nothing beside the queues, each of which is its application's. Any thread; entries are taken
 * under the queue's spin lock.
 */
#define _GNU_SOURCE

#include "agent.h"
#include "completion.h"
#include "config.h"
#include "engine.h"
#include "fault.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIN_ENTRIES 16

int verbs_poll_cq(struct ibv_cq *ibv_cq, int n, struct ibv_wc *wc)
{
    struct completion_queue *cq = to_completion_queue(ibv_cq);
    uint32_t head, tail;
    int taken = 0;

    if (fault_call(CALL_POLL_CQ))
        return -1;
    node_count_poll();
    if (!completion_has_entries(cq)) {
        engine_progress();
        if (!completion_has_entries(cq))
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

int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    completion_arm(to_completion_queue(cq), solicited_only);
    agent_application_blocks();
    return 0;
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

    if (fault_call(CALL_RESIZE_CQ))
        return errno;
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
        cq->capacity = fault_completion_entries((uint32_t) cqe);
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
