/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packed data as Open MPI sends it and peers/packed.c: a rendezvous, an answer, and then
 * fragments. Where there is a window for early data the first bytes are packed into a slot while
 * the question is under way, a message of a peer at a time; fragments name what is there, and the
 * others carry their bytes. The receiver takes them in order.
 */
#include <string.h>

#include "core/eager/channel.h"
#include "core/rendezvous/early.h"
#include "core/stage/tx_chunk.h"
#include "world.h"

#define IN_FLIGHT_MOST 1u /* as glue: no more than two chunks are on their way */
#define GIVEN_UP_OF    8u /* messages: behind the first fragment of one the rest is packed anew */
#define UNEVEN         3u /* blocks are not filled evenly, as types make it */

/* What stands for Open MPI's header of a fragment. */
struct user_fragment {
    struct world_message *message;
    uint64_t offset;
};

static struct world_link *link_of(const struct world_message *message)
{
    return &message->world->nodes[message->from].links[message->to];
}

static uint64_t less(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* ---- packing ---- */

static uint32_t pack_block(struct world_message *message, void *to, uint32_t payload)
{
    struct world_packed *packed = &message->packed;
    const uint64_t left = message->bytes - packed->packed;
    const uint64_t bytes = less(payload - (packed->packed + message->seed) % UNEVEN, left);

    memcpy(to, message->source + packed->packed, bytes);
    packed->packed += bytes;
    return (uint32_t) bytes;
}

/* Packs the next chunk of the slot; false if there can be none now, or no more. */
static bool pack_chunk(struct world_message *message)
{
    struct world_packed *packed = &message->packed;
    struct rbuf_peer *peer = link_of(message)->peer;
    const uint32_t payload = rbuf_early_block_payload(peer);
    struct rbuf_tx_chunk *chunk;
    uint32_t blocks = 0;

    if (packed->packed == message->bytes || packed->early->in_flight > IN_FLIGHT_MOST ||
        packed->blocks == WORLD_PACKED_BLOCKS) {
        return false;
    }
    chunk = rbuf_early_begin(peer, packed->early);
    if (chunk == NULL) {
        return false;
    }
    while (blocks < chunk->shape.blocks && packed->blocks + blocks < WORLD_PACKED_BLOCKS &&
           packed->packed < message->bytes) {
        packed->bytes[packed->blocks + blocks] =
            pack_block(message, rbuf_early_block(peer, chunk, blocks), payload);
        blocks++;
    }
    if (!rbuf_early_end(peer, packed->early, chunk, blocks)) {
        return false;
    }
    packed->blocks += blocks;
    return true;
}

int world_packed_progress(struct world_node *node)
{
    int done = 0;

    for (unsigned other = 0; other < node->world->options.nodes; other++) {
        struct world_message *message = node->links[other].packing;

        done += message != NULL && pack_chunk(message);
    }
    return done;
}

void world_packed_start(struct world_message *message, struct world_am *rendezvous)
{
    struct world_link *link = link_of(message);
    int state;

    if (!message->world->options.packed_early || link->packing != NULL ||
        link->peer->state != RBUF_PEER_CONNECTED) {
        world_am_send(rendezvous, message->to, RBUF_CONTROL, 0);
        return;
    }
    rendezvous->am.channel = RBUF_CONTROL;
    state = rbuf_early_send_packed(link->peer, &rendezvous->am, message, &message->packed.early);
    world_am_sent(rendezvous, state != RBUF_AM_IDLE);
    if (message->packed.early != NULL) {
        link->packing = message;
        (void) pack_chunk(message);
    }
}

/* ---- fragments ---- */

/* Blocks that wait, as many as a fragment may have; 0 if the first is too long. */
static uint32_t blocks_for(const struct world_message *message, uint64_t *bytes)
{
    const struct world_packed *packed = &message->packed;
    const uint64_t most = message->world->options.fragment_bytes;
    uint32_t blocks = 0;

    *bytes = 0;
    while (packed->named + blocks < packed->blocks && blocks < RBUF_FRAGMENT_BLOCKS &&
           *bytes + packed->bytes[packed->named + blocks] <= most) {
        *bytes += packed->bytes[packed->named + blocks];
        blocks++;
    }
    return blocks;
}

/* A fragment whose payload is there: only its header is sent. */
static uint64_t name_blocks(struct world_message *message, const struct user_fragment *header,
                            uint32_t blocks, uint64_t bytes)
{
    struct world_packed *packed = &message->packed;
    struct rbuf_fragment fragment = {.seq = packed->early->seq,
                                     .first = (uint16_t) packed->named,
                                     .blocks = (uint8_t) blocks,
                                     .last = packed->named + blocks == packed->blocks};
    struct world_am *am;

    memcpy(fragment.bytes, &packed->bytes[packed->named], blocks * sizeof(fragment.bytes[0]));
    packed->named += blocks;
    am = world_am_make(&message->world->nodes[message->from], message, TAG_PACKED, &fragment,
                       sizeof(fragment), header, sizeof(*header));
    am->am.channel = RBUF_BULK;
    world_am_sent(am, rbuf_am_send_as(link_of(message)->peer, &am->am, RBUF_MESSAGE_FRAGMENT, 0) !=
                          RBUF_AM_IDLE);
    return bytes;
}

static uint64_t send_fragment(struct world_message *message, const struct user_fragment *header)
{
    const uint64_t bytes =
        less(message->bytes - header->offset, message->world->options.fragment_bytes);

    world_am_send(world_am_make(&message->world->nodes[message->from], message, TAG_PACKED, header,
                                sizeof(*header), message->source + header->offset, bytes),
                  message->to, RBUF_BULK, 0);
    return bytes;
}

/* Gives what is left of the early data up: nothing was packed, blocks are longer than fragments may
 * be, or, now and then, as Open MPI may ask for something else. */
static void abandon_early(struct world_message *message)
{
    struct world_packed *packed = &message->packed;

    if (packed->early != NULL && (packed->named < packed->blocks || packed->blocks == 0)) {
        rbuf_early_close(link_of(message)->peer, packed->early);
    }
    packed->early = NULL;
    packed->blocks = packed->named;
}

void world_packed_answered(struct world_message *message)
{
    struct world_link *link = link_of(message);
    struct user_fragment header = {.message = message};

    if (link->packing == message) {
        link->packing = NULL;
    }
    while (header.offset < message->bytes && link->peer->state != RBUF_PEER_FAILED) {
        uint64_t bytes;
        uint32_t blocks = blocks_for(message, &bytes);

        if (blocks == 0 || (header.offset > 0 && message->seed % GIVEN_UP_OF == 0)) {
            abandon_early(message);
            blocks = 0;
        }
        header.offset += blocks > 0 ? name_blocks(message, &header, blocks, bytes)
                                    : send_fragment(message, &header);
    }
    world_give_back(message, &message->source, &message->source_key);
}

/* ---- the receiver ---- */

/* Takes the payload up; false if it has more bytes than are wanted. */
static bool take_bytes(struct world_message *message, const void *data, uint64_t bytes)
{
    if (bytes > message->bytes - message->packed.taken) {
        return false;
    }
    memcpy(message->target + message->packed.taken, data, bytes);
    message->packed.taken += bytes;
    return true;
}

static bool take_blocks(const struct world_node *node, struct world_message *message,
                        const struct rbuf_fragment *fragment, uint32_t first)
{
    for (uint32_t i = 0; i < fragment->blocks; i++) {
        if (!take_bytes(message, rbuf_arena_block(&node->core.receive_arena, first + i),
                        fragment->bytes[i])) {
            return false;
        }
    }
    return true;
}

void world_packed_take(const struct world_node *node, const struct rbuf_delivery *delivery)
{
    const bool named = delivery->extra == RBUF_EXTRA_FRAGMENT;
    const unsigned char *at = delivery->data;
    const size_t before = named ? sizeof(struct rbuf_fragment) : 0;
    struct world_message *message;
    struct user_fragment header;

    memcpy(&header, at + before, sizeof(header));
    message = header.message;
    if (message->state != WORLD_OPEN || header.offset != message->packed.taken ||
        !(named ? take_blocks(node, message, delivery->data, delivery->early)
                : take_bytes(message, at + sizeof(header), delivery->bytes - sizeof(header)))) {
        world_close_message(message, WORLD_CORRUPT);
        return;
    }
    if (message->packed.taken == message->bytes) {
        bool right = world_target_right(message);

        world_give_back(message, &message->target, &message->target_key);
        world_close_message(message, right ? WORLD_ARRIVED : WORLD_CORRUPT);
    }
}
