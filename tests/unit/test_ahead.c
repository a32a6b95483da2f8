/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Pieces ahead: messages whose pieces wait for their names and whose names wait for their pieces,
 * receivers that are late, few buffers and credits, peers that are lost.
 */
#include <errno.h>

#include "pieces.h"
#include "unit.h"

/* Messages of fewer pieces than are sent ahead, of as many, and of more. */
START_TEST(messages_of_every_length)
{
    struct world_options options = pieces_options();
    struct world *world = world_open(&options);
    unsigned count = 0;

    for (uint64_t bytes = 1; bytes < 6000; bytes += 333, count++) {
        world_send(world, WORLD_PACKED, 0, 1, bytes);
        case_run(world);
        case_settle(world);
    }
    ck_assert_uint_eq(pieces_stats(world, 0)->heralds, count);
    ck_assert_uint_eq(pieces_stats(world, 0)->heralds_late, 0);
    case_close(world);
}
END_TEST

/* What is heralded is there sooner by about a round trip, less what the pieces are sent for. */
START_TEST(the_round_trip_is_hidden)
{
    uint64_t took[2];

    for (unsigned on = 0; on < 2; on++) {
        struct world_options options = pieces_options();
        struct world *world;
        struct world_message *message;

        options.ahead = on * 4;
        options.piece_bytes = 8000;
        world = world_open(&options);
        message = world_send(world, WORLD_PACKED, 0, 1, 65536);
        case_run(world);
        took[on] = message->arrived_ns - message->started_ns;
        case_close(world);
    }
    ck_assert_uint_lt(took[1] + 3500, took[0]); /* the latency is 2 us */
}
END_TEST

/* Many at once, both ways, beside others, with little of everything; some answered late. */
START_TEST(many_at_once)
{
    for (unsigned kind = 0; kind < 24; kind++) {
        struct world_options options = case_busy();
        struct world *world;

        options.late = kind % 3 * 2;
        options.aside = kind % 3 == 2;
        options.core.pieces_kept = kind / 3 % 2 * 3; /* none is kept in its buffer, or few are */
        options.ahead = kind / 6 % 2 * 5 + 1;
        options.piece_bytes = 700;
        options.ring_memory = kind / 12 * 4;
        world = world_open(&options);
        for (int round = 0; round < 60; round++) {
            for (unsigned from = 0; from < 2; from++) {
                world_send(world, WORLD_PACKED, from, 1 - from, 500 + 700 * (round % 9) + round);
                world_send(world, WORLD_PUT, from, 1 - from, 4000 + 300 * round);
                world_send(world, WORLD_EAGER, from, 1 - from, 100);
            }
            world_settle(world);
        }
        options.late = 0;
        for (unsigned node = 0; node < 2; node++) {
            while (world->nodes[node].unexpected != NULL) {
                world_send(world, WORLD_PACKED, 1 - node, node, 3000);
                world_settle(world);
            }
        }
        case_run(world);
        ck_assert_uint_gt(pieces_stats(world, 0)->heralds, 5);
        case_close(world);
    }
}
END_TEST

/* Nobody answers in time: heralds become rare, and come again when there is an answer. */
START_TEST(late_receivers)
{
    struct world_options options = pieces_options();
    struct world *world;
    uint64_t heralds;

    options.late = 1;
    world = world_open(&options);
    for (unsigned i = 0; i < 300; i++) {
        world_send(world, WORLD_PACKED, 0, 1, 5000);
        world_settle(world);
        ck_assert_uint_eq(world->nodes[1].core.pieces_kept, 0);
        world_expect(world, 1);
        case_run(world);
    }
    heralds = pieces_stats(world, 0)->heralds;
    ck_assert_uint_ge(heralds, 8);
    ck_assert_uint_le(heralds, 12);
    ck_assert_uint_eq(pieces_stats(world, 0)->heralds_late, heralds);
    world->options.late = 0;
    for (unsigned i = 0; i < 200; i++) {
        world_send(world, WORLD_PACKED, 0, 1, 5000);
        case_run(world);
    }
    ck_assert_uint_ge(pieces_stats(world, 0)->heralds, heralds + 130);
    case_close(world);
}
END_TEST

/* The processor of one side sleeps, so that names come long after their pieces, or the pieces all
 * at once; no receive buffer but the few that may be is kept meanwhile. */
START_TEST(sleepers)
{
    for (unsigned kept = 0; kept < 4; kept++) {
        struct world_options options = pieces_options();
        struct world *world;

        options.core.pieces_kept = kept;
        options.ahead = 6;
        world = world_open(&options);
        for (unsigned i = 0; i < 20; i++) {
            world_send(world, WORLD_PACKED, 0, 1, 9000);
            world_compute(world, i % 2, 50000);
            case_run(world);
            ck_assert_uint_le(world->nodes[1].core.pieces_kept, kept);
        }
        case_close(world);
    }
}
END_TEST

/* A peer is lost at any moment of some messages: everything is given back. */
START_TEST(a_peer_is_lost)
{
    for (uint64_t when = 0; when < 40000; when += 500) {
        struct world_options options = pieces_options();
        struct world *world = world_open(&options);

        for (unsigned i = 0; i < 4; i++) {
            world_send(world, WORLD_PACKED, 0, 1, 9000);
            world_send(world, WORLD_PACKED, 1, 0, 9000);
        }
        while (world_now(world) < when && sim_step(&world->net.clock)) {
        }
        world_lose(&world->nodes[when / 500 % 2], 1 - when / 500 % 2, -ECONNRESET);
        world_wake(&world->nodes[when / 500 % 2]);
        world_settle(world);
        ck_assert_uint_eq(world->nodes[0].core.pieces_kept, 0);
        ck_assert_uint_eq(world->nodes[1].core.pieces_kept, 0);
        ck_assert_uint_eq(world->nodes[0].ams, 0);
        ck_assert_uint_eq(world->nodes[1].ams, 0);
        ck_assert_uint_eq(world->corrupt, 0);
        world_close(world);
    }
}
END_TEST

/* With few credits pieces that wait could be all that a peer may send: there are none. */
START_TEST(few_credits)
{
    for (uint16_t window = 7; window <= 8; window++) {
        struct world_options options = pieces_options();
        struct world *world;

        options.core.window[RBUF_FLOW_BULK] = window;
        world = world_open(&options);
        world_send(world, WORLD_PACKED, 0, 1, 9000);
        case_run(world);
        ck_assert_uint_eq(pieces_stats(world, 0)->heralds, window == 8);
        case_close(world);
    }
}
END_TEST

/* The numbers of sets wrap, and the receiver keeps up with them. */
START_TEST(numbers_wrap)
{
    static const uint32_t sets[] = {0x3ffffff0u, 0x7ffffff0u, 0xbffffff0u, 0xfffffff0u};
    struct world_options options = pieces_options();
    struct world *world = world_open(&options);

    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        world->nodes[0].links[1].peer->ahead_out.set = sets[i];
        for (unsigned j = 0; j < 40; j++) {
            world_send(world, WORLD_PACKED, 0, 1, 5000);
            case_run(world);
        }
    }
    ck_assert_uint_eq(pieces_stats(world, 0)->heralds, 160);
    ck_assert_uint_eq(pieces_stats(world, 0)->heralds_late, 0);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ahead");

    unit_add(suite, messages_of_every_length);
    unit_add(suite, the_round_trip_is_hidden);
    unit_add(suite, many_at_once);
    unit_add(suite, late_receivers);
    unit_add(suite, sleepers);
    unit_add(suite, a_peer_is_lost);
    unit_add(suite, few_credits);
    unit_add(suite, numbers_wrap);
    return unit_run(suite);
}
