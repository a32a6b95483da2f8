/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Staged puts over the simulated network: block layout at every length, folding into few buffers,
 * ways of arrival, late acknowledgements, faults that flags cannot survive.
 */

#include "case.h"
#include "unit.h"

static void put_all(const struct world_options *options, uint64_t first, uint64_t last,
                    uint64_t step)
{
    struct world *world = world_open(options);

    for (uint64_t bytes = first; bytes <= last; bytes += step) {
        world_send(world, WORLD_PUT, 0, 1, bytes);
        case_run(world);
    }
    case_close(world);
}

/* 1 byte to three chunks and more, of small blocks. */
START_TEST(every_length_of_small_blocks)
{
    struct world_options options = case_small_blocks();

    put_all(&options, 1, 56 * 30, 1);
}
END_TEST

/* 1 byte to three chunks of the real size, around every block's end and in between. */
START_TEST(lengths_to_three_chunks)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    for (uint64_t blocks = 0; blocks <= 15; blocks++) {
        for (uint64_t delta = 0; delta < 20; delta++) {
            uint64_t bytes = blocks * 4088 + delta;

            if (bytes >= 10) {
                world_send(world, WORLD_PUT, 0, 1, bytes - 9);
                case_run(world);
            }
        }
        for (uint64_t delta = 29; delta < 4080; delta += 311) {
            world_send(world, WORLD_PUT, 0, 1, blocks * 4088 + delta);
            case_run(world);
        }
    }
    case_close(world);
}
END_TEST

/* Chunks in one, two, three and sixteen buffers; watch_lanes() of the world sees every overwriting
 * of a buffer that was not copied out. */
START_TEST(folding_into_few_buffers)
{
    const uint8_t buffers[] = {1, 2, 3, 4, 16};

    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
        struct world_options options = world_defaults();

        options.core.schedule.buffers = buffers[i];
        options.core.schedule.buffer_blocks = 16;
        put_all(&options, 3000001, 3000001, 1);
        options.core.schedule.growth = RBUF_GROWTH_ONE;
        put_all(&options, 1000001, 1000001, 1);
        options.copy_bytes_per_ns = 0.5; /* slower than the network: the window decides */
        put_all(&options, 700001, 700001, 1);
    }
}
END_TEST

/* What progress copied is told, on both sides, and stands still when there is nothing to copy. */
START_TEST(copied_bytes_are_counted)
{
    struct world_options options = world_defaults();
    const uint64_t bytes = 3000001;
    struct world *world;
    uint64_t before;

    options.core.quantum = 1u << 20; /* never used up, so that every byte counts */
    world = world_open(&options);
    world_send(world, WORLD_PUT, 0, 1, bytes);
    case_run(world);
    ck_assert_uint_eq(world->nodes[1].core.copied, bytes);
    ck_assert_uint_gt(world->nodes[0].core.copied, bytes / 2); /* the rest in btl_put() */
    ck_assert_uint_le(world->nodes[0].core.copied, bytes);
    before = world->nodes[1].core.copied;
    rbuf_core_progress(&world->nodes[1].core, 0);
    ck_assert_uint_eq(world->nodes[1].core.copied, before);
    case_close(world);
}
END_TEST

/* A lane that held one message's blocks holds another's soon after: stale flags are not taken. */
START_TEST(lanes_are_used_again)
{
    struct world_options options = case_small_blocks();
    struct sim_random random = {21};
    struct world *world;

    options.receive_bytes = 18 * 64; /* one lane of the largest chunks */
    world = world_open(&options);
    for (int i = 0; i < 3000; i++) {
        world_send(world, WORLD_PUT, 0, 1, sim_random_size(&random, 3000));
        if (i % 4 == 0) {
            case_run(world);
        }
    }
    case_run(world);
    case_close(world);
}
END_TEST

/* Acknowledgements that come late, in bursts, and find newer counts already there. */
START_TEST(late_acknowledgements)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.faults.small_delay_ns = 400000;
    options.faults.completion_delay_ns = 100000;
    options.core.schedule.buffer_blocks = 8;
    world = world_open(&options);
    for (int i = 0; i < 20; i++) {
        world_send(world, WORLD_PUT, 0, 1, 300000 + 777 * i);
        world_send(world, WORLD_PUT, 1, 0, 200000 + 778 * i);
    }
    case_run(world);
    ck_assert_uint_gt(world->nodes[0].core.stats.window_waits, 0);
    case_close(world);
}
END_TEST

/* A receiver that computes does not poll: its blocks wait for it, and then all are there. */
START_TEST(receiver_that_computes)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    for (int i = 0; i < 10; i++) {
        world_send(world, WORLD_PUT, 0, 1, 900000);
        for (int step = 0; step < 40 + 30 * i && sim_step(&world->net.clock); step++) {
        }
        world_compute(world, 1, 500000);
        case_run(world);
    }
    case_close(world);
}
END_TEST

static struct world_options shuffled(enum sim_order order, enum rbuf_arrival arrival)
{
    struct world_options options = world_defaults();

    options.model.packet_bytes = 512; /* several to a block, so that a flag may overtake */
    options.faults.order = order;
    options.core.arrival = arrival;
    options.core.schedule.taper =
        arrival == RBUF_ARRIVAL_IMMEDIATE ? RBUF_TAPER_TAIL : RBUF_TAPER_NONE;
    return options;
}

START_TEST(chunks_announced_by_immediates_survive_any_order)
{
    const enum sim_order orders[] = {SIM_IN_ORDER, SIM_TAIL_FIRST, SIM_RANDOM_ORDER};

    for (size_t i = 0; i < 3; i++) {
        struct world_options options = shuffled(orders[i], RBUF_ARRIVAL_IMMEDIATE);
        struct world *world = world_open(&options);

        for (uint64_t bytes = 1; bytes < 3000000; bytes = bytes * 3 + 1) {
            world_send(world, WORLD_PUT, 0, 1, bytes);
            world_send(world, WORLD_PUT, 1, 0, bytes + 4088);
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* Blocks with checksums likewise, whether they are looked at one by one or chunk by chunk. */
START_TEST(checked_blocks_survive_any_order)
{
    const enum sim_order orders[] = {SIM_IN_ORDER, SIM_TAIL_FIRST, SIM_RANDOM_ORDER};

    for (size_t i = 0; i < 6; i++) {
        struct world_options options = shuffled(orders[i % 3], i < 3 ? RBUF_ARRIVAL_BLOCK_CHECKED
                                                                     : RBUF_ARRIVAL_CHUNK_CHECKED);
        struct world *world = world_open(&options);
        uint64_t incomplete;

        for (uint64_t bytes = 1; bytes < 3000000; bytes = bytes * 3 + 1) {
            world_send(world, WORLD_PUT, 0, 1, bytes);
            world_send(world, WORLD_PUT, 1, 0, bytes + 4088);
        }
        case_run(world);
        incomplete = world->nodes[0].core.stats.blocks_incomplete +
                     world->nodes[1].core.stats.blocks_incomplete;
        ck_assert_int_eq(incomplete > 0, orders[i % 3] != SIM_IN_ORDER);
        case_close(world);
    }
}
END_TEST

START_TEST(chunks_seen_by_their_last_flag)
{
    struct world_options options = world_defaults();

    options.core.arrival = RBUF_ARRIVAL_CHUNK;
    put_all(&options, 100, 1500000, 99991);
}
END_TEST

/* The other way round: where flags cannot be trusted, the checks of these tests do notice. */
START_TEST(flags_do_not_survive_disorder)
{
    const enum sim_order orders[] = {SIM_TAIL_FIRST, SIM_RANDOM_ORDER};

    for (size_t i = 0; i < 2; i++) {
        struct world_options options = shuffled(orders[i], RBUF_ARRIVAL_BLOCK);
        struct world *world = world_open(&options);

        for (int message = 0; message < 4; message++) {
            world_send(world, WORLD_PUT, 0, 1, 500000);
            (void) world_run(world);
        }
        ck_assert_uint_gt(world->corrupt, 0);
        world_close(world);
    }
}
END_TEST

/* Payload that is read again until the acknowledgement: nothing is changed or freed before. */
START_TEST(late_reads_and_late_completions)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.faults.late_read = true;
    options.faults.completion_delay_ns = 50000;
    options.faults.jitter_ns = 3000;
    options.send_bytes = 1u << 20;
    options.core.schedule.buffer_blocks = 16;
    world = world_open(&options);
    for (int i = 0; i < 100; i++) {
        world_send(world, WORLD_PUT, i % 2, 1 - i % 2, 1000 + 3331 * i);
        world_send(world, WORLD_EAGER, i % 2, 1 - i % 2, 40 * i);
    }
    case_run(world);
    case_close(world);
}
END_TEST

/* Send queues of four requests (the least that the queue arithmetic is made for) and a few more,
 * completion queues of three: everything says AGAIN. */
START_TEST(tiny_queues)
{
    for (uint32_t depth = 4; depth <= 9; depth++) {
        for (unsigned arrival = 0; arrival < RBUF_ARRIVALS; arrival++) {
            struct world_options options = world_defaults();
            struct world *world;

            options.depth = depth;
            options.room = 3;
            options.core.arrival = (enum rbuf_arrival) arrival;
            options.core.window[0] = options.core.window[1] = 4;
            options.faults.completion_delay_ns = 5000;
            world = world_open(&options);
            for (int i = 0; i < 60; i++) {
                world_send(world, WORLD_PUT, i % 2, 1 - i % 2, 1 + 5000 * i);
                world_send(world, WORLD_EAGER, i % 2, 1 - i % 2, 100 * i);
                world_send(world, WORLD_READ, i % 2, 1 - i % 2, 100 * i + 1);
            }
            case_run(world);
            case_close(world);
        }
    }
}
END_TEST

/* Send staging is full of chunks that wait for acknowledgements and credits when the oldest put
 * needs more of it: those behind it still post theirs, and so give it back. */
START_TEST(staging_held_by_younger_puts)
{
    for (unsigned arrival = 0; arrival < RBUF_ARRIVALS; arrival++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.arrival = (enum rbuf_arrival) arrival;
        options.core.schedule.buffer_blocks = 6;
        options.core.schedule.buffers = 2;
        options.core.window[RBUF_BULK] = 1;
        options.send_bytes = 12 * 4096;
        options.faults.small_delay_ns = 50000;
        options.faults.completion_delay_ns = 50000;
        world = world_open(&options);
        for (int i = 0; i < 40; i++) {
            world_send(world, WORLD_PUT, 0, 1, i % 2 == 0 ? 200000 : 3 + i);
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("put");

    unit_add(suite, every_length_of_small_blocks);
    unit_add(suite, lengths_to_three_chunks);
    unit_add(suite, folding_into_few_buffers);
    unit_add(suite, copied_bytes_are_counted);
    unit_add(suite, lanes_are_used_again);
    unit_add(suite, late_acknowledgements);
    unit_add(suite, receiver_that_computes);
    unit_add(suite, chunks_announced_by_immediates_survive_any_order);
    unit_add(suite, checked_blocks_survive_any_order);
    unit_add(suite, chunks_seen_by_their_last_flag);
    unit_add(suite, flags_do_not_survive_disorder);
    unit_add(suite, late_reads_and_late_completions);
    unit_add(suite, tiny_queues);
    unit_add(suite, staging_held_by_younger_puts);
    return unit_run(suite);
}
