/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A listener's inside: for listener.c, and for the fuzzer that drives it without a thread.
 *
 * Threads: `armed` is set by anybody; the thread clears it before the tick looks at anything.
 * Whoever finds it set may leave it at that: its release pairs with the thread's acquire.
 */
#ifndef RBUF_CONNECT_LISTENER_PRIVATE_H
#define RBUF_CONNECT_LISTENER_PRIVATE_H

#include "connect/event_queue.h"
#include "connect/listening.h"

struct rbuf_listener {
    struct rbuf_connect_context context;
    struct rbuf_event_queue queue;
    pthread_t thread;
    struct rbuf_listening listening;
    struct event *wake;
    struct event *tick;
    atomic_bool armed; /* the tick is due */
};

#endif
