/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The chunks of a schedule (core/base/schedule.h). Pure functions, in integers alone: both sides
 * get the same.
 */
#include "core/base/schedule.h"

#include <stddef.h>

#define ROUND_HALF (1u << 15)

bool rbuf_schedule_valid(const struct rbuf_schedule *schedule)
{
    uint32_t block = schedule->block_bytes;

    return block >= 64 && block <= (1u << 30) && (block & (block - 1)) == 0 &&
           schedule->growth >= RBUF_GROWTH_ONE && schedule->growth <= RBUF_GROWTH_MAX &&
           schedule->first_blocks >= 1 && schedule->first_blocks <= schedule->buffer_blocks &&
           schedule->buffers >= 1 && schedule->buffers <= RBUF_BUFFERS_MAX &&
           schedule->taper <= RBUF_TAPER_TAIL &&
           schedule->opening_blocks <= schedule->buffer_blocks &&
           (uint64_t) schedule->buffer_blocks * block <= UINT32_MAX;
}

/* Fits the chunk's wish of `wanted` blocks to what is left of the message. What is left behind the
 * first chunk is whole blocks. */
static void fit_chunk(const struct rbuf_schedule *schedule, uint64_t length, uint64_t wanted,
                      struct rbuf_chunk *chunk)
{
    uint32_t payload = rbuf_block_payload(schedule);
    uint64_t left = length - chunk->offset;
    uint64_t left_blocks = (left - 1) / payload + 1;
    uint64_t half = (left_blocks + 1) / 2;

    chunk->first_bytes = (uint32_t) (left - (left_blocks - 1) * payload);
    if (chunk->first_bytes < payload / 2) {
        wanted++; /* as near to the wish, in bytes, as blocks allow */
    }
    if (wanted > schedule->buffer_blocks) {
        wanted = schedule->buffer_blocks;
    }
    if (schedule->taper == RBUF_TAPER_TAIL && wanted > half && wanted > schedule->first_blocks) {
        wanted = half > schedule->first_blocks ? half : schedule->first_blocks;
    }
    chunk->blocks = (uint32_t) (wanted < left_blocks ? wanted : left_blocks);
    chunk->bytes = chunk->first_bytes + (chunk->blocks - 1) * payload;
}

static uint64_t grow(const struct rbuf_schedule *schedule, uint64_t size)
{
    uint64_t cap = (uint64_t) schedule->buffer_blocks << 16;
    uint64_t grown = (size * schedule->growth) >> 16;

    return grown < cap ? grown : cap;
}

void rbuf_schedule_first(const struct rbuf_schedule *schedule, uint64_t length,
                         struct rbuf_chunk *chunk)
{
    uint64_t size = (uint64_t) schedule->first_blocks << 16;
    bool opens = schedule->opening_blocks > 0;

    *chunk = (struct rbuf_chunk){.next_size = opens ? size : grow(schedule, size)};
    fit_chunk(schedule, length, opens ? schedule->opening_blocks : schedule->first_blocks, chunk);
}

bool rbuf_schedule_next(const struct rbuf_schedule *schedule, uint64_t length,
                        struct rbuf_chunk *chunk)
{
    if (chunk->offset + chunk->bytes >= length) {
        return false;
    }
    chunk->index++;
    chunk->offset += chunk->bytes;
    chunk->first_block += chunk->blocks;
    fit_chunk(schedule, length, (chunk->next_size + ROUND_HALF) >> 16, chunk);
    chunk->next_size = grow(schedule, chunk->next_size);
    return true;
}

/* How many of the next chunks surely have the size of the next one: all but the last two of those,
 * once it does not grow any more. */
static uint64_t steady_chunks(const struct rbuf_schedule *schedule, const struct rbuf_chunk *chunk,
                              uint64_t left_blocks)
{
    uint64_t size = (chunk->next_size + ROUND_HALF) >> 16;

    if (grow(schedule, chunk->next_size) != chunk->next_size || left_blocks / size < 2) {
        return 0;
    }
    return left_blocks / size - 1;
}

void rbuf_schedule_measure(const struct rbuf_schedule *schedule, uint64_t length,
                           struct rbuf_extent *extent)
{
    const uint32_t payload = rbuf_block_payload(schedule);
    struct rbuf_chunk chunk;

    *extent = (struct rbuf_extent){.blocks = (length - 1) / payload + 1};
    rbuf_schedule_first(schedule, length, &chunk);
    do {
        uint64_t left = extent->blocks - chunk.first_block - chunk.blocks;
        uint64_t steady = steady_chunks(schedule, &chunk, left);

        if (chunk.blocks > extent->largest_blocks) {
            extent->largest_blocks = chunk.blocks;
        }
        extent->chunks++;
        if (steady > 0) { /* walking them one by one could take for ever */
            uint32_t size = (uint32_t) ((chunk.next_size + ROUND_HALF) >> 16);

            extent->chunks += steady;
            chunk.offset += steady * size * payload;
            chunk.first_block += steady * size;
            if (size > extent->largest_blocks) {
                extent->largest_blocks = size;
            }
        }
    } while (rbuf_schedule_next(schedule, length, &chunk));
}

uint32_t rbuf_schedule_prefix(const struct rbuf_schedule *schedule, uint32_t blocks, uint32_t *next)
{
    uint64_t size = (uint64_t) schedule->first_blocks << 16;
    uint32_t wanted = schedule->first_blocks;
    uint32_t sum = schedule->opening_blocks < blocks ? schedule->opening_blocks : blocks;

    if (sum == 0 && wanted > blocks) {
        sum = blocks;
    }
    while (sum + wanted <= blocks) {
        sum += wanted;
        size = grow(schedule, size);
        wanted = (uint32_t) ((size + ROUND_HALF) >> 16);
    }
    if (next != NULL) {
        *next = wanted;
    }
    return sum;
}

/* The largest whole number whose square is `square` at most. */
static uint64_t root_of(uint64_t square)
{
    uint64_t root = 0;

    for (uint64_t bit = 1ull << 31; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= square) {
            root += bit;
        }
    }
    return root;
}

void rbuf_schedule_pipeline(struct rbuf_schedule *schedule, uint64_t length, uint64_t gap_bytes)
{
    const uint64_t half = gap_bytes / 2;
    const uint64_t square = half > 0 && length > UINT64_MAX / half ? UINT64_MAX : length * half;
    const uint64_t blocks = (root_of(square) + schedule->block_bytes / 2) / schedule->block_bytes;

    schedule->growth = RBUF_GROWTH_ONE;
    schedule->first_blocks = schedule->buffer_blocks;
    if (blocks < schedule->buffer_blocks) {
        schedule->first_blocks = (uint16_t) (blocks > 0 ? blocks : 1);
    }
}

struct rbuf_schedule rbuf_schedule_rest(const struct rbuf_schedule *early, uint32_t slot_blocks,
                                        const struct rbuf_schedule *schedule)
{
    struct rbuf_schedule rest = *schedule;
    uint32_t next;

    if (schedule->growth == RBUF_GROWTH_ONE) {
        return rest;
    }
    (void) rbuf_schedule_prefix(early, slot_blocks, &next);
    rest.first_blocks = next < rest.buffer_blocks ? (uint16_t) next : rest.buffer_blocks;
    return rest;
}

void rbuf_schedule_fit(struct rbuf_schedule *schedule, uint32_t blocks)
{
    if (blocks < schedule->buffer_blocks) {
        schedule->buffer_blocks = (uint16_t) blocks;
    }
    if (blocks < schedule->first_blocks) {
        schedule->first_blocks = (uint16_t) blocks;
    }
    if (blocks < schedule->opening_blocks) {
        schedule->opening_blocks = (uint16_t) blocks;
    }
}

void rbuf_schedule_shrink(struct rbuf_schedule *schedule, uint64_t blocks, uint32_t most_bytes)
{
    const uint32_t most =
        most_bytes > schedule->block_bytes ? most_bytes / schedule->block_bytes : 1;
    uint64_t each;

    if (schedule->buffers > blocks) {
        schedule->buffers = (uint8_t) blocks;
    }
    each = blocks / schedule->buffers;
    rbuf_schedule_fit(schedule, each < most ? (uint32_t) each : most);
}
