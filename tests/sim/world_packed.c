/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packed data as Open MPI sends it: a rendezvous, an answer, and then fragments of piece_bytes.
 * Where the rendezvous heralds them, some pieces follow it at once and are named when the answer is
 * there, and the others bring their names along, or follow them; else fragments carry their piece.
 * The receiver takes them in order.
 */
#include <string.h>

#include "core/ahead.h"
#include "world.h"

#define NAMED_OF 3u /* pieces that are not sent ahead, but one, bring their names along */
#define NONE_OF  4u /* heralds: behind one of them nothing is sent */

/* In front of a fragment's data, or told with the name of its piece. */
struct user_fragment {
    struct world_message *message;
    uint64_t offset;
};

static struct world_link *link_of(const struct world_message *message)
{
    return &message->world->nodes[message->from].links[message->to];
}

static uint64_t piece_at(const struct world_message *message, uint64_t offset)
{
    const uint64_t left = message->bytes - offset;
    const uint64_t most = message->world->options.piece_bytes;

    return left < most ? left : most;
}

static void send_piece(struct world_message *message)
{
    struct world_node *node = &message->world->nodes[message->from];
    uint64_t bytes = piece_at(message, message->sent);
    struct world_am *piece =
        world_am_make(node, message, 0, message->source + message->sent, bytes, NULL, 0);

    message->sent += bytes;
    world_am_sent(piece, rbuf_ahead_piece(link_of(message)->peer, &piece->am));
}

static void name_piece(struct world_message *message)
{
    struct rbuf_peer *peer = link_of(message)->peer;
    const struct user_fragment fragment = {.message = message, .offset = message->named};
    const uint64_t number = message->named / message->world->options.piece_bytes;

    message->named += piece_at(message, message->named);
    rbuf_ahead_name(peer, rbuf_piece_name(peer->ahead_out.set, (uint32_t) number), TAG_PACKED,
                    &fragment, sizeof(fragment));
}

/* The same for a piece that was not sent yet. */
static void send_named(struct world_message *message)
{
    static const struct rbuf_naming room;
    struct world_node *node = &message->world->nodes[message->from];
    const struct user_fragment fragment = {.message = message, .offset = message->named};
    uint64_t bytes = piece_at(message, message->sent);
    struct world_am *piece = world_am_make(node, message, 0, &room, sizeof(room),
                                           message->source + message->sent, bytes);

    message->sent += bytes;
    message->named += bytes;
    world_am_sent(piece, rbuf_ahead_named(link_of(message)->peer, &piece->am, TAG_PACKED, &fragment,
                                          sizeof(fragment)));
}

static void send_fragment(struct world_message *message)
{
    struct world_node *node = &message->world->nodes[message->from];
    const struct user_fragment fragment = {.message = message, .offset = message->named};
    uint64_t bytes = piece_at(message, message->named);

    world_am_send(world_am_make(node, message, TAG_PACKED, &fragment, sizeof(fragment),
                                message->source + message->named, bytes),
                  message->to, RBUF_BULK, 0);
    message->named += bytes;
}

void world_packed_start(struct world_message *message, struct world_am *rendezvous)
{
    const unsigned ahead = message->world->options.ahead;
    struct world_link *link = link_of(message);

    if (ahead == 0 || !rbuf_ahead_may(link->peer)) {
        world_am_send(rendezvous, message->to, RBUF_CONTROL, 0);
        return;
    }
    link->ahead = message;
    world_am_sent(rendezvous, rbuf_ahead_herald(link->peer, &rendezvous->am));
    if (link->peer->ahead_out.set % NONE_OF == 0) {
        return; /* as where no memory is left to pack into */
    }
    for (unsigned i = 0; i < ahead && message->sent < message->bytes; i++) {
        send_piece(message);
    }
}

void world_packed_answered(struct world_message *message)
{
    struct world_link *link = link_of(message);

    while (message->named < message->bytes) {
        if (link->ahead != message) {
            send_fragment(message);
            continue;
        }
        if (message->sent == message->named &&
            message->named / message->world->options.piece_bytes % NAMED_OF != 0) {
            send_named(message);
            continue;
        }
        if (message->sent == message->named) {
            send_piece(message);
        }
        name_piece(message);
    }
    if (link->ahead == message) {
        rbuf_ahead_tell(link->peer->core);
        rbuf_ahead_end(link->peer);
        link->ahead = NULL;
    }
    world_give_back(message, &message->source, &message->source_key);
}

void world_packed_late(struct world_node *node, struct rbuf_peer *peer)
{
    for (unsigned other = 0; other < node->world->options.nodes; other++) {
        if (node->links[other].peer == peer) {
            node->links[other].ahead = NULL;
        }
    }
}

void world_packed_take(const struct rbuf_delivery *delivery)
{
    const struct rbuf_piece *piece = rbuf_ahead_piece_of(delivery);
    struct world_message *message;
    struct user_fragment fragment;
    const void *data;
    size_t bytes;

    memcpy(&fragment, delivery->data, sizeof(fragment));
    message = fragment.message;
    data = piece != NULL ? piece->data : (const unsigned char *) delivery->data + sizeof(fragment);
    bytes = piece != NULL ? piece->bytes : delivery->bytes - sizeof(fragment);
    if (message->state != WORLD_OPEN || fragment.offset != message->taken ||
        bytes != piece_at(message, fragment.offset)) {
        world_close_message(message, WORLD_CORRUPT);
        return;
    }
    memcpy(message->target + fragment.offset, data, bytes);
    message->taken += bytes;
    if (message->taken == message->bytes) {
        bool right = world_target_right(message);

        world_give_back(message, &message->target, &message->target_key);
        world_close_message(message, right ? WORLD_ARRIVED : WORLD_CORRUPT);
    }
}
