/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A staging arena: registered memory handed out in runs of whole blocks.
 *
 * Owns which blocks are taken, not the memory. The block grid is fixed: block k starts at
 * base + k * block_bytes, and its last 8 bytes are a flag and never payload, whoever uses it. Flag
 * values come from one counter and never repeat, so a flag is recognised without ever being
 * cleared, however the arena is cut up over time.
 *
 * An arena may begin with less than its address space holds and grow, never shrink. What it grows
 * by at a time is an extent: registered as a whole, with keys of its own, and at least as large as
 * all before it as long as there is so much. No run goes from one extent into the next, since no
 * request of an adapter could.
 *
 * Where checksums prove what has come, blocks are filled before they are written
 * (core/base/fill.h): those that were given back when there is time, the others by who takes them.
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

#define RBUF_ARENA_EXTENTS 32u /* each doubles the blocks, whose number has as many bits */

struct rbuf_arena_extent {
    uint32_t end; /* the block behind its last; it begins where the one before it ends */
    uint32_t lkey;
    uint32_t rkey;
};

enum rbuf_arena_growth {
    RBUF_ARENA_READY,  /* it grows when somebody has to wait */
    RBUF_ARENA_ASKED,  /* RBUF_EVENT_STAGING is out */
    RBUF_ARENA_GROWN,  /* it has all that there is address space for */
    RBUF_ARENA_REFUSED /* no more can be registered */
};

struct rbuf_arena {
    unsigned char *base; /* page-aligned */
    uint32_t block_bytes;
    uint32_t blocks;      /* registered */
    uint32_t most_blocks; /* that there is address space for */
    uint32_t free_blocks;
    uint32_t lowest_free;   /* no block below is free */
    uint32_t smallest_miss; /* runs of this many blocks or more were not found since the last free,
                               or growth */
    uint32_t extents;
    struct rbuf_arena_extent extent[RBUF_ARENA_EXTENTS];
    enum rbuf_arena_growth growth;
    uint32_t kept_first; /* the run that is kept */
    uint32_t kept_end;   /* 0: none is */
    uint64_t next_flag;  /* never 0, never repeats */
    uint64_t *taken;     /* one bit a block */
    uint64_t *filled;    /* the same; what is said of a block that is taken may be old */
    uint32_t fill_first; /* free blocks to be filled when there is time are from here on */
    uint32_t fill_end;   /* and before this one */
};

/* Registered memory for an arena, owned by the caller until the arena is closed. */
struct rbuf_region {
    void *base; /* page-aligned, zeroed */
    size_t bytes;
    uint32_t lkey;
    uint32_t rkey;
    size_t most_bytes; /* of address space, which may be registered later; less than `bytes`: that
                          is all there will be */
};

/* 0, or -ENOMEM. */
int rbuf_arena_open(struct rbuf_arena *arena, const struct rbuf_region *region,
                    uint32_t block_bytes);

void rbuf_arena_close(struct rbuf_arena *arena);

/* A run of `count` > 0 blocks in `*first`; false, and `*first` unchanged, if there is none. */
bool rbuf_arena_take(struct rbuf_arena *arena, uint32_t count, uint32_t *first);

/* From now on rbuf_arena_take() finds no block of that run, so that it will be free in the end; of
 * the one that was kept before it does again. None is kept if `count` is 0. */
void rbuf_arena_keep(struct rbuf_arena *arena, uint32_t first, uint32_t count);

/* That very run, within an extent, kept or not; false if some of it is taken. */
bool rbuf_arena_take_at(struct rbuf_arena *arena, uint32_t first, uint32_t count);

void rbuf_arena_give(struct rbuf_arena *arena, uint32_t first, uint32_t count);

/* Fills those of a run that is taken which are not. */
void rbuf_arena_fill(struct rbuf_arena *arena, uint32_t first, uint32_t count, uint64_t value);

/* That run, which was given back, is to be filled when there is time. */
void rbuf_arena_want_fill(struct rbuf_arena *arena, uint32_t first, uint32_t count);

/* There is time: fills up to `most` blocks of what is to be filled. False: that was all. */
bool rbuf_arena_fill_some(struct rbuf_arena *arena, uint32_t most, uint64_t value);

/* Blocks that the arena is to grow by next, from arena->blocks on; 0: it has them all. */
uint32_t rbuf_arena_step(const struct rbuf_arena *arena);

/* These blocks are registered now, as one extent. */
void rbuf_arena_grow(struct rbuf_arena *arena, uint32_t lkey, uint32_t rkey);

/* Blocks of the longest run that there can be, now and later. */
uint32_t rbuf_arena_longest(const struct rbuf_arena *arena);

static inline unsigned char *rbuf_arena_block(const struct rbuf_arena *arena, uint32_t block)
{
    return arena->base + (size_t) block * arena->block_bytes;
}

/* The extent that a block lies in, with the run that it is part of. */
static inline const struct rbuf_arena_extent *rbuf_arena_extent(const struct rbuf_arena *arena,
                                                                uint32_t block)
{
    const struct rbuf_arena_extent *extent = arena->extent;

    while (block >= extent->end) {
        extent++;
    }
    return extent;
}

#endif
