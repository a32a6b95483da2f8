/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/grant.h"
#include "core/polling_set.h"

#define FRAGMENTS_MOST                                                                             \
    32768u /* of a peer that wait for their pieces: more than there are credits */

/* Without them pieces that wait for long could leave no credit to other messages. */
#define CREDITS_LEAST 8u

#define SKIP_MOST 6u /* one message in 2^6 heralds, at the least */

/* ---- of the sender ---- */

bool rbuf_ahead_may(struct rbuf_peer *peer)
{
    struct rbuf_ahead_out *out = &peer->ahead_out;

    if (peer->state != RBUF_PEER_CONNECTED || out->state != RBUF_AHEAD_IDLE ||
        peer->credit[RBUF_FLOW_BULK].window < CREDITS_LEAST) {
        return false;
    }
    if (out->skip > 0) {
        out->skip--;
        return false;
    }
    return true;
}

bool rbuf_ahead_herald(struct rbuf_peer *peer, struct rbuf_am *am)
{
    struct rbuf_ahead_out *out = &peer->ahead_out;

    out->state = RBUF_AHEAD_OPEN;
    out->set += out->set == UINT32_MAX ? 2 : 1;
    out->sent = 0;
    out->named = 0;
    peer->core->stats.heralds++;
    return rbuf_am_send_as(peer, am, RBUF_MESSAGE_HERALD, out->set) != RBUF_AM_IDLE;
}

bool rbuf_ahead_piece(struct rbuf_peer *peer, struct rbuf_am *am)
{
    struct rbuf_ahead_out *out = &peer->ahead_out;

    am->channel = RBUF_BULK;
    return rbuf_am_send_as(peer, am, RBUF_MESSAGE_PIECE, rbuf_piece_name(out->set, out->sent++)) !=
           RBUF_AM_IDLE;
}

bool rbuf_ahead_fragment(struct rbuf_peer *peer, struct rbuf_am *am, uint64_t name)
{
    am->channel = RBUF_CONTROL;
    peer->ahead_out.named = rbuf_piece_number(name) + 1;
    return rbuf_am_send_as(peer, am, RBUF_MESSAGE_FRAGMENT, name) != RBUF_AM_IDLE;
}

bool rbuf_ahead_all_named(const struct rbuf_peer *peer)
{
    return peer->ahead_out.named == peer->ahead_out.sent;
}

void rbuf_ahead_end(struct rbuf_peer *peer)
{
    peer->ahead_out.state = RBUF_AHEAD_IDLE;
    peer->ahead_out.late = 0;
}

void rbuf_ahead_late(struct rbuf_peer *peer, uint32_t set)
{
    struct rbuf_ahead_out *out = &peer->ahead_out;

    if (out->state != RBUF_AHEAD_OPEN || set != out->set || out->named > 0) {
        peer->core->stats.messages_refused++;
        return;
    }
    out->state = RBUF_AHEAD_IDLE;
    out->late += out->late < SKIP_MOST;
    out->skip = (1u << out->late) - 1;
    peer->core->stats.heralds_late++;
    rbuf_core_raise(peer->core, RBUF_EVENT_LATE, peer, NULL, 0);
}

/* ---- of the receiver ---- */

void rbuf_ahead_in_open(struct rbuf_peer *peer)
{
    STAILQ_INIT(&peer->ahead_in.pieces);
    STAILQ_INIT(&peer->ahead_in.fragments);
}

static uint32_t set_of(uint64_t name)
{
    return (uint32_t) (name >> RBUF_PIECE_NUMBER_BITS);
}

/* True if `name` is that of a later piece than `other`: sets wrap. */
static bool is_later(uint64_t name, uint64_t other)
{
    const int32_t sets = (int32_t) (set_of(name) - set_of(other));

    return sets > 0 || (sets == 0 && name > other);
}

static bool is_forgotten(const struct rbuf_ahead_in *in, uint64_t name)
{
    return (int32_t) (set_of(name) - in->over) <= 0;
}

/* Sets wrap: what is forgotten stays within reach of the newest, and far behind what may come. */
static void keep_near(struct rbuf_ahead_in *in, uint32_t set)
{
    const uint32_t far = 1u << 30;

    if (set - in->over > far) {
        in->over = set - far;
    }
}

/* Gives back what the piece stands in. */
static void discard(struct rbuf_peer *peer, struct rbuf_piece *piece)
{
    if (piece->buffer != NULL) {
        rbuf_core_raise(peer->core, RBUF_EVENT_BUFFER, peer, piece->buffer, 0);
    }
    rbuf_ahead_in_free(peer, piece);
}

static struct rbuf_piece *first_piece(struct rbuf_ahead_in *in)
{
    struct rbuf_piece *piece = STAILQ_FIRST(&in->pieces);

    STAILQ_REMOVE_HEAD(&in->pieces, link);
    in->pieces_count--;
    return piece;
}

/* Discards the pieces before `name`, which nobody names any more; then the first one, if it is that
 * one. */
static struct rbuf_piece *take_piece(struct rbuf_peer *peer, uint64_t name)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;

    while (!STAILQ_EMPTY(&in->pieces) && is_later(name, STAILQ_FIRST(&in->pieces)->name)) {
        discard(peer, first_piece(in));
    }
    return !STAILQ_EMPTY(&in->pieces) && STAILQ_FIRST(&in->pieces)->name == name ? first_piece(in)
                                                                                 : NULL;
}

/* Hands a fragment up with its piece; `place` is where its header stands. */
static bool hand_up(struct rbuf_peer *peer, const struct rbuf_delivery *place,
                    struct rbuf_piece *piece)
{
    struct rbuf_event event = {.kind = RBUF_EVENT_DELIVER, .peer = peer, .delivery = *place};

    piece->of_fragment = place->buffer;
    event.delivery.piece = piece;
    event.delivery.extra = RBUF_EXTRA_PIECE;
    if (!rbuf_events_push(&peer->core->events, &event)) {
        discard(peer, piece);
        rbuf_peer_fail(peer, -ENOMEM);
        return false;
    }
    return true;
}

static void hand_up_held(struct rbuf_peer *peer, struct rbuf_held *held, struct rbuf_piece *piece)
{
    const struct rbuf_delivery place = {.origin = RBUF_ORIGIN_HELD,
                                        .data = held->data,
                                        .bytes = held->bytes,
                                        .tag = held->tag,
                                        .channel = held->channel};

    if (!hand_up(peer, &place, piece)) {
        free(held);
    }
}

/* Keeps what stands at `place`: in its buffer while few are kept so, else in a copy. Its credit is
 * owed either way, which bounds the copies. */
static struct rbuf_piece *keep(struct rbuf_peer *peer, uint64_t name,
                               const struct rbuf_delivery *place)
{
    struct rbuf_core *core = peer->core;
    const bool copied = core->pieces_kept >= core->options.pieces_kept;
    struct rbuf_piece *piece = malloc(sizeof(*piece) + (copied ? place->bytes : 0));

    if (piece == NULL) {
        rbuf_peer_fail(peer, -ENOMEM);
        return NULL;
    }
    *piece = (struct rbuf_piece){.name = name, .data = place->data, .bytes = place->bytes};
    if (copied) {
        piece->data = piece + 1;
        memcpy(piece->data, place->data, place->bytes);
        rbuf_core_raise(core, RBUF_EVENT_BUFFER, peer, place->buffer, 0);
    } else {
        piece->buffer = place->buffer;
        core->pieces_kept++;
    }
    return piece;
}

/* True if the message is no piece or fragment at all. */
static bool is_malformed(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                         const struct rbuf_delivery *place, enum rbuf_channel_id channel)
{
    bool malformed = place->channel != channel || set_of(header->after) == 0;

    peer->core->stats.messages_refused += malformed;
    return malformed;
}

/* The peer does not keep to the protocol, and would wait for what is refused. */
static bool refuse(struct rbuf_peer *peer)
{
    peer->core->stats.messages_refused++;
    rbuf_peer_fail(peer, -EPROTO);
    return false;
}

bool rbuf_ahead_in_piece(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                         const struct rbuf_delivery *place)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;
    struct rbuf_held *fragment = STAILQ_FIRST(&in->fragments);
    struct rbuf_piece *piece;

    if (is_malformed(peer, header, place, RBUF_BULK) || peer->state == RBUF_PEER_FAILED) {
        return false;
    }
    if (!is_later(header->after, in->newest) ||
        in->pieces_count >= peer->core->options.window[RBUF_FLOW_BULK]) {
        return refuse(peer);
    }
    in->newest = header->after;
    if (is_forgotten(in, header->after) ||
        is_later(fragment != NULL ? fragment->after : in->named, header->after)) {
        return false; /* nobody will name it */
    }
    if (fragment != NULL && is_later(header->after, fragment->after)) {
        return refuse(peer); /* that one's piece never came */
    }
    piece = keep(peer, header->after, place);
    if (piece == NULL) {
        return false;
    }
    if (fragment != NULL && fragment->after == piece->name) {
        STAILQ_REMOVE_HEAD(&in->fragments, link);
        in->fragments_count--;
        hand_up_held(peer, fragment, piece);
    } else {
        STAILQ_INSERT_TAIL(&in->pieces, piece, link);
        in->pieces_count++;
    }
    return true;
}

bool rbuf_ahead_in_fragment(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                            const struct rbuf_delivery *place)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;
    struct rbuf_piece *piece;
    struct rbuf_held *held;

    if (is_malformed(peer, header, place, RBUF_CONTROL) || peer->state == RBUF_PEER_FAILED) {
        return false;
    }
    if (is_forgotten(in, header->after) || !is_later(header->after, in->named) ||
        in->fragments_count == FRAGMENTS_MOST) {
        return refuse(peer);
    }
    if (place->origin == RBUF_ORIGIN_BUFFER) {
        rbuf_polling_set_heard(peer, place->bytes);
    }
    in->named = header->after;
    keep_near(in, set_of(header->after));
    piece = take_piece(peer, header->after);
    if (piece != NULL) {
        bool handed = hand_up(peer, place, piece);

        peer->core->stats.messages_received += handed;
        return handed;
    }
    if (!is_later(header->after, in->newest)) {
        return refuse(peer); /* its piece has come, and gone */
    }
    held = rbuf_held_make(peer, header, place);
    if (held != NULL) {
        STAILQ_INSERT_TAIL(&in->fragments, held, link);
        in->fragments_count++;
    }
    return false;
}

static void forget(struct rbuf_peer *peer, uint32_t set)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;

    in->over = set;
    while (!STAILQ_EMPTY(&in->pieces) && is_forgotten(in, STAILQ_FIRST(&in->pieces)->name)) {
        discard(peer, first_piece(in));
    }
}

void rbuf_ahead_in_heralded(struct rbuf_peer *peer, const struct rbuf_delivery *delivery)
{
    const uint32_t set = delivery->herald;

    if (peer->state == RBUF_PEER_CONNECTED &&
        delivery->began == (uint16_t) peer->core->stats.messages_sent) {
        forget(peer, set);
        rbuf_channel_send_own(peer, RBUF_MESSAGE_LATE, &set, sizeof(set));
    }
}

void rbuf_ahead_in_free(struct rbuf_peer *peer, struct rbuf_piece *piece)
{
    peer->core->pieces_kept -= piece->buffer != NULL;
    rbuf_credit_consumed(peer, RBUF_FLOW_BULK);
    free(piece);
}

void rbuf_ahead_in_drop(struct rbuf_peer *peer)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;
    struct rbuf_held *held;

    while (!STAILQ_EMPTY(&in->pieces)) {
        discard(peer, first_piece(in));
    }
    while ((held = STAILQ_FIRST(&in->fragments)) != NULL) {
        STAILQ_REMOVE_HEAD(&in->fragments, link);
        free(held);
    }
    in->fragments_count = 0;
}
