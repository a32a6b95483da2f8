/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copied puts: from memory that is not registered, through send staging, to their place.
 */
#include "case.h"
#include "unit.h"

START_TEST(every_length_of_small_blocks)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.core.schedule.block_bytes = 64;
    options.core.schedule.first_blocks = 2;
    options.core.schedule.buffer_blocks = 6;
    options.core.quantum = 200;
    options.send_bytes = options.receive_bytes = 4096;
    options.model.packet_bytes = 64;
    world = world_open(&options);
    for (uint64_t bytes = 1; bytes <= 56 * 30; bytes++) {
        world_send(world, WORLD_COPIED, 0, 1, bytes);
        case_run(world);
    }
    case_close(world);
}
END_TEST

/* Large ones both ways at once, with staged ones between them; the source is free, and the receiver
 * told, when the data is there. */
START_TEST(among_staged_puts)
{
    for (int prestage = 0; prestage < 2; prestage++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.prestage = prestage != 0;
        world = world_open(&options);
        for (int i = 0; i < 60; i++) {
            enum world_kind kind = i % 3 == 0   ? WORLD_PUT
                                   : i % 3 == 1 ? WORLD_COPIED
                                                : WORLD_DIRECT;

            world_send(world, kind, i % 2, 1 - i % 2, 1000 + 70001 * (uint64_t) i);
        }
        case_run(world);
        for (struct world_message *message = world->messages; message != NULL;
             message = message->next) {
            ck_assert_uint_eq(message->events, 1);
        }
        ck_assert_uint_eq(
            world->nodes[0].core.stats.copied_puts + world->nodes[1].core.stats.copied_puts, 20);
        case_close(world);
    }
}
END_TEST

/* Staging and queues for a few chunks only. */
START_TEST(little_of_everything)
{
    struct world_options options = case_busy();
    struct world *world;

    options.nodes = 3;
    world = world_open(&options);
    for (int i = 0; i < 90; i++) {
        world_send(world, i % 4 == 0 ? WORLD_PUT : WORLD_COPIED, (unsigned) i % 3,
                   (unsigned) (i + 1 + i % 2) % 3, 1 + 3001 * (uint64_t) i);
    }
    case_run(world);
    case_close(world);
}
END_TEST

/* One copied put has no more chunks under way than a lane would have buffers, however large. */
START_TEST(leaves_staging_to_others)
{
    struct world_options options = world_defaults();
    struct world_message *large, *small;
    struct world *world = world_open(&options);

    large = world_send(world, WORLD_COPIED, 0, 1, 8000000);
    small = world_send(world, WORLD_COPIED, 0, 1, 20000);
    case_run(world);
    ck_assert_uint_lt(small->arrived_ns, large->arrived_ns);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copied");

    unit_add(suite, every_length_of_small_blocks);
    unit_add(suite, among_staged_puts);
    unit_add(suite, little_of_everything);
    unit_add(suite, leaves_staging_to_others);
    return unit_run(suite);
}
