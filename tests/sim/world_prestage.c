/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Prestaging: the paper's way with the first chunk (section 4), whose copy hides under the
 * rendezvous. Core has early data instead, which hide more than that; here the user does it, for
 * the figures that compare the two.
 *
 * The sender's processor copies the chunk into send staging in the turn behind the question, and
 * the put begins with it when the answer is there. One message at a time, and one that is sent
 * alone: a chunk that waits is nobody else's.
 */
#include "core/stage/tx_chunk.h"
#include "inspect/rendezvous.h"
#include "world.h"

void world_prestage(struct world_message *message)
{
    message->world->nodes[message->from].prestaging = message;
}

bool world_prestage_progress(struct world_node *node)
{
    struct world_message *message = node->prestaging;
    const struct rbuf_schedule *schedule = &node->core.options.schedule;
    struct rbuf_chunk shape;
    uint64_t whole;

    node->prestaging = NULL;
    if (message == NULL || message->state != WORLD_OPEN) {
        return false;
    }
    rbuf_schedule_first(schedule, message->bytes, &shape);
    message->prestaged = rbuf_tx_chunk_take(node->links[message->to].peer, schedule, &shape);
    if (message->prestaged == NULL) {
        return false;
    }
    whole = shape.bytes;
    rbuf_tx_chunk_fill(message->prestaged, schedule, RBUF_PROOF_ORDER, 0, message->source, &whole);
    return true;
}

static void drop(struct world_message *message)
{
    if (message->prestaged != NULL) {
        rbuf_tx_chunk_free(&message->world->nodes[message->from].core, message->prestaged);
        message->prestaged = NULL;
    }
}

/* Begins the put as core does, with the chunk filled. False: it is no staged one. */
bool world_prestage_start(struct world_message *message)
{
    struct rbuf_put *put = &message->put;
    struct rbuf_peer *peer = message->world->nodes[message->from].links[message->to].peer;

    if (put->offer.mode != RBUF_OFFER_STAGED || put->offer.ask != 0 || put->offer.early != 0 ||
        peer->state != RBUF_PEER_CONNECTED ||
        !inspect_begin_filled(peer, put, message->prestaged)) {
        drop(message);
        return false;
    }
    message->prestaged = NULL;
    return true;
}
