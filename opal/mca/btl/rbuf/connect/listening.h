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

/* Listens on every address of listener->local and says in `published` where. On failure what was
 * opened is left to rbuf_listening_close(). Topics "listener-address", "listener-port",
 * "listener". */
int rbuf_listening_open(struct rbuf_listener *listener, struct rbuf_address_list *published,
                        struct rbuf_problem *problem);
void rbuf_listening_close(struct rbuf_listener *listener);

/* Fills `problem` for a function of the system's or of libevent's that failed; returns `error`. */
int rbuf_listening_problem(const char *function, int error, struct rbuf_problem *problem);

#endif
