/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Asynchronous events. Each open context has a pipe; a record in it is an event that the
 * application has not taken yet.
 *
 * Owns the list of open contexts, under its mutex. A pipe takes records from any thread: a write of
 * one is atomic. One that is full loses the event, which is reported.
 */
#define _GNU_SOURCE

#include "event.h"
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t contexts_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct device_context *contexts;

struct async_record {
    void *element;
    uint64_t type;
};

void event_open(struct device_context *context)
{
    pthread_mutex_lock(&contexts_mutex);
    context->next = contexts;
    contexts = context;
    pthread_mutex_unlock(&contexts_mutex);
}

void event_close(struct device_context *context)
{
    struct device_context **link;

    pthread_mutex_lock(&contexts_mutex);
    for (link = &contexts; *link && *link != context; link = &(*link)->next)
        ;
    if (*link)
        *link = context->next;
    pthread_mutex_unlock(&contexts_mutex);
}

void event_reset(void)
{
    contexts = NULL;
}

void event_raise(struct ibv_context *context, enum ibv_event_type type, void *element)
{
    struct async_record record = {.element = element, .type = type};

    if (write(to_device_context(context)->async_write_fd, &record, sizeof(record)) !=
        sizeof(record))
        report("async event %d: %s", type, strerror(errno));
}

void event_of_port(uint32_t port, enum ibv_event_type type)
{
    const struct device_setting *device = config_device(port);
    uintptr_t number = port - device->first_port + 1;

    pthread_mutex_lock(&contexts_mutex);
    for (struct device_context *context = contexts; context; context = context->next) {
        if (device_setting(&context->verbs.context) == device)
            event_raise(&context->verbs.context, type, (void *) number);
    }
    pthread_mutex_unlock(&contexts_mutex);
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    struct async_record record;
    ssize_t n;

    do {
        n = read(context->async_fd, &record, sizeof(record));
    } while (n < 0 && errno == EINTR);
    if (n != sizeof(record))
        return -1;
    event->event_type = record.type;
    event->element.qp = record.element; /* a union of pointers */
    return 0;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void) event;
}
