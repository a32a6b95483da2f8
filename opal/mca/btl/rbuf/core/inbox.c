/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is done with each kind of message (core/inbox.h). Whatever comes from outside is checked
 * here or by whom it is passed to: a peer that does not keep to the protocol is broken (-EPROTO),
 * and never trusted with more than it was granted.
 */
#include "core/inbox.h"

#include <errno.h>

#include "core/eager/incoming.h"
#include "core/eager/polling_set.h"
#include "core/eager/ring.h"
#include "core/eager/ring_in.h"
#include "core/link/credit.h"
#include "core/rendezvous/early.h"
#include "core/rendezvous/grant.h"
#include "core/rendezvous/receiver.h"
#include "core/rendezvous/sender.h"

#define HEADER_BYTES ((uint32_t) sizeof(struct rbuf_message_header))

/* One that does not have the form of its kind. */
static bool is_malformed(struct rbuf_peer *peer)
{
    peer->core->stats.messages_refused++;
    return false;
}

/* The peer does not keep to the protocol: it, or a receive of ours, would wait for ever. */
static bool refuse(struct rbuf_peer *peer)
{
    peer->core->stats.messages_refused++;
    rbuf_peer_break(peer, -EPROTO);
    return false;
}

/* Hands a message up. */
static bool hand_up(struct rbuf_peer *peer, const struct rbuf_delivery *delivery)
{
    if (!rbuf_core_deliver(peer, delivery)) {
        rbuf_peer_break(peer, -ENOMEM);
        return false;
    }
    peer->core->stats.messages_received++;
    return true;
}

/* The peer leases something. */
static bool take_lease(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                       const struct rbuf_delivery *delivery)
{
    if (header->tag == RBUF_LEASE_RING && delivery->bytes == sizeof(struct rbuf_ring_offer)) {
        rbuf_ring_out_invited(peer, delivery->data);
    } else if (header->tag == RBUF_LEASE_EARLY &&
               delivery->bytes == sizeof(struct rbuf_early_window)) {
        rbuf_early_out_leased(peer, delivery->data);
    } else {
        return is_malformed(peer);
    }
    return false;
}

static bool take_recall(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                        const struct rbuf_delivery *delivery)
{
    (void) delivery;
    if (header->tag == RBUF_LEASE_RING) {
        rbuf_ring_out_recalled(peer);
    } else if (header->tag == RBUF_LEASE_EARLY) {
        rbuf_early_out_recalled(peer);
    } else {
        return is_malformed(peer);
    }
    return false;
}

static bool take_return(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                        const struct rbuf_delivery *delivery)
{
    (void) delivery;
    if (header->tag == RBUF_LEASE_RING) {
        rbuf_polling_set_back(peer);
    } else if (header->tag == RBUF_LEASE_EARLY) {
        rbuf_early_in_returned(peer);
    } else {
        return is_malformed(peer);
    }
    return false;
}

/* An offer in delivery of a deferred one. */
static bool take_rtr(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     const struct rbuf_delivery *delivery)
{
    (void) header;
    if (delivery->bytes != sizeof(struct rbuf_offer)) {
        return is_malformed(peer);
    }
    rbuf_put_granted(peer, delivery->data);
    return false;
}

/* Which early data are a grant's; without a grant: no more is asked for of packed data. */
static bool take_early(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                       const struct rbuf_delivery *delivery)
{
    uint32_t seq;

    if (delivery->bytes != sizeof(seq)) {
        return is_malformed(peer);
    }
    seq = *(const uint32_t *) delivery->data;
    if (header->argument != 0) {
        rbuf_grant_named(peer, header->argument, seq);
    } else if (!rbuf_peer_is_lost(peer) && !rbuf_early_in_closed(peer, seq)) {
        return refuse(peer);
    }
    return false;
}

/* A message that announces another one. */
static bool take_rts(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     const struct rbuf_delivery *arrived)
{
    const bool plain = header->argument == RBUF_RTS_PLAIN;
    struct rbuf_delivery delivery = *arrived;

    if (rbuf_peer_is_lost(peer)) {
        return false;
    }
    if (!plain && !rbuf_early_in_rts(peer, header->argument)) {
        return refuse(peer);
    }
    if (delivery.origin == RBUF_ORIGIN_BUFFER && delivery.channel == RBUF_CONTROL) {
        rbuf_polling_set_received(peer, delivery.bytes);
    }
    delivery.extra = RBUF_EXTRA_RTS;
    delivery.early =
        !plain && rbuf_rts_bytes(header->argument) > 0 ? rbuf_rts_seq(header->argument) : 0;
    return hand_up(peer, &delivery);
}

/* A message that would have gone by a ring. */
static bool take_long(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                      const struct rbuf_delivery *delivery)
{
    (void) header;
    if (delivery->channel != RBUF_BULK) {
        return is_malformed(peer);
    }
    rbuf_polling_set_received(peer, delivery->bytes);
    return hand_up(peer, delivery);
}

/* A message whose payload goes on in early data, which came before it by the same queue pair. */
static bool take_fragment(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                          const struct rbuf_delivery *arrived)
{
    struct rbuf_delivery delivery = *arrived;

    (void) header;
    if (rbuf_peer_is_lost(peer)) {
        return false;
    }
    if (delivery.channel != RBUF_BULK ||
        !rbuf_early_in_fragment(peer, delivery.data, delivery.bytes, &delivery.early)) {
        return refuse(peer);
    }
    delivery.extra = RBUF_EXTRA_FRAGMENT;
    return hand_up(peer, &delivery);
}

/* A message of Open MPI with an argument: it may have to wait for the grant that this names. */
static bool take_fin(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     const struct rbuf_delivery *delivery)
{
    return !rbuf_receiver_hold(peer, header, delivery) && hand_up(peer, delivery);
}

/* A message of Open MPI that lets data move, or ends that. It has no position in the order of those
 * that are matched. */
static bool take_answer(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                        const struct rbuf_delivery *arrived)
{
    struct rbuf_delivery delivery = *arrived;

    if (delivery.channel != RBUF_CONTROL) {
        return is_malformed(peer);
    }
    if (delivery.origin == RBUF_ORIGIN_BUFFER) {
        rbuf_polling_set_received(peer, delivery.bytes);
    }
    delivery.extra = RBUF_EXTRA_ANSWER;
    return !rbuf_receiver_hold(peer, header, &delivery) && hand_up(peer, &delivery);
}

rbuf_take_message *const rbuf_inbox_take[RBUF_MESSAGE_KINDS] = {
    [RBUF_MESSAGE_USER] = take_fin,      [RBUF_MESSAGE_LONG] = take_long,
    [RBUF_MESSAGE_RTS] = take_rts,       [RBUF_MESSAGE_FRAGMENT] = take_fragment,
    [RBUF_MESSAGE_ANSWER] = take_answer, [RBUF_MESSAGE_RTR] = take_rtr,
    [RBUF_MESSAGE_EARLY] = take_early,   [RBUF_MESSAGE_LEASE] = take_lease,
    [RBUF_MESSAGE_RECALL] = take_recall, [RBUF_MESSAGE_RETURN] = take_return,
};

/* True if it is the turn of a message of the control channel: those before it were taken. */
static bool in_turn(struct rbuf_peer *peer, const struct rbuf_message_header *header)
{
    if (header->sequence != peer->sequence_in && rbuf_ring_in_of(peer) != NULL) {
        (void) rbuf_ring_in_take(rbuf_ring_in_of(peer));
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
    struct rbuf_delivery delivery = {.origin = RBUF_ORIGIN_BUFFER,
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
            return refuse(peer);
        }
        rbuf_credit_received(peer, header->credit);
        if (header->kind == RBUF_MESSAGE_USER) { /* others that would go by a ring say so too */
            rbuf_polling_set_received(peer, delivery.bytes);
        }
    }
    if (rbuf_incoming_take(peer, header, delivery)) {
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
        rbuf_ring_in_free_long(rbuf_ring_in_of(peer), delivery->slot, delivery->bytes);
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
        rbuf_ring_in_free(rbuf_ring_in_of(peer), delivery->slot);
        break;
    case RBUF_ORIGIN_RING_LONG:
    case RBUF_ORIGIN_HELD:
        release_kept(peer, delivery);
        break;
    }
}
