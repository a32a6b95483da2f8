/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A staging arena: registered memory handed out in runs of whole blocks.
 *
 * Owns which blocks are taken, not the memory. The block grid is fixed: block k starts at
 * base + k * block_bytes, and its last 8 bytes are a flag and never payload, whoever uses it. Flag
 * values come from one counter and never repeat, so a flag is recognised without ever being
 * cleared, however the arena is cut up over time.
 *
 * Standing lanes lie behind the last block, on the same grid, with flags of their own
 * (core/standing.h).
 *
 * First fit from the low end, because memory used a moment ago is in the cache.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_CORE_ARENA_H
#define RBUF_CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rbuf_arena {
    unsigned char *base; /* page-aligned */
    uint32_t lkey;
    uint32_t rkey;
    uint32_t block_bytes;
    uint32_t blocks;
    uint32_t free_blocks;
    uint32_t lowest_free; /* no block below is free */
    uint32_t
        smallest_miss;  /* runs of this many blocks or more were not found since the last free */
    uint64_t next_flag; /* never 0, never repeats */
    uint64_t *taken;    /* one bit a block */
};

/* Takes over `bytes` of registered memory at `base` (the caller keeps owning it, and frees it after
 * rbuf_arena_close()). 0, or -ENOMEM. */
int rbuf_arena_open(struct rbuf_arena *arena, void *base, size_t bytes, uint32_t block_bytes,
                    uint32_t lkey, uint32_t rkey);

void rbuf_arena_close(struct rbuf_arena *arena);

/* A run of `count` > 0 blocks in `*first`; false, and `*first` unchanged, if there is none. */
bool rbuf_arena_take(struct rbuf_arena *arena, uint32_t count, uint32_t *first);

void rbuf_arena_give(struct rbuf_arena *arena, uint32_t first, uint32_t count);

static inline unsigned char *rbuf_arena_block(const struct rbuf_arena *arena, uint32_t block)
{
    return arena->base + (size_t) block * arena->block_bytes;
}

#endif
