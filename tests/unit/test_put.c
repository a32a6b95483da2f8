/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Staged puts over the simulated network: block layout at every length, folding into few buffers,
 * ways of arrival, late acknowledgements, faults that flags cannot survive.
 */
#include "case.h"
#include "unit.h"

/* A schedule small enough to try every length of it. */
static struct world_options small_blocks(void)
{
    struct world_options options = world_defaults();

    options.core.schedule.block_bytes = 64;
    options.core.schedule.first_blocks = 2;
    options.core.schedule.buffer_blocks = 6;
    options.core.quantum = 200;
    options.send_bytes = options.receive_bytes = 4096;
    options.model.packet_bytes = 64;
    return options;
}

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

START_TEST(one_put)
{
    struct world_options options = world_defaults();

    put_all(&options, 1000000, 1000000, 1);
}
END_TEST

/* 1 byte to three chunks and more, of small blocks. */
START_TEST(every_length_of_small_blocks)
{
    struct world_options options = small_blocks();

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

int main(void)
{
    Suite *suite = suite_create("put");

    unit_add(suite, one_put);
    unit_add(suite, every_length_of_small_blocks);
    unit_add(suite, lengths_to_three_chunks);
    return unit_run(suite);
}
