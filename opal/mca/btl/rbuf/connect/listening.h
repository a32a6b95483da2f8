/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The sockets that a process listens on, one an address of the machine: bound to a port of the
 * range, and what TCP accepts is handed to the handshake.
 *
 *     accepting -no place, or no descriptor is left-> paused -PAUSE_MS-> accepting
 *
 * Paused, new connections wait in the system's backlog and the thread does not spin.
 *
 * Threads: opened and closed without the listener's thread, else that thread's.
 */
#ifndef RBUF_CONNECT_LISTENING_H
#define RBUF_CONNECT_LISTENING_H

#include "common/problem.h"
#include "connect/connection.h"

struct rbuf_listening_socket {
    int fd;
    struct event *event;
};

struct rbuf_listening {
    struct rbuf_connect_context *context;
    struct rbuf_listening_socket socket[RBUF_ADDRESSES_MAX];
    unsigned count;
    struct event *resume; /* accepting again after a pause */
};

/* Listens on every address of context->local and says in `published` where. On failure what was
 * opened is left to rbuf_listening_close(). Topics "listener-address", "listener-port",
 * "listener". */
int rbuf_listening_open(struct rbuf_listening *listening, struct rbuf_connect_context *context,
                        struct rbuf_address_list *published, struct rbuf_problem *problem);
void rbuf_listening_close(struct rbuf_listening *listening);

/* Fills `problem` for a function of the system's or of libevent's that failed; returns `error`. */
int rbuf_listening_problem(const char *function, int error, struct rbuf_problem *problem);

#endif
