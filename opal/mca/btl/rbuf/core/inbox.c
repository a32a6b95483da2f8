/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is done with each kind of message (core/inbox.h). Whatever comes from outside is checked
 * here or by whom it is passed to: a peer that does not keep to the protocol is broken (-EPROTO),
 * and never trusted with more than it was granted.
 */
#include "core/eager/ring_in.h"
#include "core/rendezvous/receiver.h"
#include "core/inbox.h"

#include <errno.h>

#include "core/rendezvous/grant.h"
#include "core/eager/polling_set.h"
#include "core/eager/ring.h"
#include "core/rendezvous/sender.h"

#define HEADER_BYTES ((uint32_t) sizeof(struct rbuf_message_header))

/* The peer leases something. False: it is malformed. */
static bool take_lease(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                       const struct rbuf_delivery *place)
{
    if (header->tag == RBUF_LEASE_RING && place->bytes == sizeof(struct rbuf_ring_offer)) {
        rbuf_ring_out_invited(peer, place->data);
        return true;
    }
    if (header->tag == RBUF_LEASE_EARLY && place->bytes == sizeof(struct rbuf_early_window)) {
        rbuf_early_out_leased(peer, place->data);
        return true;
    }
    return false;
}

static bool take_recall(struct rbuf_peer *peer, enum rbuf_lease lease)
{
    switch (lease) {
    case RBUF_LEASE_RING:
        rbuf_ring_out_recalled(peer);
        return true;
    case RBUF_LEASE_EARLY:
        rbuf_early_out_recalled(peer);
        return true;
    }
    return false;
}

static bool take_return(struct rbuf_peer *peer, enum rbuf_lease lease)
{
    switch (lease) {
    case RBUF_LEASE_RING:
        rbuf_polling_set_back(peer);
        return true;
    case RBUF_LEASE_EARLY:
        rbuf_early_in_returned(peer);
        return true;
    }
    return false;
}

/* The peer does not keep to the protocol: it, or a receive of ours, would wait for ever. */
static bool refuse(struct rbuf_peer *peer)
{
    peer->core->stats.messages_refused++;
    rbuf_peer_break(peer, -EPROTO);
    return false;
}

/* Of a grant, or of none: packed data of which no more is asked for. */
static void take_early(struct rbuf_peer *peer, uint64_t grant_id, uint32_t seq)
{
    if (grant_id != 0) {
        rbuf_grant_named(peer, grant_id, seq);
    } else if (!rbuf_peer_is_lost(peer) && !rbuf_early_in_closed(peer, seq)) {
        (void) refuse(peer);
    }
}

/* Messages of core's own. False if it is none, or malformed. */
static bool take_own(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     const struct rbuf_delivery *place)
{
    switch (header->kind) {
    case RBUF_MESSAGE_RTR:
        if (place->bytes != sizeof(struct rbuf_offer)) {
            return false;
        }
        rbuf_put_granted(peer, place->data);
        return true;
    case RBUF_MESSAGE_EARLY:
        if (place->bytes != sizeof(uint32_t)) {
            return false;
        }
        take_early(peer, header->argument, *(const uint32_t *) place->data);
        return true;
    case RBUF_MESSAGE_LEASE:
        return take_lease(peer, header, place);
    case RBUF_MESSAGE_RECALL:
        return take_recall(peer, (enum rbuf_lease) header->tag);
    case RBUF_MESSAGE_RETURN:
        return take_return(peer, (enum rbuf_lease) header->tag);
    default:
        return false;
    }
}

/* Hands a message up. */
static bool hand_up(struct rbuf_peer *peer, const struct rbuf_delivery *delivery)
{
    const struct rbuf_event event = {
        .kind = RBUF_EVENT_DELIVER, .peer = peer, .delivery = *delivery};

    if (!rbuf_events_push(&peer->core->events, &event)) {
        rbuf_peer_break(peer, -ENOMEM);
        return false;
    }
    peer->core->stats.messages_received++;
    return true;
}

/* A message that announces another one. */
static bool take_rts(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     struct rbuf_delivery place)
{
    if (rbuf_peer_is_lost(peer)) {
        return false;
    }
    if (!rbuf_early_in_rts(peer, header->argument)) {
        return refuse(peer);
    }
    if (place.origin == RBUF_ORIGIN_BUFFER && place.channel == RBUF_CONTROL) {
        rbuf_polling_set_received(peer, place.bytes);
    }
    place.extra = RBUF_EXTRA_RTS;
    place.early = rbuf_rts_bytes(header->argument) > 0 ? rbuf_rts_seq(header->argument) : 0;
    return hand_up(peer, &place);
}

/* A message that would have gone by a ring. */
static bool take_long(struct rbuf_peer *peer, const struct rbuf_delivery *place)
{
    if (place->channel != RBUF_BULK) {
        peer->core->stats.messages_refused++;
        return false;
    }
    rbuf_polling_set_received(peer, place->bytes);
    return hand_up(peer, place);
}

/* A message whose payload goes on in early data, which came before it by the same queue pair. */
static bool take_fragment(struct rbuf_peer *peer, struct rbuf_delivery place)
{
    if (rbuf_peer_is_lost(peer)) {
        return false;
    }
    if (place.channel != RBUF_BULK ||
        !rbuf_early_in_fragment(peer, place.data, place.bytes, &place.early)) {
        return refuse(peer);
    }
    place.extra = RBUF_EXTRA_FRAGMENT;
    return hand_up(peer, &place);
}

bool rbuf_inbox_take_other(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                           const struct rbuf_delivery *place)
{
    struct rbuf_core *core = peer->core;

    switch (header->kind) {
    case RBUF_MESSAGE_USER:
        return !rbuf_receiver_hold(peer, header, place) && hand_up(peer, place);
    case RBUF_MESSAGE_LONG:
        return take_long(peer, place);
    case RBUF_MESSAGE_RTS:
        return take_rts(peer, header, *place);
    case RBUF_MESSAGE_FRAGMENT:
        return take_fragment(peer, *place);
    default:
        core->stats.messages_refused += !take_own(peer, header, place);
        return false;
    }
}

/* True if it is the turn of a message of the control channel: those before it were taken. */
static bool in_turn(struct rbuf_peer *peer, const struct rbuf_message_header *header)
{
    if (header->sequence != peer->sequence_in && peer->ring_in != NULL) {
        (void) rbuf_ring_in_take(peer->ring_in);
    }
    if (header->sequence != peer->sequence_in) {
        return false;
    }
    peer->sequence_in++;
    return true;
}

/* The peer that a message came from, or NULL if it is none. */
static struct rbuf_peer *peer_of(struct rbuf_core *core, const struct rbuf_message_header *header,
                                 uint32_t bytes)
{
    return bytes >= HEADER_BYTES && header->peer < core->peer_count ? core->peers[header->peer]
                                                                    : NULL;
}

bool rbuf_core_received(struct rbuf_core *core, enum rbuf_channel_id channel,
                        struct rbuf_buffer *buffer, void *data, uint32_t bytes)
{
    const struct rbuf_message_header *header = data;
    struct rbuf_peer *peer = peer_of(core, header, bytes);
    struct rbuf_delivery place = {.origin = RBUF_ORIGIN_BUFFER,
                                  .buffer = buffer,
                                  .data = (unsigned char *) data + HEADER_BYTES,
                                  .bytes = bytes - HEADER_BYTES,
                                  .channel = (uint8_t) channel};

    if (peer == NULL) {
        core->stats.messages_refused++;
        return false;
    }
    if (channel == RBUF_CONTROL) {
        if (!in_turn(peer, header)) {
            core->stats.messages_refused++;
            rbuf_peer_break(peer, -EPROTO);
            return false;
        }
        rbuf_credit_received(&peer->counts, header->credit);
        if (header->kind == RBUF_MESSAGE_USER) { /* others that would go by a ring say so too */
            rbuf_polling_set_received(peer, place.bytes);
        }
    }
    if (rbuf_inbox_take(peer, header, place)) {
        return true;
    }
    rbuf_credit_consumed(peer, (enum rbuf_flow) channel);
    return false;
}

/* What stands neither in one slot of a ring nor in a receive buffer. Out of line: small messages do
 * not come here. */
static __attribute__((noinline)) void release_kept(struct rbuf_peer *peer,
                                                   const struct rbuf_delivery *delivery)
{
    if (delivery->origin == RBUF_ORIGIN_RING_LONG) {
        rbuf_ring_in_free_long(peer->ring_in, delivery->slot, delivery->bytes);
        return;
    }
    peer->core->stats.messages_received++;
    rbuf_held_free(delivery);
}

void rbuf_core_release(struct rbuf_peer *peer, const struct rbuf_delivery *delivery)
{
    if (delivery->extra == RBUF_EXTRA_FRAGMENT) {
        rbuf_early_in_fragment_over(peer, delivery->data);
    }
    switch ((enum rbuf_origin) delivery->origin) {
    case RBUF_ORIGIN_BUFFER:
        rbuf_credit_consumed(peer, (enum rbuf_flow) delivery->channel);
        break;
    case RBUF_ORIGIN_RING:
        rbuf_ring_in_free(peer->ring_in, delivery->slot);
        break;
    case RBUF_ORIGIN_RING_LONG:
    case RBUF_ORIGIN_HELD:
        release_kept(peer, delivery);
        break;
    }
}
