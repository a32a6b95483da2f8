/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The staging arena against a naive model: which runs are handed out, that none overlap, and that
 * the block grid does not move.
 */
#include <errno.h>

#include "core/arena.h"
#include "random.h"
#include "unit.h"

#define BLOCKS     777u
#define BLOCK      4096u
#define OPERATIONS 100000
#define RUNS       400u

struct model {
    unsigned char taken[BLOCKS];
    uint32_t free_blocks;
};

struct run {
    uint32_t first;
    uint32_t count;
};

/* First fit from the low end, by looking at every block; BLOCKS if there is no such run. */
static uint32_t model_find(const struct model *model, uint32_t count)
{
    uint32_t length = 0;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        length = model->taken[i] ? 0 : length + 1;
        if (length == count) {
            return i + 1 - count;
        }
    }
    return BLOCKS;
}

static void model_mark(struct model *model, const struct run *run, bool taken)
{
    for (uint32_t i = 0; i < run->count; i++) {
        ck_assert(model->taken[run->first + i] != taken);
        model->taken[run->first + i] = taken;
    }
    model->free_blocks += taken ? -run->count : run->count;
}

static void take(struct rbuf_arena *arena, struct model *model, struct run *runs, uint32_t *held,
                 uint32_t count)
{
    uint32_t first = 0xdead, expected = model_find(model, count);
    bool got = rbuf_arena_take(arena, count, &first);

    ck_assert(got == (expected != BLOCKS));
    if (!got) {
        ck_assert_uint_eq(first, 0xdead);
        return;
    }
    ck_assert_uint_eq(first, expected);
    runs[*held] = (struct run){first, count};
    model_mark(model, &runs[(*held)++], true);
}

static void give(struct rbuf_arena *arena, struct model *model, struct run *runs, uint32_t *held,
                 uint32_t which)
{
    rbuf_arena_give(arena, runs[which].first, runs[which].count);
    model_mark(model, &runs[which], false);
    runs[which] = runs[--*held];
}

START_TEST(random_against_the_model)
{
    static unsigned char base[BLOCK]; /* never touched: the arena owns no memory */
    struct model model = {.free_blocks = BLOCKS};
    struct sim_random random = {3};
    struct rbuf_arena arena;
    struct run runs[RUNS];
    uint32_t held = 0;

    ck_assert_int_eq(rbuf_arena_open(&arena, base, BLOCKS * (size_t) BLOCK + 100, BLOCK, 1, 2), 0);
    ck_assert_uint_eq(arena.blocks, BLOCKS);
    for (int i = 0; i < OPERATIONS; i++) {
        /* Phases of filling and of draining, so that both ends are met. */
        bool filling = sim_random_below(&random, 100) < (i / 500 % 2 == 0 ? 70u : 30u);

        if (held == 0 || (filling && held < RUNS)) {
            take(&arena, &model, runs, &held, (uint32_t) sim_random_size(&random, 200));
        } else {
            give(&arena, &model, runs, &held, (uint32_t) sim_random_below(&random, held));
        }
        ck_assert_uint_eq(arena.free_blocks, model.free_blocks);
    }
    while (held > 0) {
        give(&arena, &model, runs, &held, held - 1);
    }
    take(&arena, &model, runs, &held, BLOCKS);
    ck_assert_uint_eq(held, 1);
    ck_assert_uint_eq(arena.free_blocks, 0);
    rbuf_arena_close(&arena);
}
END_TEST

/* Parts of a run may be given back on their own. */
START_TEST(runs_may_be_given_back_in_parts)
{
    static unsigned char base[BLOCK];
    struct rbuf_arena arena;
    uint32_t first;

    ck_assert_int_eq(rbuf_arena_open(&arena, base, 200 * (size_t) BLOCK, BLOCK, 1, 2), 0);
    ck_assert(rbuf_arena_take(&arena, 200, &first));
    ck_assert(!rbuf_arena_take(&arena, 1, &first));
    rbuf_arena_give(&arena, 60, 70); /* over a word boundary */
    ck_assert(!rbuf_arena_take(&arena, 71, &first));
    ck_assert(rbuf_arena_take(&arena, 70, &first));
    ck_assert_uint_eq(first, 60);
    rbuf_arena_close(&arena);
}
END_TEST

START_TEST(blocks_lie_on_a_fixed_grid)
{
    unsigned char *base = aligned_alloc(BLOCK, 64 * (size_t) BLOCK);
    struct rbuf_arena arena;
    uint32_t first;

    ck_assert_ptr_nonnull(base);
    ck_assert_int_eq(rbuf_arena_open(&arena, base, 64 * (size_t) BLOCK, BLOCK, 1, 2), 0);
    for (uint32_t count = 1; rbuf_arena_take(&arena, count, &first); count++) {
        unsigned char *block = rbuf_arena_block(&arena, first);

        ck_assert_uint_eq((uintptr_t) block % BLOCK, 0);
        ck_assert(block >= base);
        ck_assert(block + (size_t) count * BLOCK <= base + 64 * (size_t) BLOCK);
    }
    rbuf_arena_close(&arena);
    free(base);
}
END_TEST

START_TEST(nothing_fits_an_empty_arena)
{
    static unsigned char base[BLOCK];
    struct rbuf_arena arena;
    uint32_t first;

    ck_assert_int_eq(rbuf_arena_open(&arena, base, BLOCK - 1, BLOCK, 1, 2), 0);
    ck_assert_uint_eq(arena.blocks, 0);
    ck_assert(!rbuf_arena_take(&arena, 1, &first));
    rbuf_arena_close(&arena);
}
END_TEST

START_TEST(flags_start_at_one)
{
    static unsigned char base[BLOCK];
    struct rbuf_arena arena;

    ck_assert_int_eq(rbuf_arena_open(&arena, base, sizeof(base), BLOCK, 1, 2), 0);
    ck_assert_uint_eq(arena.next_flag, 1);
    rbuf_arena_close(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");

    unit_add(suite, random_against_the_model);
    unit_add(suite, runs_may_be_given_back_in_parts);
    unit_add(suite, blocks_lie_on_a_fixed_grid);
    unit_add(suite, nothing_fits_an_empty_arena);
    unit_add(suite, flags_start_at_one);
    return unit_run(suite);
}
