/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The first part of an outgoing connection, until the peer's listener answers: which address is
 * tried next, when a round of all addresses begins again, and when to give up (connection.h has the
 * states, listener.h the rule).
 *
 *     TCP_CONNECTING -TCP is connected-> REQ_SENT -MRA-> handshake.h
 *     either, when it fails: the next address; behind the last one
 *         some host answered, but not the process: all addresses again, at once, with a longer
 *             time-out, until `answer_ms` have passed
 *         no host answered: BACK_OFF, then all addresses again, until `retry_ms` have passed
 *         otherwise FAILED
 *
 * Threads: the listener's thread.
 */
#ifndef RBUF_CONNECT_OUTGOING_H
#define RBUF_CONNECT_OUTGOING_H

#include "connect/connection.h"

/* Tries the first address. All of connection->trying are set. */
void rbuf_outgoing_start(struct rbuf_connection *connection);

/* TCP is connected: REQ_SENT. */
void rbuf_outgoing_send_req(struct rbuf_connection *connection);

/* The address that is being tried has failed: `error` is a negative errno, `text` says it for
 * people. Its socket is closed. */
void rbuf_outgoing_failed(struct rbuf_connection *connection, int error, const char *text);

/* The same of an address that did not answer in time. */
void rbuf_outgoing_late(struct rbuf_connection *connection);

/* BACK_OFF is over: all addresses again. */
void rbuf_outgoing_retry(struct rbuf_connection *connection);

#endif
