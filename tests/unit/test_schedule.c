/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The chunk schedule against equations 5 to 7 of Denis 2011, and its invariants at every length
 * from one byte to three chunks.
 */
#include <math.h>

#include "core/base/schedule.h"
#include "random.h"
#include "unit.h"

#define PAYLOAD 4088u

static struct rbuf_schedule usual(void)
{
    return (struct rbuf_schedule){.block_bytes = 4096,
                                  .growth = RBUF_GROWTH_ONE * 3 / 2,
                                  .first_blocks = 3,
                                  .buffer_blocks = 64,
                                  .buffers = 3,
                                  .taper = RBUF_TAPER_NONE};
}

/* Walks a message, checks what must hold for any schedule, and that measuring agrees. */
static void check_walk(const struct rbuf_schedule *schedule, uint64_t length)
{
    uint32_t payload = rbuf_block_payload(schedule);
    struct rbuf_extent extent;
    struct rbuf_chunk chunk;
    uint64_t bytes = 0, blocks = 0, chunks = 0;
    uint32_t largest = 0;
    bool more = true;

    rbuf_schedule_first(schedule, length, &chunk);
    while (more) {
        ck_assert_uint_eq(chunk.index, chunks);
        ck_assert_uint_eq(chunk.offset, bytes);
        ck_assert_uint_eq(chunk.first_block, blocks);
        ck_assert_uint_ge(chunk.blocks, 1);
        ck_assert_uint_le(chunk.blocks, schedule->buffer_blocks);
        ck_assert_uint_ge(chunk.first_bytes, 1);
        ck_assert_uint_le(chunk.first_bytes, payload);
        ck_assert_uint_eq(chunk.bytes, chunk.first_bytes + (chunk.blocks - 1) * payload);
        ck_assert_uint_eq(rbuf_chunk_wire_bytes(schedule, &chunk),
                          chunk.bytes + chunk.blocks * RBUF_FLAG_BYTES);
        bytes += chunk.bytes;
        blocks += chunk.blocks;
        chunks++;
        largest = chunk.blocks > largest ? chunk.blocks : largest;
        if (chunks > 1) { /* only the first chunk has a short block */
            ck_assert_uint_eq(chunk.first_bytes, payload);
        }
        more = rbuf_schedule_next(schedule, length, &chunk);
    }
    ck_assert_uint_eq(bytes, length);
    rbuf_schedule_measure(schedule, length, &extent);
    ck_assert_uint_eq(extent.chunks, chunks);
    ck_assert_uint_eq(extent.blocks, blocks);
    ck_assert_uint_eq(extent.largest_blocks, largest);
    ck_assert_uint_eq(blocks, (length + payload - 1) / payload);
}

START_TEST(every_length_to_three_chunks)
{
    struct rbuf_schedule schedule = usual();

    for (uint64_t length = 1; length <= (3 + 5 + 7) * PAYLOAD + 2; length++) {
        check_walk(&schedule, length);
    }
}
END_TEST

START_TEST(every_length_of_a_small_schedule)
{
    for (unsigned taper = RBUF_TAPER_NONE; taper <= RBUF_TAPER_TAIL; taper++) {
        struct rbuf_schedule schedule = {.block_bytes = 64,
                                         .growth = RBUF_GROWTH_ONE * 3 / 2,
                                         .first_blocks = 2,
                                         .buffer_blocks = 9,
                                         .buffers = 3,
                                         .taper = (uint8_t) taper};

        for (uint64_t length = 1; length <= 56 * 80; length++) {
            check_walk(&schedule, length);
        }
    }
}
END_TEST

/* Equation 5: C_i = C0 * q^i, to the block, until the largest chunk is reached. */
START_TEST(chunks_grow_by_equation_5)
{
    const double factors[] = {1.0, 1.25, 1.5, 2.0, 3.0, 2.7};

    for (size_t f = 0; f < sizeof(factors) / sizeof(factors[0]); f++) {
        struct rbuf_schedule schedule = usual();
        struct rbuf_chunk chunk;
        uint64_t length = 16448 * (uint64_t) PAYLOAD; /* no short block */

        schedule.growth = (uint32_t) (factors[f] * RBUF_GROWTH_ONE);
        schedule.buffer_blocks = 512;
        rbuf_schedule_first(&schedule, length, &chunk);
        do {
            double wanted = 3 * pow(factors[f], (double) chunk.index);

            wanted = wanted < 512 ? wanted : 512;
            if (chunk.offset + chunk.bytes < length) {
                /* Half a block of rounding, and what the fixed point loses in each step. */
                ck_assert_double_le(fabs(chunk.blocks - wanted), 0.5 + 0.001 * wanted);
            }
        } while (rbuf_schedule_next(&schedule, length, &chunk));
    }
}
END_TEST

/* What hurries is the end of a message, and it is whole blocks whatever the length. The first chunk
 * is as near to C0 as can be. */
START_TEST(short_block_comes_first)
{
    struct rbuf_schedule schedule = usual();
    const uint64_t less = 6 * PAYLOAD + PAYLOAD / 2 - 1, more = less + 1;
    struct rbuf_chunk chunk;

    rbuf_schedule_first(&schedule, less, &chunk);
    ck_assert_uint_eq(chunk.blocks, 4);
    ck_assert_uint_eq(chunk.bytes, less - 3 * PAYLOAD);
    ck_assert(rbuf_schedule_next(&schedule, less, &chunk));
    ck_assert_uint_eq(chunk.bytes, 3 * PAYLOAD);
    ck_assert(!rbuf_schedule_next(&schedule, less, &chunk));

    rbuf_schedule_first(&schedule, more, &chunk);
    ck_assert_uint_eq(chunk.blocks, 3);
    ck_assert(rbuf_schedule_next(&schedule, more, &chunk));
    ck_assert_uint_eq(chunk.bytes, 4 * PAYLOAD);
}
END_TEST

START_TEST(short_block_of_an_opening)
{
    struct rbuf_schedule schedule = usual();
    struct rbuf_chunk chunk;

    schedule.opening_blocks = 1;
    rbuf_schedule_first(&schedule, 6 * PAYLOAD + 100, &chunk);
    ck_assert_uint_eq(chunk.bytes, 100 + PAYLOAD);
    rbuf_schedule_first(&schedule, 6 * PAYLOAD, &chunk);
    ck_assert_uint_eq(chunk.bytes, PAYLOAD);
    rbuf_schedule_first(&schedule, 100, &chunk);
    ck_assert_uint_eq(chunk.bytes, 100);
}
END_TEST

/* There it counts, however short it is. */
START_TEST(short_block_of_a_full_buffer)
{
    struct rbuf_schedule schedule = usual();
    struct rbuf_chunk chunk;

    schedule.buffer_blocks = schedule.first_blocks;
    rbuf_schedule_first(&schedule, 6 * PAYLOAD + 100, &chunk);
    ck_assert_uint_eq(chunk.blocks, 3);
    ck_assert_uint_eq(chunk.bytes, 100 + 2 * PAYLOAD);
}
END_TEST

/* Equations 6 and 7: the number of chunks is log_q(1 + L/C0 (q - 1)), rounded up. */
START_TEST(number_of_chunks_by_equation_7)
{
    struct rbuf_schedule schedule = usual();
    struct sim_random random = {7};

    schedule.buffer_blocks = RBUF_BUFFER_BLOCKS;
    for (int i = 0; i < 2000; i++) {
        double q = 1.25 + (double) sim_random_below(&random, 1750) / 1000.0;
        uint64_t blocks = sim_random_size(&random, 20000);
        struct rbuf_extent extent;
        double wanted;

        schedule.growth = (uint32_t) (q * RBUF_GROWTH_ONE);
        schedule.first_blocks = (uint16_t) (1 + sim_random_below(&random, 16));
        rbuf_schedule_measure(&schedule, blocks * PAYLOAD, &extent);
        wanted = log1p((double) blocks / schedule.first_blocks * (q - 1)) / log(q);
        /* Rounding small chunks to blocks moves the sum of the series by up to half a block each.
         */
        ck_assert_double_ge((double) extent.chunks, floor(wanted - 0.6));
        ck_assert_double_le((double) extent.chunks, ceil(wanted + 0.6));
    }
}
END_TEST

START_TEST(fixed_chunk_when_q_is_one)
{
    struct rbuf_schedule schedule = usual();
    struct rbuf_extent extent;

    schedule.growth = RBUF_GROWTH_ONE;
    rbuf_schedule_measure(&schedule, 3 * PAYLOAD * 100, &extent);
    ck_assert_uint_eq(extent.chunks, 100);
    ck_assert_uint_eq(extent.largest_blocks, 3);
    check_walk(&schedule, 3 * PAYLOAD * 100 + 1);
}
END_TEST

/* Tapered, no chunk but the first-sized ones is more than half of what is left. */
START_TEST(taper_halves_the_tail)
{
    struct rbuf_schedule schedule = usual();

    schedule.taper = RBUF_TAPER_TAIL;
    for (uint64_t blocks = 1; blocks < 1000; blocks++) {
        struct rbuf_chunk chunk;
        uint64_t length = blocks * PAYLOAD - 5;

        rbuf_schedule_first(&schedule, length, &chunk);
        do {
            uint64_t left = blocks - chunk.first_block;

            ck_assert(chunk.blocks <= schedule.first_blocks || chunk.blocks <= (left + 1) / 2);
            if (chunk.offset + chunk.bytes == length) {
                ck_assert_uint_le(chunk.blocks, schedule.first_blocks);
            }
        } while (rbuf_schedule_next(&schedule, length, &chunk));
        check_walk(&schedule, length);
    }
}
END_TEST

/* Tapering makes no chunk longer: an opening stays what it is. */
START_TEST(taper_leaves_the_opening)
{
    struct rbuf_schedule schedule = usual();
    struct rbuf_chunk chunk;

    schedule.taper = RBUF_TAPER_TAIL;
    schedule.first_blocks = 16;
    schedule.opening_blocks = 4;
    for (uint64_t blocks = 5; blocks < 100; blocks++) {
        rbuf_schedule_first(&schedule, blocks * PAYLOAD, &chunk);
        ck_assert_uint_eq(chunk.blocks, 4);
        rbuf_schedule_first(&schedule, blocks * PAYLOAD + 100, &chunk);
        ck_assert_uint_eq(chunk.blocks, 5);
    }
}
END_TEST

START_TEST(measuring_equals_walking)
{
    struct sim_random random = {11};

    for (int i = 0; i < 20000; i++) {
        struct rbuf_schedule schedule = {
            .block_bytes = 64u << sim_random_below(&random, 8),
            .growth = RBUF_GROWTH_ONE + (uint32_t) sim_random_size(&random, 4u << 16) - 1,
            .first_blocks = (uint16_t) sim_random_size(&random, 300),
            .buffers = (uint8_t) (1 + sim_random_below(&random, RBUF_BUFFERS_MAX)),
            .taper = (uint8_t) sim_random_below(&random, 2)};

        schedule.buffer_blocks =
            (uint16_t) (schedule.first_blocks + sim_random_below(&random, 500));
        ck_assert(rbuf_schedule_valid(&schedule));
        check_walk(&schedule, sim_random_size(&random, 3000ull * schedule.block_bytes));
    }
}
END_TEST

/* A length from outside may be anything: measuring it neither overflows nor walks for ever. */
START_TEST(measuring_huge_lengths)
{
    const uint32_t growths[] = {RBUF_GROWTH_ONE, RBUF_GROWTH_ONE + 1, RBUF_GROWTH_ONE * 3 / 2,
                                RBUF_GROWTH_MAX};
    const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 4095, 1ull << 60};

    for (size_t i = 0; i < 4 * 3 * 2; i++) {
        struct rbuf_schedule schedule = usual();
        struct rbuf_extent extent;
        uint64_t length = lengths[i / 4 % 3];
        uint64_t steady; /* blocks of all chunks but some */
        bool first_is_longer;

        schedule.growth = growths[i % 4];
        schedule.taper = (uint8_t) (i / 12);
        steady = schedule.growth == RBUF_GROWTH_ONE ? 3 : 64;
        first_is_longer = steady == 3 && length % PAYLOAD < PAYLOAD / 2;
        rbuf_schedule_measure(&schedule, length, &extent);
        ck_assert_uint_eq(extent.blocks, length / PAYLOAD + (length % PAYLOAD != 0));
        ck_assert_uint_eq(extent.largest_blocks, steady + first_is_longer);
        ck_assert_uint_ge(extent.chunks, extent.blocks / steady);
        ck_assert_uint_le(extent.chunks, extent.blocks / steady + 1000000);
    }
}
END_TEST

/* What becomes of a schedule in so many blocks of staging. */
static const struct {
    uint8_t buffers;
    uint16_t first, largest;
    uint64_t blocks;
    uint8_t buffers_left;
    uint16_t first_left, largest_left;
} shrinks[] = {
    {3, 3, 64, 4096, 3, 3, 64},
    {3, 3, 64, 192, 3, 3, 64}, /* it just fits */
    {3, 3, 64, 191, 3, 3, 63},
    {3, 3, 64, 64, 3, 3, 21},
    {3, 3, 64, 16, 3, 3, 5},
    {3, 3, 64, 9, 3, 3, 3},
    {3, 3, 64, 8, 3, 2, 2},
    {3, 3, 64, 3, 3, 1, 1},
    {3, 3, 64, 2, 2, 1, 1},
    {3, 3, 64, 1, 1, 1, 1},
    {16, 3, 64, 15, 15, 1, 1},
    {1, 3, 64, 8, 1, 3, 8},
    {2, 64, 64, 100, 2, 50, 50},
    {1, 100, UINT16_MAX, 1u << 20, 1, 100, UINT16_MAX},
    {1, 100, UINT16_MAX, (1ull << 32) + 1, 1, 100, UINT16_MAX},
};

#define REQUEST_MOST (1u << 30) /* bytes */

START_TEST(a_schedule_shrinks)
{
    for (size_t i = 0; i < sizeof(shrinks) / sizeof(shrinks[0]); i++) {
        struct rbuf_schedule schedule = usual();

        schedule.buffers = shrinks[i].buffers;
        schedule.first_blocks = shrinks[i].first;
        schedule.buffer_blocks = shrinks[i].largest;
        rbuf_schedule_shrink(&schedule, shrinks[i].blocks, REQUEST_MOST);
        ck_assert_uint_eq(schedule.buffers, shrinks[i].buffers_left);
        ck_assert_uint_eq(schedule.first_blocks, shrinks[i].first_left);
        ck_assert_uint_eq(schedule.buffer_blocks, shrinks[i].largest_left);
        ck_assert(rbuf_schedule_valid(&schedule));
        check_walk(&schedule, 100 * PAYLOAD + 1);
    }
}
END_TEST

/* Whatever there is, it is used but for less than a block a buffer, and for no more than that. */
START_TEST(a_schedule_shrinks_to_any_size)
{
    for (uint8_t buffers = 1; buffers <= RBUF_BUFFERS_MAX; buffers++) {
        for (uint64_t blocks = 1; blocks < 2000; blocks++) {
            struct rbuf_schedule schedule = usual();
            uint64_t taken;

            schedule.buffers = buffers;
            rbuf_schedule_shrink(&schedule, blocks, REQUEST_MOST);
            taken = (uint64_t) schedule.buffers * schedule.buffer_blocks;
            ck_assert(rbuf_schedule_valid(&schedule));
            ck_assert_uint_le(taken, blocks);
            ck_assert(taken + schedule.buffers > blocks || taken == buffers * 64u);
        }
    }
}
END_TEST

/* Buffers of more bytes than a request may have, or 32 bits count. */
START_TEST(a_schedule_fits_requests)
{
    static const uint32_t most[] = {1u << 30, 1u << 23, 1u << 20, 4096};

    for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
        struct rbuf_schedule schedule = usual();

        schedule.block_bytes = 1u << 20;
        schedule.first_blocks = schedule.buffer_blocks = UINT16_MAX;
        schedule.buffers = 1;
        ck_assert(!rbuf_schedule_valid(&schedule));
        rbuf_schedule_shrink(&schedule, 1u << 15, most[i]);
        ck_assert(rbuf_schedule_valid(&schedule));
        ck_assert_uint_eq(schedule.buffer_blocks, most[i] < 1u << 20 ? 1 : most[i] >> 20);
        ck_assert_uint_eq(schedule.first_blocks, schedule.buffer_blocks);
    }
}
END_TEST

/* Equation 3 in real numbers, to the nearest block, in what a schedule can have. */
START_TEST(chunk_by_equation_3)
{
    static const uint64_t gaps[] = {2, 700, 1000, 8500, 1u << 30};

    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
        for (uint64_t length = 1; length < 1ull << 40; length += length / 3 + 1) {
            struct rbuf_schedule schedule = usual();
            const double chunk = sqrt((double) length * (double) gaps[i] / 2);

            rbuf_schedule_pipeline(&schedule, length, gaps[i]);
            ck_assert(rbuf_schedule_valid(&schedule));
            ck_assert_uint_eq(schedule.growth, RBUF_GROWTH_ONE);
            if (chunk < schedule.block_bytes) {
                ck_assert_uint_eq(schedule.first_blocks, 1);
            } else if (chunk > 64.5 * schedule.block_bytes) {
                ck_assert_uint_eq(schedule.first_blocks, 64);
            } else {
                ck_assert_double_le(fabs(schedule.first_blocks - chunk / schedule.block_bytes),
                                    0.51);
            }
        }
    }
}
END_TEST

START_TEST(chunk_by_equation_3_of_anything)
{
    struct rbuf_schedule schedule = usual();

    rbuf_schedule_pipeline(&schedule, UINT64_MAX, UINT64_MAX);
    ck_assert_uint_eq(schedule.first_blocks, 64);
    rbuf_schedule_pipeline(&schedule, 0, 1000);
    ck_assert_uint_eq(schedule.first_blocks, 1);
    rbuf_schedule_pipeline(&schedule, 1u << 20, 1);
    ck_assert_uint_eq(schedule.first_blocks, 1);
}
END_TEST

static void refuse(struct rbuf_schedule schedule)
{
    ck_assert(!rbuf_schedule_valid(&schedule));
}

START_TEST(invalid_schedules_are_refused)
{
    struct rbuf_schedule good = usual(), bad;

    ck_assert(rbuf_schedule_valid(&good));
    refuse((struct rbuf_schedule){0});
    bad = good, bad.block_bytes = 0, refuse(bad);
    bad = good, bad.block_bytes = 32, refuse(bad);
    bad = good, bad.block_bytes = 4095, refuse(bad);
    bad = good, bad.block_bytes = 4096 + 64, refuse(bad);
    bad = good, bad.block_bytes = 1u << 31, refuse(bad);
    bad = good, bad.growth = RBUF_GROWTH_ONE - 1, refuse(bad);
    bad = good, bad.growth = RBUF_GROWTH_MAX + 1, refuse(bad);
    bad = good, bad.first_blocks = 0, refuse(bad);
    bad = good, bad.first_blocks = 65, refuse(bad);
    bad = good, bad.buffers = 0, refuse(bad);
    bad = good, bad.buffers = RBUF_BUFFERS_MAX + 1, refuse(bad);
    bad = good, bad.taper = RBUF_TAPER_TAIL + 1, refuse(bad);
    bad = good, bad.block_bytes = 1u << 30, refuse(bad); /* a buffer of 64 GB */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");

    unit_add(suite, every_length_to_three_chunks);
    unit_add(suite, every_length_of_a_small_schedule);
    unit_add(suite, chunks_grow_by_equation_5);
    unit_add(suite, short_block_comes_first);
    unit_add(suite, short_block_of_an_opening);
    unit_add(suite, short_block_of_a_full_buffer);
    unit_add(suite, number_of_chunks_by_equation_7);
    unit_add(suite, fixed_chunk_when_q_is_one);
    unit_add(suite, taper_halves_the_tail);
    unit_add(suite, taper_leaves_the_opening);
    unit_add(suite, measuring_equals_walking);
    unit_add(suite, measuring_huge_lengths);
    unit_add(suite, a_schedule_shrinks);
    unit_add(suite, a_schedule_shrinks_to_any_size);
    unit_add(suite, a_schedule_fits_requests);
    unit_add(suite, chunk_by_equation_3);
    unit_add(suite, chunk_by_equation_3_of_anything);
    unit_add(suite, invalid_schedules_are_refused);
    return unit_run(suite);
}
