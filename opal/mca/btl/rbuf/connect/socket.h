/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The socket of a connection: taken over, written to, timed, closed.
 *
 * Invariant: the libevent events of a connection without a socket are not pending, but its timer in
 * BACK_OFF.
 * Threads: the listener's thread.
 */
#ifndef RBUF_CONNECT_SOCKET_H
#define RBUF_CONNECT_SOCKET_H

#include "connect/connection.h"

/* A TCP socket that does not block, marked (common/close_on_fork.h), for IPv4 or IPv6. -1 with
 * errno. Any thread. */
int rbuf_socket_open(int family);

/* Makes the connection the owner of the socket, which is marked (common/close_on_fork.h). */
void rbuf_socket_adopt(struct rbuf_connection *connection, int fd, event_callback_fn readable,
                       event_callback_fn writable);
void rbuf_socket_close(struct rbuf_connection *connection);

/* For options.timeout_ms. */
void rbuf_socket_start_timer(struct rbuf_connection *connection);

/* Sends a message, made from connection->mine; `out` has room for all that one side has to say. */
void rbuf_socket_send(struct rbuf_connection *connection, enum rbuf_exchange_kind kind,
                      enum rbuf_reject_reason reason);

/* Sends what is left; the rest, if any, when the socket takes more. An error is left to be found by
 * reading, which tells more. */
void rbuf_socket_flush(struct rbuf_connection *connection);

#endif
