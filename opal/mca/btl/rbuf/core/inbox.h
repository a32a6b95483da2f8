/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The inbox: what is done with a message that came in, over whichever way.
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

#include <errno.h>
#include <stdbool.h>

#include "core/state/state.h"

/* Of the inbox: deals with what is not simply handed to the user. */
bool rbuf_inbox_take_other(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                           const struct rbuf_delivery *place);

/* Deals with a message whose turn it is; `place` says where its payload stands. True: an event owns
 * that place until rbuf_core_release(). False: it is free again. */
static inline bool rbuf_inbox_take(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                                   struct rbuf_delivery place)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_event *event;

    place.tag = header->tag;
    if (header->kind != RBUF_MESSAGE_USER || header->argument != 0) {
        return rbuf_inbox_take_other(peer, header, &place);
    }
    event = rbuf_events_add(&core->events);
    if (event == NULL) {
        rbuf_peer_break(peer, -ENOMEM);
        return false;
    }
    event->kind = RBUF_EVENT_DELIVER;
    event->status = 0;
    event->peer = peer;
    event->delivery = place;
    core->stats.messages_received++;
    return true;
}

/* A message of `bytes` bytes stands at `data` in a receive buffer. True: an event owns the buffer
 * until rbuf_core_release(). False: the caller may repost it now. */
bool rbuf_core_received(struct rbuf_core *core, enum rbuf_channel_id channel,
                        struct rbuf_buffer *buffer, void *data, uint32_t bytes);

/* The message of a RBUF_EVENT_DELIVER was dealt with: frees a heap copy, returns the credit. The
 * caller reposts the receive buffer, if there is one, behind that, and before the next progress,
 * which tells the peer. */
void rbuf_core_release(struct rbuf_peer *peer, const struct rbuf_delivery *delivery);

#endif
