/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A message whose turn it is, by send/receive or by a ring: most go straight to the user. For every
 * other one core's table has a function, by kind of message (core/inbox.c), so that nobody who
 * takes messages out of rings and buffers knows what they are about.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_INCOMING_H
#define RBUF_CORE_INCOMING_H

#include <errno.h>
#include <stdbool.h>

#include "core/state/state.h"

/* Of this file: what is not simply handed to the user. A kind without a function is refused. */
static inline bool rbuf_incoming_other(struct rbuf_peer *peer,
                                       const struct rbuf_message_header *header,
                                       const struct rbuf_delivery *delivery)
{
    struct rbuf_core *core = peer->core;
    rbuf_take_message *take = header->kind < RBUF_MESSAGE_KINDS ? core->take[header->kind] : NULL;

    if (take == NULL) {
        core->stats.messages_refused++;
        return false;
    }
    return take(peer, header, delivery);
}

/* Deals with a message whose turn it is; `delivery` says where its payload stands. True: an event
 * owns that buffer until rbuf_core_release(). False: it is free again. */
static inline bool rbuf_incoming_take(struct rbuf_peer *peer,
                                      const struct rbuf_message_header *header,
                                      struct rbuf_delivery delivery)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_event *event;

    delivery.tag = header->tag;
    if (header->kind != RBUF_MESSAGE_USER || header->argument != 0) {
        return rbuf_incoming_other(peer, header, &delivery);
    }
    event = rbuf_events_add(&core->events);
    if (event == NULL) {
        rbuf_peer_break(peer, -ENOMEM);
        return false;
    }
    event->kind = RBUF_EVENT_DELIVER;
    event->status = 0;
    event->peer = peer;
    event->delivery = delivery;
    core->stats.messages_received++;
    return true;
}

#endif
