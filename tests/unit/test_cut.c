/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How copied puts and gets are cut: the chunks of some lengths, and what holds of all.
 */
#include "core/base/cut.h"
#include "random.h"
#include "unit.h"

#define BLOCK 4096u

static struct rbuf_schedule usual(void)
{
    return (struct rbuf_schedule){.block_bytes = BLOCK,
                                  .growth = RBUF_GROWTH_ONE * 3 / 2,
                                  .first_blocks = 3,
                                  .buffer_blocks = 64,
                                  .buffers = 3,
                                  .opening_blocks = 1};
}

/* The chunks, in blocks, behind them a 0. */
static void check_blocks(const struct rbuf_schedule *schedule, enum rbuf_cut cut, uint64_t length,
                         const uint32_t *expected)
{
    struct rbuf_chunk chunk;
    bool more = true;

    rbuf_cut_first(schedule, cut, length, &chunk);
    for (; *expected > 0; expected++) {
        ck_assert(more);
        ck_assert_uint_eq(chunk.blocks, *expected);
        more = rbuf_cut_next(schedule, cut, length, &chunk);
    }
    ck_assert(!more);
}

START_TEST(puts_grow_and_gets_shrink)
{
    const struct rbuf_schedule schedule = usual();

    check_blocks(&schedule, RBUF_CUT_PUT, 16 * BLOCK, (const uint32_t[]){1, 3, 5, 7, 0});
    check_blocks(&schedule, RBUF_CUT_GET, 16 * BLOCK, (const uint32_t[]){7, 6, 3, 0});
    check_blocks(&schedule, RBUF_CUT_PUT, 8 * BLOCK, (const uint32_t[]){1, 3, 4, 0});
    check_blocks(&schedule, RBUF_CUT_GET, 8 * BLOCK, (const uint32_t[]){5, 3, 0});
    check_blocks(&schedule, RBUF_CUT_PUT, 256 * BLOCK,
                 (const uint32_t[]){1, 3, 5, 7, 10, 15, 23, 34, 51, 64, 43, 0});
    check_blocks(&schedule, RBUF_CUT_GET, 256 * BLOCK,
                 (const uint32_t[]){64, 64, 35, 48, 24, 12, 6, 3, 0});
    check_blocks(&schedule, RBUF_CUT_PUT, 1, (const uint32_t[]){1, 0});
    check_blocks(&schedule, RBUF_CUT_GET, 1, (const uint32_t[]){1, 0});
}
END_TEST

START_TEST(without_growth_or_opening)
{
    struct rbuf_schedule schedule = usual();

    schedule.opening_blocks = 0;
    check_blocks(&schedule, RBUF_CUT_PUT, 16 * BLOCK, (const uint32_t[]){3, 5, 8, 0});
    check_blocks(&schedule, RBUF_CUT_GET, 16 * BLOCK, (const uint32_t[]){7, 6, 3, 0});
    schedule.growth = RBUF_GROWTH_ONE;
    check_blocks(&schedule, RBUF_CUT_PUT, 12 * BLOCK, (const uint32_t[]){3, 3, 3, 3, 0});
    check_blocks(&schedule, RBUF_CUT_GET, 12 * BLOCK, (const uint32_t[]){3, 3, 3, 3, 0});
    schedule.first_blocks = schedule.buffer_blocks;
    check_blocks(&schedule, RBUF_CUT_GET, 65 * BLOCK, (const uint32_t[]){64, 1, 0});
}
END_TEST

static void check_walk(const struct rbuf_schedule *schedule, enum rbuf_cut cut, uint64_t length)
{
    struct rbuf_chunk chunk;
    uint64_t bytes = 0, chunks = 0;
    bool more = true;

    rbuf_cut_first(schedule, cut, length, &chunk);
    while (more) {
        ck_assert_uint_eq(chunk.index, chunks++);
        ck_assert_uint_eq(chunk.offset, bytes);
        ck_assert_uint_ge(chunk.bytes, 1);
        ck_assert_uint_le(chunk.blocks, schedule->buffer_blocks);
        ck_assert_uint_eq(chunk.blocks,
                          (chunk.bytes + schedule->block_bytes - 1) / schedule->block_bytes);
        if (cut == RBUF_CUT_PUT) {
            ck_assert_uint_eq(chunk.offset % schedule->block_bytes, 0);
        }
        bytes += chunk.bytes;
        more = rbuf_cut_next(schedule, cut, length, &chunk);
    }
    ck_assert_uint_eq(bytes, length);
}

START_TEST(any_schedule)
{
    struct sim_random random = {7};

    for (int i = 0; i < 20000; i++) {
        const uint32_t buffer = 1 + (uint32_t) sim_random_below(&random, 80);
        const struct rbuf_schedule schedule = {
            .block_bytes = 64u << sim_random_below(&random, 7),
            .growth = RBUF_GROWTH_ONE + (uint32_t) sim_random_below(&random, 3 * RBUF_GROWTH_ONE),
            .first_blocks = (uint16_t) (1 + sim_random_below(&random, buffer)),
            .buffer_blocks = (uint16_t) buffer,
            .buffers = 3,
            .opening_blocks = (uint16_t) sim_random_below(&random, buffer + 1)};
        const uint64_t length =
            1 + sim_random_below(&random, 300 * (uint64_t) schedule.block_bytes);

        check_walk(&schedule, RBUF_CUT_PUT, length);
        check_walk(&schedule, RBUF_CUT_GET, length);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cut");

    unit_add(suite, puts_grow_and_gets_shrink);
    unit_add(suite, without_growth_or_opening);
    unit_add(suite, any_schedule);
    return unit_run(suite);
}
