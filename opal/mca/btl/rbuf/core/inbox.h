/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The inbox: what is done with a message that came in, over whichever way.
 *
 * The messages of the control channel and of the ring of one peer are in one order, told by the
 * sequence number in each header (paper 003, section 4.5). Both are posted to one queue pair, which
 * places a write before it completes a send behind it: so when a message has come over
 * send/receive, all of the ring before it are in memory, and are taken first. A message of the ring
 * whose predecessor is still in the completion queue stays where it is. Nothing is copied for the
 * sake of order, and a number out of turn is the peer's mistake, which ends the connection.
 */
#ifndef RBUF_CORE_INBOX_H
#define RBUF_CORE_INBOX_H

#include <stdbool.h>

#include "core/core.h"

/* Deals with a message whose turn it is; `place` says where its payload stands. True: an event owns
 * that place until rbuf_core_release(). False: it is free again. */
bool rbuf_inbox_take(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     const struct rbuf_delivery *place);

#endif
