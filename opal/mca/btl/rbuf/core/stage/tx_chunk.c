/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Chunks in the send arena (core/stage/tx_chunk.h): staging taken and given back, the copy into
 * it, the flags, the write.
 */
#include "core/stage/tx_chunk.h"

#include <stdlib.h>

#include "core/base/copy.h"
#include "core/stage/flag.h"
#include "core/stage/staging.h"
#include "core/link/credit.h"

uint32_t rbuf_tx_chunk_blocks(const struct rbuf_arena *arena, const struct rbuf_schedule *schedule,
                              uint32_t blocks)
{
    uint64_t bytes = (uint64_t) blocks * schedule->block_bytes;

    return (uint32_t) ((bytes + arena->block_bytes - 1) / arena->block_bytes);
}

void rbuf_tx_chunks_open(struct rbuf_core *core)
{
    STAILQ_INIT(&core->stage.chunks_free);
}

void rbuf_tx_chunks_close(struct rbuf_core *core)
{
    struct rbuf_tx_chunk *chunk;

    while ((chunk = STAILQ_FIRST(&core->stage.chunks_free)) != NULL) {
        STAILQ_REMOVE_HEAD(&core->stage.chunks_free, link);
        free(chunk);
    }
}

void rbuf_tx_chunk_free(struct rbuf_core *core, struct rbuf_tx_chunk *chunk)
{
    rbuf_arena_give(&core->send_arena, chunk->arena_first, chunk->arena_blocks);
    STAILQ_INSERT_HEAD(&core->stage.chunks_free, chunk, link);
}

static void completed(struct rbuf_work *work, int status)
{
    (void) status;
    rbuf_tx_chunk_free(work->peer->core, rbuf_tx_chunk_of(work));
}

struct rbuf_tx_chunk *rbuf_tx_chunk_take(struct rbuf_peer *peer,
                                         const struct rbuf_schedule *schedule,
                                         const struct rbuf_chunk *shape)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_tx_chunk *chunk = STAILQ_FIRST(&core->stage.chunks_free);
    uint32_t blocks = rbuf_tx_chunk_blocks(&core->send_arena, schedule, shape->blocks);
    uint32_t first;

    if (chunk == NULL) {
        chunk = malloc(sizeof(*chunk));
        if (chunk == NULL) {
            return NULL;
        }
        STAILQ_INSERT_HEAD(&core->stage.chunks_free, chunk, link);
    }
    if (!rbuf_staging_take(core, &core->send_arena, blocks, &first)) {
        return NULL;
    }
    STAILQ_REMOVE_HEAD(&core->stage.chunks_free, link);
    *chunk = (struct rbuf_tx_chunk){.work = {.completed = completed, .peer = peer},
                                    .shape = *shape,
                                    .data = rbuf_arena_block(&core->send_arena, first),
                                    .lkey = rbuf_arena_extent(&core->send_arena, first)->lkey,
                                    .arena_first = first,
                                    .arena_blocks = blocks};
    return chunk;
}

static uint64_t *flag_at(unsigned char *block, const struct rbuf_schedule *schedule)
{
    return (uint64_t *) (void *) (block + rbuf_block_payload(schedule));
}

void rbuf_tx_chunk_fill(struct rbuf_tx_chunk *chunk, const struct rbuf_schedule *schedule,
                        enum rbuf_proof proof, uint64_t flag, const unsigned char *source,
                        uint64_t *budget)
{
    uint32_t payload = rbuf_block_payload(schedule);

    chunk->proof = proof;
    while (chunk->filled_blocks<chunk->shape.blocks && * budget> 0) {
        uint32_t bytes = chunk->filled_blocks == 0 ? chunk->shape.first_bytes : payload;
        unsigned char *block = chunk->data + (size_t) chunk->filled_blocks * schedule->block_bytes;
        const unsigned char *from = source + chunk->shape.offset + chunk->filled;

        rbuf_copy_soon(from + 2 * payload);
        if (proof == RBUF_PROOF_CHECKSUM) {
            *flag_at(block, schedule) =
                rbuf_flag_checked(flag + chunk->shape.first_block + chunk->filled_blocks,
                                  rbuf_copy_checksum(block + payload - bytes, from, bytes));
        } else {
            rbuf_copy(block + payload - bytes, from, bytes);
        }
        chunk->filled += bytes;
        chunk->filled_blocks++;
        *budget -= bytes < *budget ? bytes : *budget;
    }
}

void rbuf_tx_chunk_fill_dense(struct rbuf_tx_chunk *chunk, const unsigned char *source,
                              uint64_t *budget)
{
    const uint32_t most = chunk->work.peer->core->send_arena.block_bytes;

    while (*budget > 0 && chunk->filled < chunk->shape.bytes) {
        const unsigned char *from = source + chunk->shape.offset + chunk->filled;
        const uint32_t left = chunk->shape.bytes - chunk->filled;
        const uint32_t bytes = left < most ? left : most;

        rbuf_copy_soon(from + 2 * (size_t) most);
        rbuf_copy(chunk->data + chunk->filled, from, bytes);
        chunk->filled += bytes;
        *budget -= bytes < *budget ? bytes : *budget;
    }
}

/* Writes the flags without checksums into the blocks, as often as the post is tried. They reach the
 * receiver with the payload in front of them. */
static void stamp(struct rbuf_tx_chunk *chunk, const struct rbuf_schedule *schedule, uint64_t flag)
{
    if (chunk->proof == RBUF_PROOF_CHECKSUM) {
        return;
    }
    for (uint32_t i = 0; i < chunk->shape.blocks; i++) {
        *flag_at(chunk->data + (size_t) i * schedule->block_bytes, schedule) =
            flag + chunk->shape.first_block + i;
    }
}

enum rbuf_fab_status rbuf_tx_chunk_write(struct rbuf_tx_chunk *chunk,
                                         const struct rbuf_schedule *schedule, uint64_t flag,
                                         uint64_t address, uint32_t rkey, const uint32_t *immediate)
{
    struct rbuf_peer *peer = chunk->work.peer;
    struct rbuf_fab_queue *queue = peer->queue[RBUF_BULK];
    const uint32_t lead = rbuf_chunk_lead(schedule, &chunk->shape);
    const uint32_t bytes = rbuf_chunk_wire_bytes(schedule, &chunk->shape);

    stamp(chunk, schedule, flag);
    if (immediate == NULL) {
        return rbuf_fab_write(queue, chunk->data + lead, chunk->lkey, bytes, address + lead, rkey,
                              &chunk->work);
    }
    if (!rbuf_fab_has_room(queue, true) || !rbuf_credit_available(peer, RBUF_FLOW_BULK)) {
        return RBUF_FAB_AGAIN;
    }
    rbuf_credit_use(peer, RBUF_FLOW_BULK, 1);
    return rbuf_fab_write_immediate(queue, chunk->data + lead, chunk->lkey, bytes, address + lead,
                                    rkey, *immediate, &chunk->work);
}
