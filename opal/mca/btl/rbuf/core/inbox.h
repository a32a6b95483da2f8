/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The inbox: a table of what is done with each kind of message (core/eager/incoming.h looks it up),
 * and the messages that come over send/receive.
 *
 * The messages of the control channel and of the ring of one peer are in one order, that of the
 * sequence number in each header (Liu, Wu and Panda 2004, section 4.5). Both are posted to one
 * queue pair, which places a write before it completes a send behind it: so when a message has come
 * over send/receive, all of the ring before it are in memory, and are taken first. A message of the
 * ring whose predecessor is still in the completion queue stays where it is. Nothing is copied for
 * the sake of order, and a number out of turn is the peer's mistake, which ends the connection.
 */
#ifndef RBUF_CORE_INBOX_H
#define RBUF_CORE_INBOX_H

#include <stdbool.h>

#include "core/state/state.h"

/* What is done with each kind of message, for core->take. */
extern rbuf_take_message *const rbuf_inbox_take[RBUF_MESSAGE_KINDS];

/* A message of `bytes` bytes stands at `data` in a receive buffer. True: an event owns the buffer
 * until rbuf_core_release(). False: the caller may repost it now. */
bool rbuf_core_received(struct rbuf_core *core, enum rbuf_channel_id channel,
                        struct rbuf_buffer *buffer, void *data, uint32_t bytes);

/* The message of a RBUF_EVENT_DELIVER was dealt with: frees a heap copy, returns the credit. The
 * caller reposts the receive buffer, if there is one, behind that, and before the next progress,
 * which tells the peer. */
void rbuf_core_release(struct rbuf_peer *peer, const struct rbuf_delivery *delivery);

#endif
