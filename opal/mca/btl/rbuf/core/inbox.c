/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/inbox.h"

#include <errno.h>

#include "core/grant.h"
#include "core/polling_set.h"
#include "core/ring.h"
#include "core/sender.h"

#define HEADER_BYTES ((uint32_t) sizeof(struct rbuf_message_header))

/* Messages of core's own. False if it is none, or malformed. */
static bool take_own(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     const struct rbuf_delivery *place)
{
    switch (header->kind) {
    case RBUF_MESSAGE_GRANT:
        if (place->bytes != sizeof(struct rbuf_offer)) {
            return false;
        }
        rbuf_put_granted(peer, place->data);
        return true;
    case RBUF_MESSAGE_RING:
        if (place->bytes != sizeof(struct rbuf_ring_offer)) {
            return false;
        }
        rbuf_ring_out_invited(peer, place->data);
        return true;
    case RBUF_MESSAGE_RING_RECALL:
        rbuf_ring_out_recalled(peer);
        return true;
    case RBUF_MESSAGE_RING_BACK:
        rbuf_polling_set_back(peer);
        return true;
    case RBUF_MESSAGE_STANDING:
        if (place->bytes != sizeof(struct rbuf_standing_offer)) {
            return false;
        }
        rbuf_standing_out_lent(peer, place->data);
        return true;
    case RBUF_MESSAGE_STANDING_RECALL:
        rbuf_standing_out_recalled(peer);
        return true;
    case RBUF_MESSAGE_STANDING_BACK:
        rbuf_standing_in_back(peer);
        return true;
    case RBUF_MESSAGE_DECLINE:
        if (place->bytes != sizeof(uint64_t)) {
            return false;
        }
        rbuf_grant_declined(peer, *(const uint64_t *) place->data);
        return true;
    case RBUF_MESSAGE_LATE:
        if (place->bytes != sizeof(uint32_t)) {
            return false;
        }
        rbuf_ahead_late(peer, *(const uint32_t *) place->data);
        return true;
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
        rbuf_peer_fail(peer, -ENOMEM);
        return false;
    }
    peer->core->stats.messages_received++;
    return true;
}

/* A message whose first chunks are on their way. */
static bool take_led(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                     struct rbuf_delivery place)
{
    place.extra = RBUF_EXTRA_HEAD;
    place.place = rbuf_standing_in_announced(peer, header->after);
    if (place.place == 0) {
        peer->core->stats.messages_refused++;
        return false;
    }
    return hand_up(peer, &place);
}

/* A message that would have gone by a ring. */
static bool take_unrung(struct rbuf_peer *peer, const struct rbuf_delivery *place)
{
    if (place->channel != RBUF_BULK) {
        peer->core->stats.messages_refused++;
        return false;
    }
    rbuf_polling_set_heard(peer, place->bytes);
    return hand_up(peer, place);
}

/* A message whose pieces are on their way. */
static bool take_herald(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                        struct rbuf_delivery place)
{
    if (header->after == 0 || header->after > UINT32_MAX || place.channel != RBUF_CONTROL) {
        peer->core->stats.messages_refused++;
        return false;
    }
    if (place.origin == RBUF_ORIGIN_BUFFER) {
        rbuf_polling_set_heard(peer, place.bytes);
    }
    place.extra = RBUF_EXTRA_HERALD;
    place.herald = (uint32_t) header->after;
    return hand_up(peer, &place);
}

bool rbuf_inbox_take_other(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                           const struct rbuf_delivery *place)
{
    struct rbuf_core *core = peer->core;

    switch (header->kind) {
    case RBUF_MESSAGE_USER:
        return !rbuf_receiver_hold(peer, header, place) && hand_up(peer, place);
    case RBUF_MESSAGE_LED:
        return take_led(peer, header, *place);
    case RBUF_MESSAGE_LONG:
        return take_unrung(peer, place);
    case RBUF_MESSAGE_HERALD:
        return take_herald(peer, header, *place);
    case RBUF_MESSAGE_PIECE:
    case RBUF_MESSAGE_NAMED:
        return rbuf_ahead_in_piece(peer, header, place);
    case RBUF_MESSAGE_NAMES:
        rbuf_ahead_in_names(peer, place);
        return false;
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
            rbuf_peer_fail(peer, -EPROTO);
            return false;
        }
        rbuf_credit_heard(&peer->counts, header->credit);
        if (header->kind == RBUF_MESSAGE_USER || header->kind == RBUF_MESSAGE_LED) {
            rbuf_polling_set_heard(peer, place.bytes);
        }
    }
    if (rbuf_inbox_take(peer, header, place)) {
        return true;
    }
    rbuf_credit_consumed(peer, (enum rbuf_flow) channel);
    return false;
}

/* Out of line, like the next one: small messages have none. */
static __attribute__((noinline)) void release_extra(struct rbuf_peer *peer,
                                                    const struct rbuf_delivery *delivery)
{
    switch ((enum rbuf_extra) delivery->extra) {
    case RBUF_EXTRA_NONE:
        break;
    case RBUF_EXTRA_HEAD:
        if (delivery->place != 0) {
            rbuf_standing_in_keep(peer, rbuf_standing_in_use(peer, delivery->place));
        }
        break;
    case RBUF_EXTRA_HERALD:
        rbuf_ahead_in_heralded(peer, delivery);
        break;
    }
}

/* What stands neither in one slot of a ring nor in a receive buffer of its own. */
static __attribute__((noinline)) void release_kept(struct rbuf_peer *peer,
                                                   const struct rbuf_delivery *delivery)
{
    if (delivery->origin == RBUF_ORIGIN_PIECE) {
        rbuf_ahead_in_free(peer, delivery->piece);
        return;
    }
    if (delivery->origin == RBUF_ORIGIN_RING_LONG) {
        rbuf_ring_in_free_long(peer->ring_in, delivery->slot, delivery->bytes);
        return;
    }
    peer->core->stats.messages_received++;
    rbuf_held_free(delivery);
}

void rbuf_core_release(struct rbuf_peer *peer, const struct rbuf_delivery *delivery)
{
    peer->core->delivering_of = NULL;
    if (delivery->extra != RBUF_EXTRA_NONE) {
        release_extra(peer, delivery);
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
    case RBUF_ORIGIN_PIECE:
        release_kept(peer, delivery);
        break;
    }
}
