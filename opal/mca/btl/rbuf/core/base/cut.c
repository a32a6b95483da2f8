/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The chunks of copied puts and gets (core/base/cut.h).
 */
#include "core/base/cut.h"

#define ROUND_HALF (1u << 15)

/* Sizes are 48.16 fixed point, blocks. */
static uint64_t first_size(const struct rbuf_schedule *schedule, enum rbuf_cut cut)
{
    const bool opens = cut == RBUF_CUT_PUT && schedule->opening_blocks > 0;

    return (uint64_t) (opens ? schedule->opening_blocks : schedule->first_blocks) << 16;
}

static uint64_t most_size(const struct rbuf_schedule *schedule)
{
    return (uint64_t) schedule->buffer_blocks << 16;
}

static uint64_t next_size(const struct rbuf_schedule *schedule, uint64_t size)
{
    const uint64_t first = (uint64_t) schedule->first_blocks << 16;
    const uint64_t grown = (size * schedule->growth) >> 16;

    if (size < first) { /* the opening chunk's */
        return first;
    }
    return grown < most_size(schedule) ? grown : most_size(schedule);
}

static uint64_t bytes_of(const struct rbuf_schedule *schedule, uint64_t size)
{
    return ((size + ROUND_HALF) >> 16) * schedule->block_bytes;
}

/* Of a put's next chunk: as long as its turn is, or all that is left if a block at most would
 * follow: one more chunk has its price. */
static uint64_t put_bytes(const struct rbuf_schedule *schedule, uint64_t left, uint64_t size)
{
    const uint64_t most = bytes_of(schedule, most_size(schedule));
    const uint64_t wanted = bytes_of(schedule, size);

    return left <= most && left <= wanted + schedule->block_bytes ? left : wanted;
}

/* Of a get's next chunk: what is left, less the shorter ones behind it. */
static uint64_t get_bytes(const struct rbuf_schedule *schedule, uint64_t left)
{
    const uint64_t most = bytes_of(schedule, most_size(schedule));
    uint64_t size = bytes_of(schedule, first_size(schedule, RBUF_CUT_GET));
    uint64_t behind = 0;

    while (left - behind > size + size / 2 && size < most) {
        behind += size;
        size = 2 * size;
    }
    return left - behind < most ? left - behind : most;
}

static void shape(const struct rbuf_schedule *schedule, enum rbuf_cut cut, uint64_t length,
                  struct rbuf_chunk *chunk)
{
    const uint64_t left = length - chunk->offset;
    uint64_t bytes;

    if (cut == RBUF_CUT_GET && schedule->growth > RBUF_GROWTH_ONE) {
        bytes = get_bytes(schedule, left);
    } else {
        bytes = put_bytes(schedule, left, chunk->next_size);
        chunk->next_size = next_size(schedule, chunk->next_size);
    }
    chunk->bytes = (uint32_t) bytes;
    chunk->blocks = (uint32_t) ((bytes + schedule->block_bytes - 1) / schedule->block_bytes);
}

void rbuf_cut_first(const struct rbuf_schedule *schedule, enum rbuf_cut cut, uint64_t length,
                    struct rbuf_chunk *chunk)
{
    *chunk = (struct rbuf_chunk){.next_size = first_size(schedule, cut)};
    shape(schedule, cut, length, chunk);
}

bool rbuf_cut_next(const struct rbuf_schedule *schedule, enum rbuf_cut cut, uint64_t length,
                   struct rbuf_chunk *chunk)
{
    if (chunk->offset + chunk->bytes >= length) {
        return false;
    }
    chunk->index++;
    chunk->offset += chunk->bytes;
    shape(schedule, cut, length, chunk);
    return true;
}
