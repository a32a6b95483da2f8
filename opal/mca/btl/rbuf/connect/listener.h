/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The listener: the TCP side of connecting, and of noticing that a peer process is gone. This is
 * what users of connect/ include.
 *
 * One thread with an event base of its own owns all sockets. It does the waiting, the time-outs and
 * the parsing; every decision is the user's, who takes events with rbuf_listener_next() and answers
 * with the functions of event.h, which are named as in librdmacm.
 *
 * A struct rbuf_connection is one exchange and then the idle socket of one connected pair. It
 * appears with rbuf_listener_connect() or with a REQUEST event and stays valid until the user ends
 * it with rbuf_connection_close() or rbuf_connection_reject(), exactly once each; after that no
 * event mentions it.
 *
 *     outgoing: connect -> RESPONSE, rbuf_connection_establish() | REJECTED | FAILED
 *               before that, UNANSWERED, once, if a process is waited for whose host answers
 *     incoming: REQUEST -> rbuf_connection_accept() | rbuf_connection_reject()
 *               after accept: ESTABLISHED | ABANDONED
 *     later, both: DISCONNECTED (an orderly end) | LOST (the process or its machine is gone)
 *
 * A connection is authenticated once it has sent one whole REQ with our token, within the time-out;
 * all else that comes is closed, counted and forgotten. At most `max_unauthenticated` connections
 * are not. Where there is no place for one more, what has arrived is read first. Then the oldest is
 * closed, if it has had a moment to speak; else the new one waits in the system's backlog. So a
 * thousand peers at once get in, and a flood of silent connections takes places for moments only.
 *
 * An outgoing connection that fails before its MRA is tried again at all addresses, with
 * exponential back-off and jitter, until `retry_ms` have passed. A REQ that is read only after its
 * sender has closed the connection is not announced. Waiting for the user's answer has no time-out,
 * on either side: a process may compute for an hour. Its listener's thread answers at once, unless
 * the whole process is stopped. So where TCP is connected and no MRA comes within the time-out the
 * other addresses are tried, as this one may be another host's, and then all again, for `answer_ms`
 * and with waits that become longer; a host that does not answer any more ends that. A machine that
 * vanishes without a word is noticed by TCP keep-alive after about a minute.
 *
 * File descriptors (connect/descriptors.h): one a connected pair of ports at each end, up to
 * `max_unauthenticated`, one a published address, an epoll set and an eventfd. All are
 * close-on-exec, and closed in a child of fork (common/close_on_fork.h).
 *
 * The thread also runs one function of the user's, `tick`, when it is asked to: a clock for what is
 * to go on while the process does something else.
 *
 * Threads: every function may be called by any thread; events come in order.
 */
#ifndef RBUF_CONNECT_LISTENER_H
#define RBUF_CONNECT_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/problem.h"
#include "connect/address.h"
#include "connect/event.h"

/* Listens and starts the thread. `addresses` is what to publish. The token (128 random bits) is
 * made here. Topics "listener-address", "listener-port", "listener". */
int rbuf_listener_open(const struct rbuf_listener_options *options, uint8_t token[RBUF_TOKEN_BYTES],
                       struct rbuf_address_list *addresses, struct rbuf_listener **out,
                       struct rbuf_problem *problem);

/* Says DREQ on what is connected, joins the thread, closes every socket and frees every connection
 * and event. NULL is left alone. */
void rbuf_listener_close(struct rbuf_listener *listener);

const struct rbuf_listener_counters *rbuf_listener_counters(const struct rbuf_listener *listener);

/* Has options.tick called; nothing if it is due already. */
void rbuf_listener_arm(struct rbuf_listener *listener);

/* Connects to the process that published `addresses`, trying them in turn. `request->side` is
 * filled, with the token of that process. 0 and *connection, or -ENOMEM, or -EINVAL for a list that
 * is malformed. Everything else comes as an event, not before this function has returned. */
int rbuf_listener_connect(struct rbuf_listener *listener, const struct rbuf_address_list *addresses,
                          const struct rbuf_exchange *request, void *user,
                          struct rbuf_connection **connection);

#endif
