/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Small messages: order, credits that run out in both directions, counters that wrap, many messages
 * of all sizes at once. The world fails a run in which a message finds no receive buffer.
 */
#include "case.h"
#include "inspect/link.h"
#include "unit.h"

START_TEST(hundreds_of_mixed_messages)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct world_options options = world_defaults();
        struct sim_random random = {seed};
        struct world *world;

        options.nodes = 3;
        world = world_open(&options);
        for (int i = 0; i < 600; i++) {
            unsigned from = (unsigned) sim_random_below(&random, 3);
            unsigned to = (from + 1 + (unsigned) sim_random_below(&random, 2)) % 3;
            bool small = sim_random_below(&random, 3) > 0;

            world_send(world, small ? WORLD_EAGER : WORLD_PUT, from, to,
                       small ? sim_random_size(&random, 16000) : sim_random_size(&random, 500000));
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* Windows of one to five messages, both sides with more to say than that. */
START_TEST(credits_exhausted_both_ways)
{
    for (uint16_t window = 1; window <= 5; window++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.window[0] = options.core.window[1] = window;
        world = world_open(&options);
        for (int i = 0; i < 300; i++) {
            world_send(world, WORLD_EAGER, 0, 1, 10 * i);
            world_send(world, WORLD_EAGER, 1, 0, 11 * i);
        }
        case_run(world);
        ck_assert_uint_gt(world->nodes[0].core.stats.messages_queued, 500 / 2);
        ck_assert_uint_gt(world->nodes[0].core.stats.credit_waits, 500 / 10);
        case_close(world);
    }
}
END_TEST

/* Nothing flows back: credits come by themselves. */
START_TEST(credits_of_one_direction)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.core.window[0] = options.core.window[1] = 8;
    world = world_open(&options);
    for (int i = 0; i < 1000; i++) {
        world_send(world, WORLD_EAGER, 0, 1, 64);
    }
    case_run(world);
    ck_assert_uint_gt(world->nodes[1].core.stats.credits_written, 100);
    ck_assert_uint_le(world->nodes[1].core.stats.credits_written, 1000 / 4 + 2);
    case_close(world);
}
END_TEST

/* Peers that were granted less than the options say: credits come back for what they have. */
START_TEST(credits_of_lesser_windows)
{
    static const uint16_t granted[] = {1, 2, 4, 7};

    for (size_t i = 0; i < sizeof(granted) / sizeof(granted[0]); i++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.window[0] = options.core.window[1] = 16;
        options.core.ring.slots = 0;
        options.granted = granted[i];
        world = world_open(&options);
        for (int m = 0; m < 100; m++) {
            world_send(world, WORLD_EAGER, 0, 1, 64);
        }
        case_run(world);
        ck_assert_uint_eq(rbuf_credit_window(world->nodes[0].links[1].peer, RBUF_FLOW_CONTROL),
                          granted[i]);
        ck_assert_uint_ge(world->nodes[1].core.stats.credits_written, 100 / granted[i] - 1u);
        case_close(world);
    }
}
END_TEST

/* A receiver that computes takes nothing: the sender stops at the window and goes on later. */
START_TEST(receiver_that_computes)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    world_compute(world, 1, 5000000);
    for (int i = 0; i < 500; i++) {
        world_send(world, WORLD_EAGER, 0, 1, 100);
    }
    case_run(world);
    ck_assert_uint_gt(world_now(world), 5000000);
    case_close(world);
}
END_TEST

/* The 16 bits of a credit in a header and the 32 of the queues wrap on the way. */
START_TEST(counters_wrap)
{
    const uint64_t starts[] = {UINT16_MAX - 20, UINT32_MAX - 20, INT32_MAX - 20};

    for (size_t s = 0; s < 3; s++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.window[0] = options.core.window[1] = 6;
        options.depth = 8;
        world = world_open(&options);
        for (unsigned node = 0; node < 2; node++) {
            struct world_link *link = &world->nodes[node].links[1 - node];

            for (int id = 0; id < RBUF_CHANNELS; id++) {
                inspect_count_sent(link->peer, (enum rbuf_flow) id, starts[s]);
                inspect_count_received(link->peer, (enum rbuf_flow) id, starts[s]);
                link->mailbox->credit[id] = starts[s];
                link->end[id].queue.posted = link->end[id].queue.retired = starts[s] + 7;
            }
        }
        for (int i = 0; i < 200; i++) {
            world_send(world, WORLD_EAGER, 0, 1, 20 * i);
            world_send(world, WORLD_EAGER, 1, 0, 21 * i);
            world_send(world, WORLD_PUT, i % 2, 1 - i % 2, 200 * i + 1);
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

/*
 * What a header of the bulk channel says may be late by any number of messages of the other one, so
 * nothing of it is believed; nor is a word that has stood in the mailbox for a long time.
 */
START_TEST(counts_that_are_late)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;
    struct {
        struct rbuf_message_header header;
        struct rbuf_offer none;
    } late = {.header = {.kind = RBUF_MESSAGE_RTR}};

    world_send(world, WORLD_EAGER, 0, 1, 8);
    case_run(world);
    late.header.peer = peer->index;
    for (uint64_t turns = 0x10000; turns <= 0x100000000; turns <<= 16) {
        const uint32_t window = rbuf_credit_window(peer, RBUF_FLOW_CONTROL);

        inspect_count_sent(peer, RBUF_FLOW_CONTROL, turns); /* since then so many were sent */
        rbuf_credit_use(peer, RBUF_FLOW_CONTROL, window);
        memset(late.header.credit, 0, sizeof(late.header.credit));
        late.header.credit[RBUF_COUNTED] = RBUF_COUNTED_IN_ORDER;
        late.header.credit[RBUF_CONTROL] = (uint16_t) (turns + 3);
        ck_assert(!rbuf_core_received(&world->nodes[0].core, RBUF_BULK, NULL, &late,
                                      sizeof(late.header)));
        atomic_store(&peer->mailbox->credit[RBUF_CONTROL], 3);
        ck_assert(!rbuf_credit_available(peer, RBUF_FLOW_CONTROL));
        ck_assert_uint_eq(inspect_taken(peer, RBUF_FLOW_CONTROL), turns);
        ck_assert_uint_eq(inspect_under_way(peer, RBUF_FLOW_CONTROL), window);
    }
    inspect_count_sent(peer, RBUF_FLOW_CONTROL, inspect_taken(peer, RBUF_FLOW_CONTROL));
    case_close(world);
}
END_TEST

/* 70000 messages: every one of the 16-bit values is on the wire once. */
START_TEST(sixteen_bits_of_credits)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    for (int i = 0; i < 640; i++) {
        for (int j = 0; j < 1000; j++) { /* most take the ring */
            world_send(world, WORLD_EAGER, 0, 1, 8);
            if (j % 8 == 0) {
                world_send(world, WORLD_EAGER, 1, 0, 8);
            }
        }
        case_run(world);
    }
    ck_assert_uint_gt(world->nodes[0].core.stats.ring_sent, UINT16_MAX);
    case_close(world);
}
END_TEST

/* Words late and out of step with the headers: credits are never counted twice. */
START_TEST(credits_late_and_mixed)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.core.window[0] = options.core.window[1] = 5;
    options.faults.small_delay_ns = 30000;
    options.faults.completion_delay_ns = 20000;
    options.faults.jitter_ns = 5000;
    world = world_open(&options);
    for (int i = 0; i < 400; i++) {
        world_send(world, WORLD_EAGER, 0, 1, 5 * i);
        if (i % 3 == 0) {
            world_send(world, WORLD_EAGER, 1, 0, 5 * i);
        }
        if (i % 10 == 0) {
            world_send(world, WORLD_PUT, 1, 0, 500 * i + 1);
        }
    }
    case_run(world);
    case_close(world);
}
END_TEST

/* Before the peer is connected everything queues; afterwards it goes out in order. */
START_TEST(nothing_is_lost_before_connecting)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.apart = true;
    world = world_open(&options);
    for (int i = 0; i < 100; i++) {
        world_send(world, WORLD_EAGER, 0, 1, 30 * i);
        world_send(world, WORLD_PUT, 0, 1, 3000 * i + 1);
        world_send(world, WORLD_READ, 0, 1, 300 * i + 1);
    }
    ck_assert_int_eq(world_run(world), WORLD_DEADLOCK);
    ck_assert_uint_eq(world->open, 300);
    ck_assert(!rbuf_peer_drained(world->nodes[0].links[1].peer));
    world_connect(world);
    world_wake(&world->nodes[0]);
    case_run(world);
    case_close(world);
}
END_TEST

/* Drained means that nothing is queued and every work is back; flushed, that all of it has arrived.
 */
START_TEST(drained_and_flushed)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;

    ck_assert(rbuf_peer_drained(peer));
    world_send(world, WORLD_WRITE, 0, 1, 1000000);
    ck_assert(!rbuf_peer_drained(peer));
    case_run(world);
    ck_assert(rbuf_peer_drained(peer));
    world_send(world, WORLD_EAGER, 0, 1, 8); /* inline: no work */
    world_send(world, WORLD_EAGER, 0, 1, 8);
    ck_assert(rbuf_peer_drained(peer));
    ck_assert(!rbuf_peer_flush(peer));
    for (int i = 0; i < 1000 && !rbuf_peer_flush(peer); i++) {
        sim_step(&world->net.clock);
    }
    ck_assert(rbuf_peer_flush(peer));
    ck_assert_uint_eq(world->open, 0);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("channel");

    unit_add(suite, hundreds_of_mixed_messages);
    unit_add(suite, credits_exhausted_both_ways);
    unit_add(suite, credits_of_one_direction);
    unit_add(suite, credits_of_lesser_windows);
    unit_add(suite, receiver_that_computes);
    unit_add(suite, counters_wrap);
    unit_add(suite, sixteen_bits_of_credits);
    unit_add(suite, counts_that_are_late);
    unit_add(suite, credits_late_and_mixed);
    unit_add(suite, nothing_is_lost_before_connecting);
    unit_add(suite, drained_and_flushed);
    return unit_run(suite);
}
