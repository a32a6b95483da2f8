/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Staging that grows: when something waits and not before, as far as it may, and to the same bytes
 * when no more can be registered. The simulated adapter refuses what goes from one registration
 * into another.
 */
#include "case.h"
#include "unit.h"

/* Of 64 blocks each way at the start, a message of any length takes 24. */
static struct world_options small_start(void)
{
    struct world_options options = world_defaults();

    options.core.schedule.block_bytes = 1024;
    options.core.schedule.buffer_blocks = 8;
    options.core.schedule.first_blocks = 2;
    options.core.early.slot_blocks = 4;
    options.core.early.opening_blocks = 1;
    options.core.quantum = 4096;
    options.model.packet_bytes = 1024;
    options.send_bytes = options.receive_bytes = 64 * 1024;
    options.send_most = options.receive_most = 1024 * 1024;
    return options;
}

static const struct rbuf_core *core_of(const struct world *world, unsigned node)
{
    return &world->nodes[node].core;
}

START_TEST(one_message_at_a_time_needs_no_more)
{
    const uint64_t sizes[] = {1, 5000, 100000, 3000000};
    struct world_options options = small_start();
    struct world *world = world_open(&options);

    for (unsigned i = 0; i < 40; i++) {
        world_send(world, WORLD_PUT, 0, 1, sizes[i % 4]);
        case_run(world);
        world_send(world, WORLD_PUT, 1, 0, sizes[i % 4]);
        case_run(world);
    }
    for (unsigned node = 0; node < 2; node++) {
        ck_assert_uint_eq(core_of(world, node)->stats.staging_grown, 0);
        ck_assert_uint_eq(core_of(world, node)->send_arena.blocks, 64);
        ck_assert_uint_eq(core_of(world, node)->receive_arena.blocks, 64);
    }
    case_close(world);
}
END_TEST

/* Both ways and all kinds, until nothing waits any more or there is no more. */
static void many_at_once(struct world *world, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 60; i++) {
            world_send(world, WORLD_PUT, 0, 1, (uint64_t) (500 + 3001 * i));
            world_send(world, WORLD_PUT, 1, 0, (uint64_t) (200000 - 2900 * i));
            world_send(world, WORLD_COPIED, 0, 1, (uint64_t) (100 + 1999 * i));
        }
        case_run(world);
    }
}

START_TEST(it_grows_to_the_most)
{
    for (unsigned arrival = 0; arrival < RBUF_ARRIVALS; arrival++) {
        struct world_options options = small_start();
        struct world *world;

        options.core.arrival = (enum rbuf_arrival) arrival;
        options.receive_most = 1000 * 1024 + 100; /* not in whole blocks, nor a power of two */
        world = world_open(&options);
        many_at_once(world, 3);
        /* 64, 128, 256, 512 and the rest; nothing is asked for behind that. */
        ck_assert_uint_eq(core_of(world, 1)->receive_arena.blocks, 1000);
        ck_assert_uint_eq(core_of(world, 1)->receive_arena.extents, 5);
        ck_assert_int_eq(core_of(world, 1)->receive_arena.growth, RBUF_ARENA_GROWN);
        ck_assert_uint_gt(core_of(world, 0)->stats.staging_grown, 4);
        ck_assert_uint_le(core_of(world, 0)->stats.staging_grown, 8);
        case_close(world);
    }
}
END_TEST

/* Each side by itself: who only receives does not grow what it sends from. */
START_TEST(the_directions_grow_apart)
{
    struct world_options options = small_start();
    struct world *world = world_open(&options);

    for (int i = 0; i < 30; i++) {
        world_send(world, WORLD_PUT, 0, 1, 150000);
    }
    case_run(world);
    ck_assert_uint_eq(core_of(world, 0)->receive_arena.blocks, 64);
    ck_assert_uint_gt(core_of(world, 1)->receive_arena.blocks, 64);
    ck_assert_uint_eq(core_of(world, 1)->send_arena.blocks, 64);
    case_close(world);
}
END_TEST

START_TEST(a_refusal_ends_it)
{
    for (unsigned growths = 0; growths < 7; growths++) {
        struct world_options options = small_start();
        struct world *world;
        const struct rbuf_core *core;

        options.growths = growths;
        world = world_open(&options);
        many_at_once(world, 4);
        core = core_of(world, 1);
        ck_assert_uint_eq(core->stats.staging_grown, growths);
        ck_assert(core->send_arena.growth == RBUF_ARENA_REFUSED ||
                  core->receive_arena.growth == RBUF_ARENA_REFUSED);
        if (growths == 0) {
            ck_assert_uint_eq(core->receive_arena.blocks, 64);
            ck_assert_uint_gt(core->stats.grants_deferred, 0);
        }
        case_close(world);
    }
}
END_TEST

/* Peers that send one message after the other: as many have windows as in an arena that began with
 * all, though the start has room for fewer. */
START_TEST(peers_get_their_windows)
{
    uint32_t leased[2];

    for (unsigned whole = 0; whole < 2; whole++) {
        struct world_options options = small_start();
        struct world *world;

        options.nodes = WORLD_NODES_MAX;
        options.core.early.peers = WORLD_NODES_MAX;
        options.core.early.slot_blocks = 8; /* 32 a window: one at the start */
        if (whole) {
            options.send_bytes = options.send_most;
            options.receive_bytes = options.receive_most;
        }
        world = world_open(&options);
        for (int round = 0; round < 6; round++) {
            for (unsigned from = 1; from < WORLD_NODES_MAX; from++) {
                world_send(world, WORLD_PUT, from, 0, 30000);
                case_run(world);
            }
        }
        leased[whole] = (uint32_t) core_of(world, 0)->stats.early_leased;
        ck_assert_uint_eq(core_of(world, 0)->stats.early_recalled, 0);
        ck_assert_uint_eq(core_of(world, 0)->stats.staging_grown, whole ? 0 : 3);
        case_close(world);
    }
    ck_assert_uint_eq(leased[0], leased[1]);
    ck_assert_uint_eq(leased[0], WORLD_NODES_MAX - 1);
}
END_TEST

/* What windows leave is always enough for the largest message, and half of all there is. */
START_TEST(windows_leave_room)
{
    struct world_options options = small_start();
    const struct rbuf_core *core;
    struct world *world;

    options.nodes = WORLD_NODES_MAX;
    options.core.early.peers = WORLD_NODES_MAX;
    options.growths = 0;
    options.core.grant_wait_ns = 0; /* a message without a lane would wait for ever */
    world = world_open(&options);
    for (int round = 0; round < 10; round++) {
        for (unsigned from = 1; from < WORLD_NODES_MAX; from++) {
            world_send(world, WORLD_PUT, from, 0, 300000);
            world_send(world, WORLD_PUT, from, 0, 4000);
        }
        case_run(world);
    }
    core = core_of(world, 0);
    ck_assert_uint_eq(rbuf_lease_most(core), 2);
    ck_assert_uint_eq(inspect_windows_out(core), 2);
    ck_assert_uint_ge(core->receive_arena.free_blocks, 32);
    case_close(world);
}
END_TEST

/* Others have all but what one message needs, and take what is given back at once, but for the
 * place of the window that the peer is to have. */
START_TEST(many_peers_make_room_for_a_window)
{
    struct world_options options = small_start();
    struct rbuf_arena *arena;
    struct world *world;
    uint32_t first, taken = 0;

    options.send_bytes = options.send_most;
    options.receive_bytes = options.receive_most = 384 * 1024;
    world = world_open(&options);
    arena = &world->nodes[0].core.receive_arena;
    ck_assert(rbuf_arena_take_at(arena, 40, 344));
    for (int i = 0; i < 4; i++) {
        world_send(world, WORLD_PUT, 1, 0, 50000);
        case_run(world);
    }
    ck_assert_uint_eq(core_of(world, 0)->stats.early_leased, 0);
    rbuf_arena_give(arena, 40, 344);
    while (rbuf_arena_take(arena, 1, &first)) {
        taken++;
    }
    ck_assert_uint_eq(taken, 384 - 16);
    rbuf_arena_give(arena, 0, 40);
    for (int i = 0; i < 4; i++) {
        world_send(world, WORLD_PUT, 1, 0, 50000);
        case_run(world);
    }
    ck_assert_uint_eq(core_of(world, 0)->stats.early_leased, 1);
    ck_assert_uint_eq(core_of(world, 0)->stats.early_recalled, 0);
    ck_assert_uint_gt(core_of(world, 1)->stats.early_sent, 1);
    rbuf_arena_give(arena, 40, 384 - 40 - 16);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("staging");

    unit_add(suite, one_message_at_a_time_needs_no_more);
    unit_add(suite, it_grows_to_the_most);
    unit_add(suite, the_directions_grow_apart);
    unit_add(suite, a_refusal_ends_it);
    unit_add(suite, peers_get_their_windows);
    unit_add(suite, windows_leave_room);
    unit_add(suite, many_peers_make_room_for_a_window);
    return unit_run(suite);
}
