/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The two queues between users and the listener's thread, and the mutex that guards both
 * (event_queue.h). An eventfd wakes the thread for a command.
 */
#include "connect/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/close_on_fork.h"

int rbuf_event_queue_open(struct rbuf_event_queue *queue)
{
    *queue = (struct rbuf_event_queue){0};
    rbuf_close_on_fork_begin();
    queue->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    rbuf_close_on_fork_mark(queue->wake_fd);
    rbuf_close_on_fork_end();
    if (queue->wake_fd < 0) {
        return -errno;
    }
    STAILQ_INIT(&queue->commands);
    TAILQ_INIT(&queue->events);
    (void) pthread_mutex_init(&queue->mutex, NULL);
    return 0;
}

/* Takes an event off the queue; the mutex is held. */
static void take(struct rbuf_event_queue *queue, struct rbuf_connect_event *event)
{
    TAILQ_REMOVE(&queue->events, event, link);
    atomic_fetch_sub_explicit(&queue->pending, 1, memory_order_relaxed);
}

void rbuf_event_queue_close(struct rbuf_event_queue *queue)
{
    struct rbuf_connect_event *event;

    while ((event = TAILQ_FIRST(&queue->events)) != NULL) {
        take(queue, event);
        rbuf_connect_event_free(event);
    }
    (void) pthread_mutex_destroy(&queue->mutex);
    rbuf_close_on_fork_close(queue->wake_fd);
}

void rbuf_event_queue_wake(struct rbuf_event_queue *queue)
{
    const uint64_t one = 1;

    (void) !write(queue->wake_fd, &one, sizeof(one));
}

struct rbuf_connect_event *
rbuf_event_queue_pick(struct rbuf_event_queue *queue,
                      bool (*wanted)(const struct rbuf_connect_event *event, void *context),
                      void *context)
{
    struct rbuf_connect_event *event;

    if (!rbuf_event_queue_pending(queue)) {
        return NULL;
    }
    (void) pthread_mutex_lock(&queue->mutex);
    TAILQ_FOREACH(event, &queue->events, link)
    {
        /* As of now: a requester may have been lost before it was accepted. */
        event->user = event->connection->user;
        if (wanted == NULL || wanted(event, context)) {
            take(queue, event);
            break;
        }
    }
    (void) pthread_mutex_unlock(&queue->mutex);
    return event;
}

/* The mutex is held. */
static void queue_command(struct rbuf_event_queue *queue, struct rbuf_command *command,
                          enum rbuf_command_kind kind)
{
    command->kind = kind;
    STAILQ_INSERT_TAIL(&queue->commands, command, link);
}

void rbuf_event_queue_command(struct rbuf_command *command, enum rbuf_command_kind kind)
{
    struct rbuf_event_queue *queue = command->connection->context->events;

    (void) pthread_mutex_lock(&queue->mutex);
    queue_command(queue, command, kind);
    (void) pthread_mutex_unlock(&queue->mutex);
    rbuf_event_queue_wake(queue);
}

void rbuf_event_queue_set_user(struct rbuf_connection *connection, void *user)
{
    struct rbuf_event_queue *queue = connection->context->events;

    (void) pthread_mutex_lock(&queue->mutex);
    connection->user = user;
    (void) pthread_mutex_unlock(&queue->mutex);
}

/* The mutex is held. */
static void drop_events(struct rbuf_event_queue *queue, const struct rbuf_connection *connection)
{
    struct rbuf_connect_event *event, *next;

    for (event = TAILQ_FIRST(&queue->events); event != NULL; event = next) {
        next = TAILQ_NEXT(event, link);
        if (event->connection == connection) {
            take(queue, event);
            rbuf_connect_event_free(event);
        }
    }
}

void rbuf_event_queue_abandon(struct rbuf_connection *connection, enum rbuf_command_kind kind,
                              enum rbuf_reject_reason reason)
{
    struct rbuf_event_queue *queue = connection->context->events;

    (void) pthread_mutex_lock(&queue->mutex);
    connection->abandoned = true;
    connection->end.reason = reason;
    drop_events(queue, connection);
    queue_command(queue, &connection->end, kind);
    (void) pthread_mutex_unlock(&queue->mutex);
    rbuf_event_queue_wake(queue);
}

void rbuf_event_queue_stop(struct rbuf_event_queue *queue)
{
    (void) pthread_mutex_lock(&queue->mutex);
    queue->closing = true;
    (void) pthread_mutex_unlock(&queue->mutex);
    rbuf_event_queue_wake(queue);
}

bool rbuf_event_queue_take(struct rbuf_event_queue *queue, struct rbuf_command_list *commands)
{
    uint64_t count;
    bool closing;

    (void) !read(queue->wake_fd, &count, sizeof(count));
    (void) pthread_mutex_lock(&queue->mutex);
    STAILQ_CONCAT(commands, &queue->commands);
    closing = queue->closing;
    (void) pthread_mutex_unlock(&queue->mutex);
    return closing;
}

void rbuf_event_queue_push(struct rbuf_connect_event *event, enum rbuf_connect_event_kind kind)
{
    struct rbuf_event_queue *queue = event->connection->context->events;

    event->kind = kind;
    (void) pthread_mutex_lock(&queue->mutex);
    if (event->connection->abandoned) {
        rbuf_connect_event_free(event);
    } else {
        TAILQ_INSERT_TAIL(&queue->events, event, link);
        atomic_fetch_add_explicit(&queue->pending, 1, memory_order_release);
    }
    (void) pthread_mutex_unlock(&queue->mutex);
}
