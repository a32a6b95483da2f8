/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copied puts and gets: from and into memory that is not registered, through send staging.
 */
#include "case.h"
#include "core/stage/copies.h"
#include "inspect/stage.h"
#include "unit.h"

START_TEST(every_length_of_small_blocks)
{
    struct world_options options = case_small_blocks();
    struct world *world = world_open(&options);

    for (uint64_t bytes = 1; bytes <= 56 * 30; bytes++) {
        world_send(world, WORLD_COPIED, 0, 1, bytes);
        world_send(world, WORLD_GET, 0, 1, bytes);
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
        for (int i = 0; i < 80; i++) {
            static const enum world_kind kinds[] = {WORLD_PUT, WORLD_COPIED, WORLD_DIRECT,
                                                    WORLD_GET};

            world_send(world, kinds[i % 4], i / 4 % 2, 1 - i / 4 % 2, 1000 + 70001 * (uint64_t) i);
        }
        case_run(world);
        for (struct world_message *message = world->messages; message != NULL;
             message = message->next) {
            ck_assert_uint_eq(message->events, 1);
        }
        ck_assert_uint_eq(
            world->nodes[0].core.stats.copied_puts + world->nodes[1].core.stats.copied_puts, 20);
        ck_assert_uint_eq(
            world->nodes[0].core.stats.copied_gets + world->nodes[1].core.stats.copied_gets, 20);
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
        static const enum world_kind kinds[] = {WORLD_PUT, WORLD_COPIED, WORLD_GET, WORLD_COPIED};

        world_send(world, kinds[i % 4], (unsigned) i % 3, (unsigned) (i + 1 + i % 2) % 3,
                   1 + 3001 * (uint64_t) i);
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

/* Its chunks begin small: these are no more than that either. */
START_TEST(has_no_more_chunks_than_a_lane)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    const struct world_message *message = world_send(world, WORLD_COPIED_PUT, 0, 1, 8000000);
    uint32_t most = 0;

    while (message->state == WORLD_OPEN) {
        uint32_t chunks;

        ck_assert(sim_step(&world->net.clock));
        chunks = inspect_chunks_of_put(&message->put);
        most = chunks > most ? chunks : most;
    }
    ck_assert_uint_eq(most, options.core.schedule.buffers);
    case_run(world);
    case_close(world);
}
END_TEST

/* Nor has one get more than that in staging; others, and puts, go on beside it. */
START_TEST(a_get_leaves_staging_to_others)
{
    struct world_options options = world_defaults();
    struct world_message *large, *small, *put;
    struct world *world = world_open(&options);
    const struct rbuf_core *core = &world->nodes[0].core;
    const struct rbuf_schedule *schedule = &core->options.schedule;
    uint32_t least;

    large = world_send(world, WORLD_GET, 0, 1, 8000000);
    least = core->send_arena.free_blocks;
    ck_assert_uint_lt(least, core->send_arena.blocks); /* it asks at once */
    small = world_send(world, WORLD_GET, 0, 1, 20000);
    put = world_send(world, WORLD_COPIED, 0, 1, 20000);
    while (large->state == WORLD_OPEN) {
        ck_assert(sim_step(&world->net.clock));
        if (small->state != WORLD_OPEN && put->state != WORLD_OPEN &&
            core->send_arena.free_blocks < least) {
            least = core->send_arena.free_blocks;
        }
    }
    ck_assert_uint_ge(least + schedule->buffers * schedule->buffer_blocks, core->send_arena.blocks);
    case_run(world);
    ck_assert_uint_lt(small->arrived_ns, large->arrived_ns);
    ck_assert_uint_lt(put->arrived_ns, large->arrived_ns);
    case_close(world);
}
END_TEST

/* Any number may be started before they are waited for: progress looks at a few. */
START_TEST(many_wait)
{
    enum { MANY = 2000 };
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;

    for (unsigned i = 0; i < MANY; i++) {
        world_send(world, WORLD_GET, 0, 1, 20000);
        world_send(world, WORLD_COPIED_PUT, 0, 1, 20000);
    }
    ck_assert_uint_eq(inspect_gets_begun(peer), RBUF_COPIED_AT_ONCE);
    ck_assert_uint_eq(inspect_puts_begun(peer), RBUF_COPIED_AT_ONCE);
    case_holds(&world->nodes[0]);
    case_run(world);
    ck_assert_uint_eq(inspect_gets_begun(peer), 0);
    ck_assert_uint_eq(inspect_puts_begun(peer), 0);
    case_holds(&world->nodes[0]);
    case_close(world);
}
END_TEST

START_TEST(those_that_wait_fail_too)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    for (unsigned i = 0; i < 3 * RBUF_COPIED_AT_ONCE; i++) {
        world_send(world, WORLD_GET, 0, 1, 200000);
        world_send(world, WORLD_COPIED_PUT, 0, 1, 200000);
    }
    sim_kill(&world->nodes[0].links[1].end[RBUF_BULK]);
    world_settle(world);
    for (struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert_int_eq(message->state, WORLD_FAILED);
        ck_assert_uint_eq(message->events, 1);
    }
    world_close(world);
}
END_TEST

/* Who copies for a get has completions to poll for meanwhile, and does not count. */
START_TEST(a_get_is_no_reason_not_to_poll)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    const struct rbuf_core *core = &world->nodes[0].core;

    world_send(world, WORLD_GET, 0, 1, 1 << 20);
    case_run(world);
    ck_assert_uint_eq(core->copied, 0);
    world_send(world, WORLD_COPIED_PUT, 0, 1, 1 << 20);
    case_run(world);
    ck_assert_uint_gt(core->copied, 1 << 19); /* the rest in btl_put() */
    case_close(world);
}
END_TEST

/* Many long ones both ways: each direction has a lane's worth under way, so that neither waits for
 * all of the other, and staging is left to others. */
START_TEST(puts_and_gets_share_the_queue)
{
    enum { EACH = 16, BYTES = 1 << 20 };
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    const struct rbuf_core *core = &world->nodes[0].core;
    const uint64_t lanes = 2 * rbuf_schedule_lane(&core->options.schedule);
    const double one_way_ns = EACH * BYTES / options.model.bytes_per_ns;
    uint32_t least = core->send_arena.free_blocks;

    for (int i = 0; i < 2 * EACH; i++) {
        world_send(world, i < EACH ? WORLD_COPIED : WORLD_GET, 0, 1, BYTES);
    }
    while (world->open > 0) {
        ck_assert(sim_step(&world->net.clock));
        least = core->send_arena.free_blocks < least ? core->send_arena.free_blocks : least;
    }
    ck_assert_msg((double) world_now(world) < 1.3 * one_way_ns, "%llu ns, one way %.0f",
                  (unsigned long long) world_now(world), one_way_ns);
    /* Besides, each may have one short chunk under way, and one that waits. */
    ck_assert_uint_lt((uint64_t) (core->send_arena.blocks - least) *
                          core->options.schedule.block_bytes,
                      2 * lanes);
    case_run(world);
    case_close(world);
}
END_TEST

/* A get takes no longer than one into registered memory, but for the copy of C0 and the price
 * of some chunks: both ways of the wire at once, too. */
START_TEST(a_get_is_as_fast_as_a_read)
{
    for (int both = 0; both < 2; both++) {
        for (uint64_t bytes = 64 * 1024; bytes <= 16 * 1024 * 1024; bytes *= 4) {
            static const enum world_kind kinds[] = {WORLD_READ, WORLD_GET};
            uint64_t ns[2];

            for (int i = 0; i < 2; i++) {
                struct world_options options = world_defaults();
                struct world *world = world_open(&options);
                const struct world_message *message = world_begin(world, kinds[i], 0, 1, bytes);

                if (both != 0) {
                    world_begin(world, kinds[i], 1, 0, bytes);
                }
                case_run(world);
                ns[i] = message->arrived_ns - message->started_ns;
                case_close(world);
            }
            ck_assert_msg(ns[1] < ns[0] + ns[0] / 200 + 2500,
                          "%llu bytes: %llu ns, and %llu if registered", (unsigned long long) bytes,
                          (unsigned long long) ns[1], (unsigned long long) ns[0]);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copied");

    unit_add(suite, every_length_of_small_blocks);
    unit_add(suite, among_staged_puts);
    unit_add(suite, little_of_everything);
    unit_add(suite, leaves_staging_to_others);
    unit_add(suite, has_no_more_chunks_than_a_lane);
    unit_add(suite, a_get_leaves_staging_to_others);
    unit_add(suite, many_wait);
    unit_add(suite, those_that_wait_fail_too);
    unit_add(suite, a_get_is_no_reason_not_to_poll);
    unit_add(suite, puts_and_gets_share_the_queue);
    unit_add(suite, a_get_is_as_fast_as_a_read);
    return unit_run(suite);
}
