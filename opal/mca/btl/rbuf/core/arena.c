/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define WORD_BITS 64u

int rbuf_arena_open(struct rbuf_arena *arena, void *base, size_t bytes, uint32_t block_bytes,
                    uint32_t lkey, uint32_t rkey)
{
    uint32_t blocks = (uint32_t) (bytes / block_bytes);
    uint64_t *taken = calloc(blocks / WORD_BITS + 1, sizeof(*taken));

    if (taken == NULL) {
        return -ENOMEM;
    }
    *arena = (struct rbuf_arena){.base = base,
                                 .lkey = lkey,
                                 .rkey = rkey,
                                 .block_bytes = block_bytes,
                                 .blocks = blocks,
                                 .free_blocks = blocks,
                                 .smallest_miss = UINT32_MAX,
                                 .next_flag = 1,
                                 .taken = taken};
    return 0;
}

void rbuf_arena_close(struct rbuf_arena *arena)
{
    free(arena->taken);
    *arena = (struct rbuf_arena){0};
}

/* The first block at or after `block` whose state is `state`; arena->blocks if none. */
static uint32_t skip_to(const struct rbuf_arena *arena, uint32_t block, bool state)
{
    while (block < arena->blocks) {
        uint64_t word = arena->taken[block / WORD_BITS];

        word = (state ? word : ~word) >> (block % WORD_BITS);
        if (word != 0) {
            block += (uint32_t) __builtin_ctzll(word);
            return block < arena->blocks ? block : arena->blocks;
        }
        block = (block / WORD_BITS + 1) * WORD_BITS;
    }
    return arena->blocks;
}

static void mark(struct rbuf_arena *arena, uint32_t first, uint32_t count, bool state)
{
    while (count > 0) {
        uint32_t bit = first % WORD_BITS;
        uint32_t here = WORD_BITS - bit < count ? WORD_BITS - bit : count;
        uint64_t bits = (here == WORD_BITS ? ~0ull : (1ull << here) - 1) << bit;

        if (state) {
            arena->taken[first / WORD_BITS] |= bits;
        } else {
            arena->taken[first / WORD_BITS] &= ~bits;
        }
        first += here;
        count -= here;
    }
}

bool rbuf_arena_take(struct rbuf_arena *arena, uint32_t count, uint32_t *first)
{
    uint32_t start;

    if (count > arena->free_blocks || count >= arena->smallest_miss) {
        return false;
    }
    start = skip_to(arena, arena->lowest_free, false);
    arena->lowest_free = start;
    while (start < arena->blocks) {
        uint32_t end = skip_to(arena, start, true);

        if (end - start >= count) {
            mark(arena, start, count, true);
            arena->free_blocks -= count;
            *first = start;
            return true;
        }
        start = skip_to(arena, end, false);
    }
    arena->smallest_miss = count;
    return false;
}

void rbuf_arena_give(struct rbuf_arena *arena, uint32_t first, uint32_t count)
{
    assert(count > 0 && first + count <= arena->blocks &&
           skip_to(arena, first, false) >= first + count);
    mark(arena, first, count, false);
    arena->free_blocks += count;
    arena->smallest_miss = UINT32_MAX;
    if (first < arena->lowest_free) {
        arena->lowest_free = first;
    }
}
