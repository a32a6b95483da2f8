/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/prestage.h"

#include "core/sender.h"
#include "core/standing.h"
#include "core/tx_chunk.h"

void rbuf_prestage_drop(struct rbuf_peer *peer)
{
    if (peer->prestage.chunk != NULL) {
        TAILQ_REMOVE(&peer->core->prestaged, peer, prestage.link);
        rbuf_tx_chunk_free(peer->core, peer->prestage.chunk);
        peer->core->stats.prestaged_dropped++;
    }
    peer->prestage.chunk = NULL;
    peer->prestage.source = NULL;
}

bool rbuf_prestage_reclaim(struct rbuf_core *core)
{
    struct rbuf_peer *victim = TAILQ_FIRST(&core->prestaged);

    if (victim != NULL) {
        rbuf_prestage_drop(victim);
    }
    return victim != NULL;
}

void rbuf_prestage_adopt(struct rbuf_put *put)
{
    struct rbuf_peer *peer = put->peer;
    struct rbuf_tx_chunk *chunk = peer->prestage.chunk;

    if (peer->prestage.source != put->source) {
        return;
    }
    if (chunk != NULL && chunk->shape.bytes == put->next.bytes &&
        chunk->shape.blocks == put->next.blocks &&
        chunk->shape.first_bytes == put->next.first_bytes &&
        put->offer.schedule.block_bytes == peer->core->options.schedule.block_bytes) {
        TAILQ_REMOVE(&peer->core->prestaged, peer, prestage.link);
        chunk->shape = put->next;
        put->filling = chunk;
        peer->prestage.chunk = NULL;
        peer->core->stats.prestaged++;
    }
    rbuf_prestage_drop(peer);
}

void rbuf_prestage_cancel(struct rbuf_peer *peer, const void *source)
{
    if (peer->prestage.source == source) {
        rbuf_prestage_drop(peer);
    }
    rbuf_standing_out_cancel(peer, source);
}

void rbuf_prestage(struct rbuf_peer *peer, const void *source, uint64_t length)
{
    rbuf_prestage_drop(peer);
    rbuf_standing_out_rendezvous(peer, source, length);
    if (length > 0 && peer->state == RBUF_PEER_CONNECTED) {
        peer->prestage.source = source;
        peer->prestage.length = length;
        rbuf_peer_wake(peer);
    }
}

void rbuf_prestage_fill(struct rbuf_peer *peer, uint64_t *budget)
{
    struct rbuf_prestage *prestage = &peer->prestage;
    const struct rbuf_schedule *schedule = &peer->core->options.schedule;
    struct rbuf_chunk shape;
    uint64_t whole;

    if (prestage->source == NULL || prestage->chunk != NULL) {
        return;
    }
    rbuf_schedule_first(schedule, prestage->length, &shape);
    if (TAILQ_EMPTY(&peer->puts) && *budget > 0) { /* a guess does not go ahead of what is sure */
        prestage->chunk = rbuf_tx_chunk_take(peer, schedule, &shape);
    }
    if (prestage->chunk == NULL) {
        prestage->source = NULL;
        return;
    }
    TAILQ_INSERT_TAIL(&peer->core->prestaged, peer, prestage.link);
    whole = shape.bytes;
    rbuf_tx_chunk_fill(prestage->chunk, schedule, RBUF_CHUNK_BLOCKS, prestage->source, &whole);
    *budget -= shape.bytes < *budget ? shape.bytes : *budget;
}
