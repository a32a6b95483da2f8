/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The staging arena against a naive model: which runs are handed out, that none overlap, and that
 * the block grid does not move; while it grows, that no run goes from one extent into the next.
 */
#include "core/base/arena.h"
#include "random.h"
#include "unit.h"

#define BLOCKS     777u
#define BLOCK      4096u
#define OPERATIONS 100000
#define RUNS       400u

struct model {
    unsigned char taken[BLOCKS];
    bool begins[BLOCKS]; /* an extent; the first does anyway */
    uint32_t blocks;     /* that there are */
    uint32_t free_blocks;
};

struct run {
    uint32_t first;
    uint32_t count;
};

/* Of `bytes` bytes, which may become `most`; the keys are 1 and 2. */
static void open_arena(struct rbuf_arena *arena, void *base, size_t bytes, size_t most)
{
    const struct rbuf_region region = {
        .base = base, .bytes = bytes, .lkey = 1, .rkey = 2, .most_bytes = most};

    ck_assert_int_eq(rbuf_arena_open(arena, &region, BLOCK), 0);
}

/* First fit from the low end, by looking at every block; BLOCKS if there is no such run in one
 * extent. */
static uint32_t model_find(const struct model *model, uint32_t count)
{
    uint32_t length = 0;

    for (uint32_t i = 0; i < model->blocks; i++) {
        length = model->begins[i] ? 0 : length;
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

/* Grows both, if there is anything left. */
static void grow(struct rbuf_arena *arena, struct model *model)
{
    uint32_t step = rbuf_arena_step(arena);

    if (step == 0) {
        ck_assert_uint_eq(model->blocks, BLOCKS);
        return;
    }
    ck_assert(step >= model->blocks || model->blocks + step == BLOCKS);
    model->begins[model->blocks] = true;
    model->blocks += step;
    model->free_blocks += step;
    rbuf_arena_grow(arena, 1, 2);
    ck_assert_uint_eq(arena->blocks, model->blocks);
}

/* Begins with so many of its blocks, and grows at times while some are taken. */
static void against_the_model(uint32_t blocks)
{
    static unsigned char base[BLOCK]; /* never touched: the arena owns no memory */
    struct model model = {.blocks = blocks, .free_blocks = blocks};
    struct sim_random random = {3};
    struct rbuf_arena arena;
    struct run runs[RUNS];
    uint32_t held = 0;

    open_arena(&arena, base, blocks * (size_t) BLOCK + 100, BLOCKS * (size_t) BLOCK + 100);
    ck_assert_uint_eq(arena.blocks, blocks);
    for (int i = 0; i < OPERATIONS; i++) {
        if (i % 9000 == 5000) {
            grow(&arena, &model);
        }
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
    ck_assert_uint_eq(arena.free_blocks, BLOCKS);
    ck_assert_uint_eq(rbuf_arena_step(&arena), 0);
    take(&arena, &model, runs, &held, rbuf_arena_longest(&arena));
    ck_assert_uint_eq(held, 1);
    take(&arena, &model, runs, &held, rbuf_arena_longest(&arena));
    ck_assert_uint_eq(held, 1);
    rbuf_arena_close(&arena);
}

START_TEST(random_against_the_model)
{
    against_the_model(BLOCKS);
}
END_TEST

START_TEST(random_while_it_grows)
{
    against_the_model(1);
    against_the_model(64);
    against_the_model(100);
    against_the_model(BLOCKS - 1);
}
END_TEST

/* Extents are of keys of their own, at addresses that go on; what was missed is found after it has
 * grown, and only there. */
START_TEST(keys_are_of_extents)
{
    static unsigned char base[20 * BLOCK];
    struct rbuf_arena arena;
    uint32_t first;

    open_arena(&arena, base, 10 * (size_t) BLOCK, 75 * (size_t) BLOCK);
    ck_assert_int_eq(arena.growth, RBUF_ARENA_READY);
    ck_assert(rbuf_arena_take(&arena, 6, &first));
    ck_assert(!rbuf_arena_take(&arena, 7, &first));
    ck_assert_uint_eq(rbuf_arena_step(&arena), 10);
    rbuf_arena_grow(&arena, 11, 12);
    ck_assert_uint_eq(rbuf_arena_longest(&arena), 10);
    ck_assert(rbuf_arena_take(&arena, 7, &first));
    ck_assert_uint_eq(first, 10);
    ck_assert_ptr_eq(rbuf_arena_block(&arena, first), base + 10 * (size_t) BLOCK);
    ck_assert_uint_eq(rbuf_arena_extent(&arena, first)->lkey, 11);
    ck_assert_uint_eq(rbuf_arena_extent(&arena, first)->rkey, 12);
    ck_assert(rbuf_arena_take(&arena, 4, &first)); /* low, where there is room */
    ck_assert_uint_eq(first, 6);
    ck_assert_uint_eq(rbuf_arena_extent(&arena, first + 3)->rkey, 2);
    ck_assert_uint_eq(rbuf_arena_step(&arena), 20);
    rbuf_arena_grow(&arena, 21, 22);
    ck_assert_uint_eq(rbuf_arena_step(&arena), 35); /* less would be left than there is */
    rbuf_arena_grow(&arena, 31, 32);
    ck_assert_int_eq(arena.growth, RBUF_ARENA_GROWN);
    ck_assert_uint_eq(rbuf_arena_longest(&arena), 35);
    ck_assert_uint_eq(rbuf_arena_extent(&arena, 39)->lkey, 21);
    ck_assert_uint_eq(rbuf_arena_extent(&arena, 40)->lkey, 31);
    ck_assert_uint_eq(rbuf_arena_extent(&arena, 74)->lkey, 31);
    ck_assert_uint_eq(arena.free_blocks, 75 - 17);
    rbuf_arena_close(&arena);
}
END_TEST

START_TEST(a_run_is_taken_where_it_is_wanted)
{
    static unsigned char base[BLOCK];
    struct rbuf_arena arena;
    uint32_t first;

    open_arena(&arena, base, 100 * (size_t) BLOCK, 200 * (size_t) BLOCK);
    rbuf_arena_grow(&arena, 11, 12);
    ck_assert(rbuf_arena_take_at(&arena, 90, 10));
    ck_assert(!rbuf_arena_take_at(&arena, 81, 10));
    ck_assert(rbuf_arena_take_at(&arena, 80, 10));
    ck_assert(rbuf_arena_take_at(&arena, 100, 100));
    ck_assert_uint_eq(arena.free_blocks, 80);
    ck_assert(!rbuf_arena_take(&arena, 81, &first));
    ck_assert(rbuf_arena_take(&arena, 80, &first));
    ck_assert_uint_eq(first, 0);
    rbuf_arena_close(&arena);
}
END_TEST

START_TEST(what_is_kept_is_not_found)
{
    static unsigned char base[BLOCK];
    struct rbuf_arena arena;
    uint32_t first;

    open_arena(&arena, base, 100 * (size_t) BLOCK, 0);
    ck_assert(rbuf_arena_take(&arena, 95, &first));
    ck_assert(!rbuf_arena_take_at(&arena, 40, 20));
    rbuf_arena_keep(&arena, 40, 20);
    rbuf_arena_give(&arena, 30, 40);
    ck_assert(!rbuf_arena_take(&arena, 11, &first));
    ck_assert(rbuf_arena_take(&arena, 10, &first));
    ck_assert_uint_eq(first, 30);
    ck_assert(rbuf_arena_take(&arena, 9, &first));
    ck_assert_uint_eq(first, 60);
    ck_assert(!rbuf_arena_take(&arena, 6, &first));
    rbuf_arena_keep(&arena, 0, 0);
    ck_assert(rbuf_arena_take(&arena, 6, &first));
    ck_assert_uint_eq(first, 40);
    rbuf_arena_give(&arena, 40, 6);
    rbuf_arena_keep(&arena, 40, 20);
    ck_assert(rbuf_arena_take_at(&arena, 40, 20));
    ck_assert_uint_eq(arena.free_blocks, 6);
    rbuf_arena_close(&arena);
}
END_TEST

/* Parts of a run may be given back on their own. */
START_TEST(runs_may_be_given_back_in_parts)
{
    static unsigned char base[BLOCK];
    struct rbuf_arena arena;
    uint32_t first;

    open_arena(&arena, base, 200 * (size_t) BLOCK, 0);
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
    open_arena(&arena, base, 64 * (size_t) BLOCK, 0);
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

    open_arena(&arena, base, BLOCK - 1, 0);
    ck_assert_uint_eq(arena.blocks, 0);
    ck_assert(!rbuf_arena_take(&arena, 1, &first));
    rbuf_arena_close(&arena);
}
END_TEST

START_TEST(flags_start_at_one)
{
    static unsigned char base[BLOCK];
    struct rbuf_arena arena;

    open_arena(&arena, base, sizeof(base), 0);
    ck_assert_uint_eq(arena.next_flag, 1);
    rbuf_arena_close(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");

    unit_add(suite, random_against_the_model);
    unit_add(suite, random_while_it_grows);
    unit_add(suite, keys_are_of_extents);
    unit_add(suite, a_run_is_taken_where_it_is_wanted);
    unit_add(suite, what_is_kept_is_not_found);
    unit_add(suite, runs_may_be_given_back_in_parts);
    unit_add(suite, blocks_lie_on_a_fixed_grid);
    unit_add(suite, nothing_fits_an_empty_arena);
    unit_add(suite, flags_start_at_one);
    return unit_run(suite);
}
