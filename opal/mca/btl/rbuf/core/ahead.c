/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/ahead.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/polling_set.h"

#define NAMES_MOST 32768u /* of a peer that wait for their pieces: more than there are credits */

/* Without them pieces that wait for long could leave no credit to other messages. */
#define CREDITS_LEAST 8u

#define SKIP_MOST 6u /* one message in 2^6 heralds, at the least */

static uint32_t set_of(uint64_t name)
{
    return (uint32_t) (name >> RBUF_PIECE_NUMBER_BITS);
}

/* ---- of the sender ---- */

/* Names in one message; 0 where there is no room for any. */
static uint32_t names_most(const struct rbuf_peer *peer)
{
    const uint32_t fit = rbuf_channel_own_room(peer) / (uint32_t) sizeof(struct rbuf_naming);

    return fit < RBUF_NAMES_MOST ? fit : RBUF_NAMES_MOST;
}

bool rbuf_ahead_may(struct rbuf_peer *peer)
{
    struct rbuf_ahead_out *out = &peer->ahead_out;

    if (peer->state != RBUF_PEER_CONNECTED || out->state != RBUF_AHEAD_IDLE ||
        peer->credit[RBUF_FLOW_BULK].window < CREDITS_LEAST || names_most(peer) == 0) {
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

    if (peer->core->names.peer == peer) {
        rbuf_ahead_tell(peer->core);
    }
    out->state = RBUF_AHEAD_OPEN;
    out->set += out->set == UINT32_MAX ? 2 : 1;
    out->sent = 0;
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

void rbuf_ahead_tell(struct rbuf_core *core)
{
    struct rbuf_names *names = &core->names;
    struct rbuf_peer *peer = names->peer;

    if (peer == NULL) {
        return;
    }
    names->peer = NULL;
    core->stats.names_sent++;
    rbuf_channel_send_own(peer, RBUF_MESSAGE_NAMES, names->naming,
                          names->count * (uint32_t) sizeof(names->naming[0]));
}

void rbuf_ahead_out_drop(struct rbuf_peer *peer)
{
    if (peer->core->names.peer == peer) {
        peer->core->names.peer = NULL;
    }
}

/* Of the piece that is named next. */
static struct rbuf_naming naming_of(struct rbuf_ahead_out *out, uint64_t name, uint8_t tag,
                                    const void *header, uint32_t bytes)
{
    struct rbuf_naming naming = {
        .name = name, .before = out->newest, .tag = tag, .bytes = (uint8_t) bytes};

    assert(bytes <= sizeof(naming.header));
    memcpy(naming.header, header, bytes);
    out->newest = name;
    return naming;
}

bool rbuf_ahead_name(struct rbuf_peer *peer, uint64_t name, uint8_t tag, const void *header,
                     uint32_t bytes)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_names *names = &core->names;

    if (peer->state == RBUF_PEER_FAILED) {
        return false;
    }
    if (names->peer != peer) {
        rbuf_ahead_tell(core);
        names->peer = peer;
        names->count = 0;
    }
    names->naming[names->count++] = naming_of(&peer->ahead_out, name, tag, header, bytes);
    core->stats.messages_sent++;
    if (names->count >= names_most(peer)) {
        rbuf_ahead_tell(core);
    }
    return true;
}

bool rbuf_ahead_named(struct rbuf_peer *peer, struct rbuf_am *am, uint8_t tag, const void *header,
                      uint32_t bytes)
{
    struct rbuf_ahead_out *out = &peer->ahead_out;
    const uint64_t name = rbuf_piece_name(out->set, out->sent++);
    const struct rbuf_naming naming = naming_of(out, name, tag, header, bytes);

    memcpy(am->header + 1, &naming, sizeof(naming));
    am->channel = RBUF_BULK;
    return rbuf_am_send_as(peer, am, RBUF_MESSAGE_NAMED, name) != RBUF_AM_IDLE;
}

bool rbuf_ahead_all_named(const struct rbuf_peer *peer)
{
    const struct rbuf_ahead_out *out = &peer->ahead_out;

    return out->sent == 0 || out->newest == rbuf_piece_name(out->set, out->sent - 1);
}

void rbuf_ahead_end(struct rbuf_peer *peer)
{
    peer->ahead_out.state = RBUF_AHEAD_IDLE;
    peer->ahead_out.late = 0;
}

void rbuf_ahead_late(struct rbuf_peer *peer, uint32_t set)
{
    struct rbuf_ahead_out *out = &peer->ahead_out;

    if (out->state != RBUF_AHEAD_OPEN || set != out->set || set_of(out->newest) == set) {
        peer->core->stats.messages_refused++;
        return;
    }
    out->state = RBUF_AHEAD_IDLE;
    out->late += out->late < SKIP_MOST;
    out->skip = (uint8_t) ((1u << out->late) - 1);
    peer->core->stats.heralds_late++;
    rbuf_core_raise(peer->core, RBUF_EVENT_LATE, peer, NULL, 0);
}

/* ---- of the receiver ---- */

void rbuf_ahead_in_open(struct rbuf_peer *peer)
{
    STAILQ_INIT(&peer->ahead_in.pieces);
    STAILQ_INIT(&peer->ahead_in.names);
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

/* A name was told, or its turn has come. Sets wrap: what is forgotten stays within reach of the
 * newest, and far behind what may come. */
static void heard_of(struct rbuf_ahead_in *in, uint64_t name)
{
    const int32_t far = 1 << 30;

    if (is_later(name, in->told)) {
        in->told = name;
    }
    if ((int32_t) (set_of(name) - in->over) > far) {
        in->over = set_of(name) - (uint32_t) far;
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

/* Hands a piece up that is here and named. */
static void hand_up(struct rbuf_peer *peer, struct rbuf_piece *piece)
{
    const struct rbuf_event event = {.kind = RBUF_EVENT_DELIVER,
                                     .peer = peer,
                                     .delivery = {.origin = RBUF_ORIGIN_PIECE,
                                                  .piece = piece,
                                                  .data = piece->naming.header,
                                                  .bytes = piece->naming.bytes,
                                                  .tag = piece->naming.tag}};

    if (!rbuf_events_push(&peer->core->events, &event)) {
        discard(peer, piece);
        rbuf_peer_fail(peer, -ENOMEM);
        return;
    }
    peer->core->stats.messages_received++;
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
    *piece = (struct rbuf_piece){.naming.name = name, .data = place->data, .bytes = place->bytes};
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

/* The peer does not keep to the protocol, and would wait for what is refused. */
static bool refuse(struct rbuf_peer *peer)
{
    peer->core->stats.messages_refused++;
    rbuf_peer_fail(peer, -EPROTO);
    return false;
}

/* True if the first piece brought its name along, and it is its turn. */
static bool is_next(const struct rbuf_ahead_in *in)
{
    const struct rbuf_piece *piece = STAILQ_FIRST(&in->pieces);

    return piece != NULL && piece->state == RBUF_PIECE_NAMED && piece->naming.before == in->turn;
}

/* It is the turn of the first name: discards the pieces before its own, which were passed over, and
 * gives that one its naming. False: it is not here. */
static bool meet(struct rbuf_peer *peer)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;
    struct rbuf_piece *name = STAILQ_FIRST(&in->names);
    struct rbuf_piece *piece;

    while ((piece = STAILQ_FIRST(&in->pieces)) != NULL &&
           is_later(name->naming.name, piece->naming.name)) {
        discard(peer, first_piece(in));
    }
    if (piece == NULL || piece->naming.name != name->naming.name) {
        return false;
    }
    piece->naming = name->naming;
    piece->state = RBUF_PIECE_NAMED;
    STAILQ_REMOVE_HEAD(&in->names, link);
    in->names_count--;
    free(name);
    return true;
}

/* Hands up the pieces whose turn it is; false if the peer is lost. */
static bool advance(struct rbuf_peer *peer)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;

    for (;;) {
        const struct rbuf_piece *name = STAILQ_FIRST(&in->names);
        const bool told = !is_next(in) && name != NULL && name->naming.before == in->turn;

        if (told && !meet(peer)) {
            /* Pieces come in order: this one never did, or was passed over before. */
            return is_later(name->naming.name, in->newest) || refuse(peer);
        }
        if (!is_next(in)) {
            return true;
        }
        in->turn = STAILQ_FIRST(&in->pieces)->naming.name;
        heard_of(in, in->turn);
        hand_up(peer, first_piece(in));
    }
}

/* True if the message is no piece at all. */
static bool is_malformed(const struct rbuf_message_header *header,
                         const struct rbuf_delivery *place)
{
    struct rbuf_naming naming;

    if (place->channel != RBUF_BULK || set_of(header->after) == 0) {
        return true;
    }
    if (header->kind != RBUF_MESSAGE_NAMED) {
        return false;
    }
    if (place->bytes < sizeof(naming)) {
        return true;
    }
    memcpy(&naming, place->data, sizeof(naming));
    return naming.name != header->after || naming.bytes > RBUF_NAMING_BYTES;
}

/* The first bytes of a piece that is kept are its naming. */
static void cut_naming(struct rbuf_piece *piece)
{
    piece->state = RBUF_PIECE_NAMED;
    memcpy(&piece->naming, piece->data, sizeof(piece->naming));
    piece->data = (unsigned char *) piece->data + sizeof(piece->naming);
    piece->bytes -= (uint32_t) sizeof(piece->naming);
}

/* True if a piece that does not bring its name will get none: names have passed it over, or its set
 * is forgotten. */
static bool is_unwanted(const struct rbuf_ahead_in *in, uint64_t name)
{
    const struct rbuf_piece *first = STAILQ_FIRST(&in->names);

    if (is_later(name, in->told)) {
        return is_forgotten(in, name);
    }
    return first == NULL || is_later(first->naming.name, name);
}

/* Discards what came before the last piece, but after the one that its naming says is before it. */
static void pass_over(struct rbuf_peer *peer, const struct rbuf_piece *last)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;
    struct rbuf_piece *piece = STAILQ_FIRST(&in->pieces);

    while (piece != last && !is_later(piece->naming.name, last->naming.before)) {
        piece = STAILQ_NEXT(piece, link);
    }
    while (piece != last) {
        struct rbuf_piece *next = STAILQ_NEXT(piece, link);

        STAILQ_REMOVE(&in->pieces, piece, rbuf_piece, link);
        in->pieces_count--;
        discard(peer, piece);
        piece = next;
    }
}

bool rbuf_ahead_in_piece(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                         const struct rbuf_delivery *place)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;
    const bool named = header->kind == RBUF_MESSAGE_NAMED;
    struct rbuf_piece *piece;

    if (is_malformed(header, place)) {
        peer->core->stats.messages_refused++;
        return false;
    }
    if (peer->state == RBUF_PEER_FAILED) {
        return false;
    }
    if (!is_later(header->after, in->newest) ||
        in->pieces_count >= peer->core->options.window[RBUF_FLOW_BULK]) {
        return refuse(peer);
    }
    in->newest = header->after;
    if (!named && is_unwanted(in, header->after)) {
        return false;
    }
    piece = keep(peer, header->after, place);
    if (piece == NULL) {
        return false;
    }
    STAILQ_INSERT_TAIL(&in->pieces, piece, link);
    in->pieces_count++;
    if (named) {
        cut_naming(piece);
        pass_over(peer, piece);
    }
    (void) advance(peer); /* who is lost gives back what is kept */
    return true;
}

/* A name that was told waits for its turn. False: the peer is lost. */
static bool take_naming(struct rbuf_peer *peer, const struct rbuf_naming *naming)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;
    struct rbuf_piece *name;

    if (set_of(naming->name) == 0 || naming->bytes > RBUF_NAMING_BYTES ||
        is_forgotten(in, naming->name) || !is_later(naming->name, in->told) ||
        in->names_count == NAMES_MOST) {
        return refuse(peer);
    }
    name = calloc(1, sizeof(*name));
    if (name == NULL) {
        rbuf_peer_fail(peer, -ENOMEM);
        return false;
    }
    heard_of(in, naming->name);
    name->state = RBUF_PIECE_NAMED;
    name->naming = *naming;
    STAILQ_INSERT_TAIL(&in->names, name, link);
    in->names_count++;
    return advance(peer);
}

void rbuf_ahead_in_names(struct rbuf_peer *peer, const struct rbuf_delivery *place)
{
    const unsigned char *next = place->data;
    const unsigned char *end = next + place->bytes;
    struct rbuf_naming naming;

    if (place->channel != RBUF_CONTROL || place->bytes % sizeof(naming) != 0) {
        peer->core->stats.messages_refused++;
        return;
    }
    if (peer->state != RBUF_PEER_FAILED && place->origin == RBUF_ORIGIN_BUFFER) {
        rbuf_polling_set_heard(peer, place->bytes);
    }
    for (; next < end && peer->state != RBUF_PEER_FAILED; next += sizeof(naming)) {
        memcpy(&naming, next, sizeof(naming));
        if (!take_naming(peer, &naming)) {
            return;
        }
    }
}

static void forget(struct rbuf_peer *peer, uint32_t set)
{
    struct rbuf_ahead_in *in = &peer->ahead_in;

    in->over = set;
    while (!STAILQ_EMPTY(&in->pieces) && is_forgotten(in, STAILQ_FIRST(&in->pieces)->naming.name)) {
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
    struct rbuf_piece *name;

    while (!STAILQ_EMPTY(&in->pieces)) {
        discard(peer, first_piece(in));
    }
    while ((name = STAILQ_FIRST(&in->names)) != NULL) {
        STAILQ_REMOVE_HEAD(&in->names, link);
        free(name);
    }
    in->names_count = 0;
}
