/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Between a listener's thread and its users: commands one way, events the other, under one mutex.
 *
 * Invariants: `pending` is the number of events queued. Once a connection is abandoned the queue
 * has no event of it, and takes none.
 *
 * Threads: users call the functions of the first part, the listener's thread those of the second.
 */
#ifndef RBUF_CONNECT_EVENT_QUEUE_H
#define RBUF_CONNECT_EVENT_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "connect/connection.h"

struct rbuf_event_queue {
    int wake_fd; /* eventfd; written by users, read by the thread */

    /* Under the mutex, but `pending` is read without: its release in rbuf_event_queue_push() pairs
     * with the acquire in rbuf_event_queue_pending(), after which the mutex is taken. */
    pthread_mutex_t mutex;
    struct rbuf_command_list commands;
    struct rbuf_connect_event_list events;
    bool closing;
    _Atomic uint32_t pending;
};

/* 0 or a negative errno. */
int rbuf_event_queue_open(struct rbuf_event_queue *queue);

/* Frees the events that are left. The thread is gone. */
void rbuf_event_queue_close(struct rbuf_event_queue *queue);

/* --- users --- */

static inline bool rbuf_event_queue_pending(const struct rbuf_event_queue *queue)
{
    return atomic_load_explicit(&queue->pending, memory_order_acquire) != 0;
}

/* See rbuf_listener_pick(). */
struct rbuf_connect_event *
rbuf_event_queue_pick(struct rbuf_event_queue *queue,
                      bool (*wanted)(const struct rbuf_connect_event *event, void *context),
                      void *context);

/* Hands a command of a connection's to the thread. */
void rbuf_event_queue_command(struct rbuf_command *command, enum rbuf_command_kind kind);

/* What the connection's events bear from now on. */
void rbuf_event_queue_set_user(struct rbuf_connection *connection, void *user);

/* Drops the connection's events and hands the thread its end command. */
void rbuf_event_queue_abandon(struct rbuf_connection *connection, enum rbuf_command_kind kind,
                              enum rbuf_reject_reason reason);

/* The thread is to end. */
void rbuf_event_queue_stop(struct rbuf_event_queue *queue);

/* Has the thread look at the queue. */
void rbuf_event_queue_wake(struct rbuf_event_queue *queue);

/* --- the thread --- */

/* Moves all commands to `commands`. True: the listener is closing. */
bool rbuf_event_queue_take(struct rbuf_event_queue *queue, struct rbuf_command_list *commands);

/* Queues an event, or frees it if the user has ended the connection. */
void rbuf_event_queue_push(struct rbuf_connect_event *event, enum rbuf_connect_event_kind kind);

#endif
