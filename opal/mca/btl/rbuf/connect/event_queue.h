/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Between a listener's thread and its users: commands one way, events the other, under one mutex.
 * The users' functions are those of event.h.
 *
 * Invariants: `pending` is the number of events queued. Once a connection is abandoned the queue
 * has no event of it, and takes none.
 *
 * Threads: each function below says whose it is.
 */
#ifndef RBUF_CONNECT_EVENT_QUEUE_H
#define RBUF_CONNECT_EVENT_QUEUE_H

#include <pthread.h>

#include "connect/event.h"

enum rbuf_command_kind {
    RBUF_COMMAND_CONNECT,
    RBUF_COMMAND_ACCEPT,
    RBUF_COMMAND_ESTABLISH,
    RBUF_COMMAND_DISCONNECT,
    RBUF_COMMAND_REJECT,
    RBUF_COMMAND_CLOSE
};

/* A connection gets at most one command of each of four groups: CONNECT; ACCEPT or ESTABLISH;
 * DISCONNECT; REJECT or CLOSE. So it has room for all of them, and queueing one cannot fail. */
struct rbuf_command {
    enum rbuf_command_kind kind;
    enum rbuf_reject_reason reason; /* REJECT */
    struct rbuf_connection *connection;
    STAILQ_ENTRY(rbuf_command) link;
};

STAILQ_HEAD(rbuf_command_list, rbuf_command);
TAILQ_HEAD(rbuf_connect_event_list, rbuf_connect_event);

struct rbuf_event_queue {
    int wake_fd; /* eventfd; written by users, read by the thread */

    /* Under the mutex, but `pending` is read without: its release in rbuf_event_queue_push() pairs
     * with the acquire in rbuf_listener_pending(), after which the mutex is taken. */
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

/* Users: hands a command of a connection's to the thread. */
void rbuf_event_queue_command(struct rbuf_command *command, enum rbuf_command_kind kind);

/* Users: the thread is to end. */
void rbuf_event_queue_stop(struct rbuf_event_queue *queue);

/* Users: has the thread look at the queue. */
void rbuf_event_queue_wake(struct rbuf_event_queue *queue);

/* The thread: moves all commands to `commands`. True: the listener is closing, and there will be no
 * others. */
bool rbuf_event_queue_take(struct rbuf_event_queue *queue, struct rbuf_command_list *commands);

/* The thread: queues an event, or frees it if the user has ended the connection. */
void rbuf_event_queue_push(struct rbuf_connect_event *event, enum rbuf_connect_event_kind kind);

#endif
