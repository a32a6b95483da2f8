/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The blocks of an arena (core/base/arena.h): a bit each, searched first fit, extent by extent.
 */
#include "core/base/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/fill.h"

#define WORD_BITS 64u

static uint32_t least(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* Appends an extent of `blocks` blocks. */
static void add_extent(struct rbuf_arena *arena, uint32_t blocks, uint32_t lkey, uint32_t rkey)
{
    arena->blocks += blocks;
    arena->free_blocks += blocks;
    arena->smallest_miss = UINT32_MAX;
    arena->extent[arena->extents++] =
        (struct rbuf_arena_extent){.end = arena->blocks, .lkey = lkey, .rkey = rkey};
    arena->growth = rbuf_arena_step(arena) > 0 ? RBUF_ARENA_READY : RBUF_ARENA_GROWN;
}

int rbuf_arena_open(struct rbuf_arena *arena, const struct rbuf_region *region,
                    uint32_t block_bytes)
{
    size_t most = region->most_bytes > region->bytes ? region->most_bytes : region->bytes;
    uint32_t most_blocks = (uint32_t) (most / block_bytes);
    const size_t words = most_blocks / WORD_BITS + 1;
    uint64_t *taken = calloc(2 * words, sizeof(*taken));

    if (taken == NULL) {
        return -ENOMEM;
    }
    *arena = (struct rbuf_arena){.base = region->base,
                                 .block_bytes = block_bytes,
                                 .most_blocks = most_blocks,
                                 .next_flag = 1,
                                 .taken = taken,
                                 .filled = taken + words};
    add_extent(arena, (uint32_t) (region->bytes / block_bytes), region->lkey, region->rkey);
    return 0;
}

void rbuf_arena_close(struct rbuf_arena *arena)
{
    free(arena->taken);
    *arena = (struct rbuf_arena){0};
}

/* The first block at or after `block` whose state is `state`; `end` if none is before that. */
static uint32_t skip_to(const uint64_t *blocks, uint32_t block, uint32_t end, bool state)
{
    while (block < end) {
        uint64_t word = blocks[block / WORD_BITS];

        word = (state ? word : ~word) >> (block % WORD_BITS);
        if (word != 0) {
            return least(block + (uint32_t) __builtin_ctzll(word), end);
        }
        block = (block / WORD_BITS + 1) * WORD_BITS;
    }
    return end;
}

static void mark(uint64_t *blocks, uint32_t first, uint32_t count, bool state)
{
    while (count > 0) {
        uint32_t bit = first % WORD_BITS;
        uint32_t here = WORD_BITS - bit < count ? WORD_BITS - bit : count;
        uint64_t bits = (here == WORD_BITS ? ~0ull : (1ull << here) - 1) << bit;

        if (state) {
            blocks[first / WORD_BITS] |= bits;
        } else {
            blocks[first / WORD_BITS] &= ~bits;
        }
        first += here;
        count -= here;
    }
}

/* The first run of `count` free blocks in [start, end); `end` if there is none. */
static uint32_t find_run(const struct rbuf_arena *arena, uint32_t start, uint32_t end,
                         uint32_t count)
{
    start = skip_to(arena->taken, start, end, false);
    while (start < end) {
        uint32_t behind = skip_to(arena->taken, start, end, true);

        if (behind - start >= count) {
            return start;
        }
        start = skip_to(arena->taken, behind, end, false);
    }
    return end;
}

/* The same, without what is kept. */
static uint32_t find(const struct rbuf_arena *arena, uint32_t start, uint32_t end, uint32_t count)
{
    if (start < arena->kept_end && end > arena->kept_first) {
        uint32_t found = find_run(arena, start, arena->kept_first, count);

        if (found < arena->kept_first) {
            return found;
        }
        start = least(arena->kept_end, end);
    }
    return find_run(arena, start, end, count);
}

static void take(struct rbuf_arena *arena, uint32_t first, uint32_t count)
{
    mark(arena->taken, first, count, true);
    arena->free_blocks -= count;
}

bool rbuf_arena_take(struct rbuf_arena *arena, uint32_t count, uint32_t *first)
{
    if (count > arena->free_blocks || count >= arena->smallest_miss) {
        return false;
    }
    arena->lowest_free = skip_to(arena->taken, arena->lowest_free, arena->blocks, false);
    for (const struct rbuf_arena_extent *extent = rbuf_arena_extent(arena, arena->lowest_free);
         extent < arena->extent + arena->extents; extent++) {
        uint32_t begin = extent == arena->extent ? 0 : extent[-1].end;
        uint32_t start = begin > arena->lowest_free ? begin : arena->lowest_free;
        uint32_t found = find(arena, start, extent->end, count);

        if (found < extent->end) {
            take(arena, found, count);
            *first = found;
            return true;
        }
    }
    arena->smallest_miss = count;
    return false;
}

void rbuf_arena_keep(struct rbuf_arena *arena, uint32_t first, uint32_t count)
{
    arena->kept_first = first;
    arena->kept_end = count > 0 ? first + count : 0;
    arena->smallest_miss = UINT32_MAX;
}

bool rbuf_arena_take_at(struct rbuf_arena *arena, uint32_t first, uint32_t count)
{
    assert(first + count <= rbuf_arena_extent(arena, first)->end);
    if (skip_to(arena->taken, first, first + count, true) < first + count) {
        return false;
    }
    take(arena, first, count);
    return true;
}

void rbuf_arena_give(struct rbuf_arena *arena, uint32_t first, uint32_t count)
{
    assert(count > 0 && first + count <= arena->blocks &&
           skip_to(arena->taken, first, first + count, false) == first + count);
    mark(arena->taken, first, count, false);
    mark(arena->filled, first, count, false);
    arena->free_blocks += count;
    arena->smallest_miss = UINT32_MAX;
    arena->lowest_free = least(arena->lowest_free, first);
}

/* Fills the block unless it is. */
static void fill_block(const struct rbuf_arena *arena, uint32_t block, uint64_t value)
{
    if ((arena->filled[block / WORD_BITS] >> block % WORD_BITS & 1) == 0) {
        rbuf_fill(rbuf_arena_block(arena, block), arena->block_bytes, value);
        mark(arena->filled, block, 1, true);
    }
}

void rbuf_arena_fill(struct rbuf_arena *arena, uint32_t first, uint32_t count, uint64_t value)
{
    for (uint32_t block = first; block < first + count; block++) {
        fill_block(arena, block, value);
    }
}

void rbuf_arena_want_fill(struct rbuf_arena *arena, uint32_t first, uint32_t count)
{
    if (arena->fill_first == arena->fill_end) {
        arena->fill_first = first;
        arena->fill_end = first + count;
    } else {
        arena->fill_first = least(arena->fill_first, first);
        arena->fill_end = first + count > arena->fill_end ? first + count : arena->fill_end;
    }
}

bool rbuf_arena_fill_some(struct rbuf_arena *arena, uint32_t most, uint64_t value)
{
    uint32_t block = skip_to(arena->taken, arena->fill_first, arena->fill_end, false);

    for (uint32_t i = 0; i < most && block < arena->fill_end; i++) {
        fill_block(arena, block, value);
        block = skip_to(arena->taken, block + 1, arena->fill_end, false);
    }
    arena->fill_first = block;
    return block < arena->fill_end;
}

uint32_t rbuf_arena_step(const struct rbuf_arena *arena)
{
    uint32_t rest = arena->most_blocks - arena->blocks;

    /* What would be left behind the next extent, and is less than that, goes with it. */
    return rest / 2 < arena->blocks ? rest : arena->blocks;
}

void rbuf_arena_grow(struct rbuf_arena *arena, uint32_t lkey, uint32_t rkey)
{
    add_extent(arena, rbuf_arena_step(arena), lkey, rkey);
}

uint32_t rbuf_arena_longest(const struct rbuf_arena *arena)
{
    uint32_t longest = 0;
    uint32_t begin = 0;

    for (uint32_t i = 0; i < arena->extents; i++) {
        uint32_t blocks = arena->extent[i].end - begin;

        longest = blocks > longest ? blocks : longest;
        begin = arena->extent[i].end;
    }
    return longest;
}
