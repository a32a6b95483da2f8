/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Peers whose writes are not placed in order, on a port where others' are: their blocks and ring
 * messages have checksums, and nothing is taken before its bytes are there.
 */
#include "case.h"

#include <stddef.h>

static const enum sim_order orders[] = {SIM_TAIL_FIRST, SIM_RANDOM_ORDER};

START_TEST(nothing_rests_on_order)
{
    uint64_t incomplete_blocks = 0, incomplete_messages = 0;

    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world_options options = case_busy();
        struct sim_random random = {seed};
        struct world *world;

        options.core.arrival = seed % 2 == 0 ? RBUF_ARRIVAL_CHUNK : RBUF_ARRIVAL_BLOCK;
        options.nodes = 3;
        options.unordered = true;
        options.faults.seed = seed;
        options.faults.order = orders[_i];
        options.faults.overtake_ns = 20000;
        options.faults.overtake_words = true;
        options.model.packet_bytes = 256;
        options.core.ring.threshold = 1;
        options.core.early = (struct rbuf_early_options){.peers = 3, .slot_blocks = 8};
        options.core.ring.longest = 8000;
        world = world_open(&options);
        for (int i = 0; i < 300; i++) {
            static const enum world_kind kinds[] = {WORLD_EAGER,  WORLD_EAGER, WORLD_PUT, WORLD_PUT,
                                                    WORLD_PACKED, WORLD_READ,  WORLD_GET};
            const enum world_kind kind = kinds[sim_random_below(&random, 7)];
            const unsigned from = (unsigned) sim_random_below(&random, 3);
            const unsigned to = (from + 1 + (unsigned) sim_random_below(&random, 2)) % 3;

            world_send(world, kind, from, to,
                       1 + sim_random_size(&random, kind == WORLD_EAGER ? 8000 : 200000));
            if (i % 50 == 49) {
                case_run(world);
            }
        }
        case_run(world);
        for (unsigned node = 0; node < 3; node++) {
            const struct rbuf_stats *stats = &world->nodes[node].core.stats;

            ck_assert_uint_gt(stats->ring_admitted, 0);
            ck_assert_uint_gt(stats->staged_chunks, 20);
            incomplete_blocks += stats->blocks_incomplete;
            incomplete_messages += stats->ring_incomplete;
        }
        case_close(world);
    }
    ck_assert_uint_gt(incomplete_blocks, 0); /* else there was nothing to tell apart */
    ck_assert_uint_gt(incomplete_messages, 0);
}
END_TEST

/* A word that is late may be like the one that stands in its place: then the checksum agrees
 * without it, and it must not land in the place's next use. Memory is full of zeros here, and half
 * of the messages, too; words are late by many times the way to the peer and back. */
START_TEST(late_words_are_like_those_there)
{
    static const uint64_t puts[] = {900, 3000, 60000};
    uint64_t incomplete_blocks = 0, incomplete_messages = 0;

    for (uint64_t seed = 1; seed <= 9; seed++) {
        struct world_options options = case_busy();
        struct sim_random random = {seed};
        struct world *world;

        options.core.arrival = seed % 2 == 0 ? RBUF_ARRIVAL_CHUNK : RBUF_ARRIVAL_BLOCK;
        options.unordered = true;
        options.zeros = true;
        options.faults.seed = seed;
        options.faults.overtake_ns = 50000;
        options.faults.scatter = true;
        options.model.packet_bytes = 8;
        options.core.ring.threshold = 1;
        options.core.ring.slots = 4;
        options.core.early = (struct rbuf_early_options){.peers = seed > 6, .slot_blocks = 4};
        world = world_open(&options);
        for (int i = 0; i < 400; i++) {
            const bool put = seed % 2 == 0 || sim_random_below(&random, 4) == 0;

            world_send(world, put ? WORLD_PUT : WORLD_EAGER, 0, 1, put ? puts[seed % 3] : 200);
            case_run(world); /* words may be late still */
        }
        incomplete_blocks += world->nodes[1].core.stats.blocks_incomplete;
        incomplete_messages += world->nodes[1].core.stats.ring_incomplete;
        case_close(world);
    }
    ck_assert_uint_gt(incomplete_blocks, 0);
    ck_assert_uint_gt(incomplete_messages, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unordered");

    unit_add_loop(suite, nothing_rests_on_order, 2);
    unit_add(suite, late_words_are_like_those_there);
    return unit_run(suite);
}
