/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The two queues between users and the listener's thread, and the mutex that guards both
 * (event_queue.h), and what users answer to events (event.h). An eventfd wakes the thread for a
 * command.
 */
#include "connect/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/close_on_fork.h"
#include "connect/connection.h"

const char *rbuf_connect_event_name(enum rbuf_connect_event_kind kind)
{
    static const char *const names[] = {RBUF_CONNECT_EVENTS(RBUF_STATE_NAME)};

    return kind < RBUF_CONNECT_EVENT_KINDS ? names[kind] : "unknown";
}

int rbuf_event_queue_open(struct rbuf_event_queue *queue)
{
    STAILQ_INIT(&queue->commands);
    TAILQ_INIT(&queue->events);
    (void) pthread_mutex_init(&queue->mutex, NULL);
    rbuf_close_on_fork_begin();
    queue->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    rbuf_close_on_fork_mark(queue->wake_fd);
    rbuf_close_on_fork_end();
    return queue->wake_fd < 0 ? -errno : 0;
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
        free(event);
    }
    (void) pthread_mutex_destroy(&queue->mutex);
    rbuf_close_on_fork_close(queue->wake_fd);
}

/* ---- users ---- */

/* No wake is lost. What it is for is on the queue before the eventfd counts, and the thread reads
 * the eventfd before it looks at the queue: so it finds that, or its read came before the write.
 * Then the eventfd is readable still, and libevent asks for its level, not for edges: the thread
 * looks again, wherever it was meanwhile, also if it had not begun. write() only fails where the
 * count is at its end, which is readable, too. */
void rbuf_event_queue_wake(struct rbuf_event_queue *queue)
{
    const uint64_t one = 1;

    (void) !write(queue->wake_fd, &one, sizeof(one));
}

bool rbuf_listener_pending(const struct rbuf_listener *listener)
{
    return atomic_load_explicit(&listener->queue.pending, memory_order_acquire) != 0;
}

struct rbuf_connect_event *rbuf_listener_next(struct rbuf_listener *listener)
{
    return rbuf_listener_pick(listener, NULL, NULL);
}

struct rbuf_connect_event *rbuf_listener_pick(struct rbuf_listener *listener,
                                              bool (*wanted)(const struct rbuf_connect_event *event,
                                                             void *context),
                                              void *context)
{
    struct rbuf_event_queue *queue = &listener->queue;
    struct rbuf_connect_event *event;

    if (!rbuf_listener_pending(listener)) {
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

void rbuf_event_queue_command(struct rbuf_command *command, enum rbuf_command_kind kind)
{
    struct rbuf_event_queue *queue = &command->connection->listener->queue;

    command->kind = kind;
    (void) pthread_mutex_lock(&queue->mutex);
    STAILQ_INSERT_TAIL(&queue->commands, command, link);
    (void) pthread_mutex_unlock(&queue->mutex);
    rbuf_event_queue_wake(queue);
}

void rbuf_connection_establish(struct rbuf_connection *connection)
{
    rbuf_event_queue_command(&connection->answer, RBUF_COMMAND_ESTABLISH);
}

void rbuf_connection_accept(struct rbuf_connection *connection, const struct rbuf_exchange *mine,
                            void *user)
{
    struct rbuf_event_queue *queue = &connection->listener->queue;

    connection->mine = *mine;
    memcpy(connection->mine.side.token, connection->listener->token, RBUF_TOKEN_BYTES);
    (void) pthread_mutex_lock(&queue->mutex);
    connection->user = user;
    (void) pthread_mutex_unlock(&queue->mutex);
    rbuf_event_queue_command(&connection->answer, RBUF_COMMAND_ACCEPT);
}

void rbuf_connection_disconnect(struct rbuf_connection *connection)
{
    rbuf_event_queue_command(&connection->disconnect, RBUF_COMMAND_DISCONNECT);
}

/* Drops the connection's events: there will be no others. */
static void abandon(struct rbuf_connection *connection)
{
    struct rbuf_event_queue *queue = &connection->listener->queue;
    struct rbuf_connect_event *event, *next;

    (void) pthread_mutex_lock(&queue->mutex);
    connection->abandoned = true;
    for (event = TAILQ_FIRST(&queue->events); event != NULL; event = next) {
        next = TAILQ_NEXT(event, link);
        if (event->connection == connection) {
            take(queue, event);
            free(event);
        }
    }
    (void) pthread_mutex_unlock(&queue->mutex);
}

void rbuf_connection_reject(struct rbuf_connection *connection, enum rbuf_reject_reason reason)
{
    abandon(connection);
    connection->end.reason = reason;
    rbuf_event_queue_command(&connection->end, RBUF_COMMAND_REJECT);
}

void rbuf_connection_close(struct rbuf_connection *connection)
{
    abandon(connection);
    rbuf_event_queue_command(&connection->end, RBUF_COMMAND_CLOSE);
}

void rbuf_event_queue_stop(struct rbuf_event_queue *queue)
{
    (void) pthread_mutex_lock(&queue->mutex);
    queue->closing = true;
    (void) pthread_mutex_unlock(&queue->mutex);
    rbuf_event_queue_wake(queue);
}

/* ---- the thread ---- */

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
    struct rbuf_event_queue *queue = &event->connection->listener->queue;

    event->kind = kind;
    (void) pthread_mutex_lock(&queue->mutex);
    if (event->connection->abandoned) {
        free(event);
    } else {
        TAILQ_INSERT_TAIL(&queue->events, event, link);
        atomic_fetch_add_explicit(&queue->pending, 1, memory_order_release);
    }
    (void) pthread_mutex_unlock(&queue->mutex);
}
