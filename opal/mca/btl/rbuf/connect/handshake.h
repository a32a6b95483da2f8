/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The state machine of connections (connection.h has the picture): what comes in over sockets, what
 * users command, and time-outs. Which address an outgoing connection tries is outgoing.h's matter.
 * Everything that a user is to know becomes an event.
 *
 * Threads: the listener's thread.
 */
#ifndef RBUF_CONNECT_HANDSHAKE_H
#define RBUF_CONNECT_HANDSHAKE_H

#include "connect/connection.h"

/* False: there are as many unauthenticated connections as may be, and all are young. */
bool rbuf_handshake_make_room(struct rbuf_listener *listener);

/* Takes in a socket that TCP has accepted, marked (common/close_on_fork.h), which it owns from now
 * on. There is room. */
void rbuf_handshake_take_incoming(struct rbuf_listener *listener, int fd, const char *peer);

/* Carries out a command; the connection may be gone afterwards. */
void rbuf_handshake_command(struct rbuf_connection *connection, enum rbuf_command_kind kind,
                            enum rbuf_reject_reason reason);

/* Closes the socket, after a DREQ if the other side knows of us, and frees the connection. */
void rbuf_handshake_destroy(struct rbuf_connection *connection);

/* A connection with nothing but its last event; NULL: no memory. Any thread. */
struct rbuf_connection *rbuf_handshake_new(struct rbuf_listener *listener);

/* For outgoing.c. The first makes an event with what the peer has said, if that is not NULL; NULL:
 * no memory. The second makes the connection the owner of a marked socket (connect/socket.h). The
 * third ends the connection: its user gets the last event, its socket is closed. False always:
 * there is nothing left to be read. */
struct rbuf_connect_event *rbuf_handshake_event(struct rbuf_connection *connection,
                                                const struct rbuf_exchange *theirs);
void rbuf_handshake_adopt(struct rbuf_connection *connection, int fd);
bool rbuf_handshake_end(struct rbuf_connection *connection, enum rbuf_connect_event_kind kind,
                        int error, const char *text);

#endif
