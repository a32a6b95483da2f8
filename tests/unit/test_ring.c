/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager rings: small messages by RDMA write beside those by send/receive, in one order; slots freed
 * out of order; rings that are full, declined, handed back, of unlike sizes. The world fails a run
 * in which a message arrives wrong or out of order.
 */
#include "core/eager/ring_in.h"
#include "rings.h"
#include "unit.h"

START_TEST(small_messages_take_the_ring)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    rings_open(world);
    for (int i = 0; i < 50; i++) {
        const struct rbuf_stats before = *rings_stats(world, 0);
        const struct rbuf_stats *now = rings_stats(world, 0);

        world_send(world, WORLD_EAGER, 0, 1, 8);
        world_send(world, WORLD_EAGER, 0, 1, 8); /* one of the two goes by the bulk channel */
        case_run(world);
        ck_assert_uint_eq(now->ring_sent, before.ring_sent + 1);
        ck_assert_uint_ge(now->ring_bytes, before.ring_bytes + 8);
        ck_assert_uint_eq(now->send_bytes - before.send_bytes, now->ring_bytes - before.ring_bytes);
    }
    ck_assert_uint_eq(rings_stats(world, 1)->ring_received, rings_stats(world, 0)->ring_sent);
    ck_assert_uint_eq(rings_stats(world, 0)->ring_opened, 1);
    ck_assert_uint_eq(rings_stats(world, 1)->ring_admitted, 1);
    case_close(world);
}
END_TEST

/* Sizes around what a slot takes, and what travels inside the request. */
START_TEST(every_size)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    rings_open(world);
    for (uint64_t bytes = 0; bytes < 2200; bytes++) {
        world_send(world, WORLD_EAGER, 0, 1, bytes);
        world_send(world, WORLD_EAGER, 0, 1, bytes);
        if (bytes % 8 == 0) {
            case_run(world);
        }
    }
    case_run(world);
    ck_assert_uint_gt(rings_stats(world, 0)->ring_sent, 1800);
    case_close(world);
}
END_TEST

/* Few slots, so that every other message falls back: both ways are one order. */
START_TEST(two_ways_one_order)
{
    for (uint32_t slots = 2; slots <= 5; slots++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct world_options options = world_defaults();
            struct world *world;

            options.core.ring.slots = slots;
            options.core.window[RBUF_CONTROL] = 7;
            options.faults.seed = seed;
            options.faults.jitter_ns = seed > 2 ? 4000 : 0;
            options.faults.completion_delay_ns = seed == 4 ? 20000 : 0;
            options.faults.late_read = seed % 2 == 0;
            world = world_open(&options);
            rings_open(world);
            rings_exchange(world, 400, 4000);
            ck_assert_uint_gt(rings_stats(world, 0)->ring_full, 0);
            ck_assert_uint_gt(rings_stats(world, 0)->ring_sent, 20);
            ck_assert_uint_gt(rings_stats(world, 1)->messages_received, 399);
            case_close(world);
        }
    }
}
END_TEST

/* A ring message that arrives while its predecessor waits in the completion queue stays put. */
START_TEST(ring_waits_for_its_turn)
{
    struct world_options options = world_defaults();
    struct world *world;

    world = world_open(&options);
    rings_open(world);
    world_compute(world, 1, 100000); /* both are there before it looks */
    for (int i = 0; i < 20; i++) {
        world_send(world, WORLD_EAGER, 0, 1, i % 4 < 2 ? 5000 : 10);
    }
    case_run(world);
    ck_assert_uint_gt(rings_stats(world, 1)->ring_waits, 0);
    case_close(world);
}
END_TEST

/* Slots freed in any order: credits only ever cover a run of free slots. */
START_TEST(slots_freed_out_of_order)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *sender = world->nodes[0].links[1].peer;
    struct rbuf_core *core = &world->nodes[1].core;
    uint32_t slots = core->options.ring.slots;
    struct rbuf_peer *writer = world->nodes[1].links[0].peer;

    rings_open(world);
    for (unsigned round = 0; round < 50; round++) {
        struct rbuf_event event[16];
        const uint16_t credited = rings_credited(writer);
        bool freed[16] = {false};

        for (uint32_t i = 0; i < slots; i++) {
            void *payload = rbuf_am_begin(sender, sizeof(i));

            ck_assert_ptr_nonnull(payload);
            memcpy(payload, &i, sizeof(i));
            ck_assert(rbuf_am_end(sender, 1, sizeof(i), 0));
        }
        ck_assert_ptr_null(rbuf_am_begin(sender, 4)); /* full */
        world->nodes[1].scheduled = true;             /* its processor leaves this to us */
        world->nodes[1].poll_ns = 0;
        while (sim_step(&world->net.clock)) {
        }
        ck_assert_int_eq(rbuf_core_poll(core), (int) slots);
        for (uint32_t i = 0; i < slots; i++) {
            ck_assert(rbuf_events_pop(&core->events, &event[i]));
            ck_assert_int_eq(memcmp(event[i].delivery.data, &i, sizeof(i)), 0);
        }
        for (uint32_t i = 0; i < slots; i++) {
            uint32_t which = (i * 7 + round) % slots;
            uint32_t run = 0;

            rbuf_core_release(writer, &event[which].delivery);
            freed[which] = true;
            while (run < slots && freed[run]) {
                run++;
            }
            ck_assert_uint_eq(rings_credited(writer), (uint16_t) (credited + run));
        }
        ck_assert(inspect_ring_is_idle(writer));
        world->nodes[1].scheduled = false;
        world_wake(&world->nodes[1]);
        case_settle(world); /* credits go back */
    }
    case_close(world);
}
END_TEST

/* Nothing flows back: the credits of the slots come by themselves, and not too often. */
START_TEST(credits_of_one_direction)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    uint64_t written;

    rings_open(world);
    written = rings_stats(world, 1)->credits_written;
    for (int i = 0; i < 2000; i++) {
        world_send(world, WORLD_EAGER, 0, 1, 8);
        if (i % 8 == 7) {
            case_run(world);
        }
    }
    case_run(world);
    ck_assert_uint_gt(rings_stats(world, 0)->ring_sent, 900);
    written = rings_stats(world, 1)->credits_written - written;
    ck_assert_uint_ge(written, 50);
    ck_assert_uint_le(written, 2000 / 8 + 2);
    case_close(world);
}
END_TEST

/* Both sides have other ideas of a ring. Who has too little memory for the slots of one declines.
 */
START_TEST(unlike_geometries)
{
    static const struct {
        uint32_t slots;
        uint32_t bytes;
        bool declines;
    } others[] = {{2, 128, true}, {64, 128, false}, {3, 4096, false}, {64, 32768, false}};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct world_options options = world_defaults();
        struct world *world = world_open(&options);
        struct rbuf_core *core = &world->nodes[1].core;

        core->options.ring.slots = others[i].slots;
        core->options.ring.slot_bytes = others[i].bytes;
        core->options.window[RBUF_FLOW_RING] = (uint16_t) others[i].slots;
        rings_exchange(world, 40, 40);
        case_settle(world);
        rings_exchange(world, 200, 3000);
        for (int j = 0; j < 100; j++) { /* one after the other, so that slots are free */
            rings_exchange(world, 2, 60);
        }
        ck_assert_uint_gt(rings_stats(world, 0)->ring_sent, 40);
        ck_assert_int_eq(rings_stats(world, 1)->ring_sent == 0, others[i].declines);
        ck_assert_int_eq(rings_stats(world, 1)->ring_opened == 0, others[i].declines);
        ck_assert_uint_eq(rings_stats(world, 0)->ring_admitted, 1); /* it is not asked again soon */
        case_close(world);
    }
}
END_TEST

/* `rate[i]` messages in each round from node i + 1 to node 0. */
static void many_to_one(struct world *world, const unsigned *rate, unsigned senders, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < senders; i++) {
            for (unsigned j = 0; j < 2 * rate[i]; j++) {
                world_send(world, WORLD_EAGER, i + 1, 0, 8);
            }
        }
        case_run(world);
    }
}

/* The set follows the traffic: who has become much busier takes the place of who was warm. */
START_TEST(the_warm_replace_the_cold)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.nodes = 5;
    options.core.ring.set = 2;
    world = world_open(&options);
    many_to_one(world, (unsigned[]){8, 8, 1, 1}, 4, 400);
    ck_assert(inspect_is_polled(world->nodes[0].links[1].peer));
    ck_assert(inspect_is_polled(world->nodes[0].links[2].peer));
    many_to_one(world, (unsigned[]){1, 1, 8, 8}, 4, 800);
    ck_assert(inspect_is_polled(world->nodes[0].links[3].peer));
    ck_assert(inspect_is_polled(world->nodes[0].links[4].peer));
    ck_assert_uint_eq(rings_stats(world, 0)->ring_recalled, 2);
    ck_assert_uint_le(inspect_polled(&world->nodes[0].core), 2);
    ck_assert_uint_eq(world->nodes[0].ring_memory_count, 2);
    case_close(world);
}
END_TEST

/* Peers with like traffic do not chase each other. */
START_TEST(like_peers_stay)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.nodes = 6;
    options.core.ring.set = 1;
    world = world_open(&options);
    many_to_one(world, (unsigned[]){4, 4, 4, 4, 4}, 5, 600);
    many_to_one(world, (unsigned[]){4, 5, 6, 6, 5}, 5, 600);
    ck_assert_uint_le(rings_stats(world, 0)->ring_recalled, 1);
    ck_assert_uint_eq(inspect_polled(&world->nodes[0].core), 1);
    case_close(world);
}
END_TEST

/* Who has fallen silent is let go, and may come back. */
START_TEST(the_silent_leave)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.nodes = 3;
    world = world_open(&options);
    many_to_one(world, (unsigned[]){2, 2}, 2, 50);
    ck_assert(inspect_is_polled(world->nodes[0].links[2].peer));
    many_to_one(world, (unsigned[]){8, 0}, 2, 1500);
    ck_assert_ptr_null(rbuf_ring_in_of(world->nodes[0].links[2].peer));
    ck_assert_uint_eq(inspect_rings_out(&world->nodes[2].core), 0);
    many_to_one(world, (unsigned[]){8, 8}, 2, 50);
    ck_assert(inspect_is_polled(world->nodes[0].links[2].peer));
    case_close(world);
}
END_TEST

/* The busiest is polled first. */
START_TEST(polled_by_warmth)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.nodes = 5;
    world = world_open(&options);
    many_to_one(world, (unsigned[]){1, 4, 2, 8}, 4, 400);
    ck_assert_uint_eq(inspect_polled(&world->nodes[0].core), 4);
    for (uint32_t i = 0; i < 4; i++) {
        static const unsigned order[] = {4, 2, 3, 1};

        ck_assert_ptr_eq(inspect_polled_at(&world->nodes[0].core, i),
                         world->nodes[0].links[order[i]].peer);
    }
    case_close(world);
}
END_TEST

/* Memory for so many rings a node, and no more: the others are declined, nothing is lost. */
START_TEST(memory_for_few)
{
    for (unsigned rings = 0; rings <= 3; rings++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.nodes = 4;
        options.ring_memory = rings;
        world = world_open(&options);
        for (int i = 0; i < 600; i++) {
            unsigned from = (unsigned) i % 4;

            for (unsigned to = 0; to < 4; to++) {
                if (to != from) {
                    world_send(world, WORLD_EAGER, from, to, (uint64_t) i);
                    world_send(world, WORLD_EAGER, from, to, (uint64_t) i);
                }
            }
        }
        case_run(world);
        for (unsigned node = 0; node < 4; node++) {
            ck_assert_uint_le(inspect_rings_out(&world->nodes[node].core) +
                                  inspect_polled(&world->nodes[node].core),
                              rings);
        }
        case_close(world);
    }
}
END_TEST

/* Rings off on either side. */
START_TEST(off)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.core.ring = (struct rbuf_ring_options){0};
    world = world_open(&options);
    rings_exchange(world, 300, 3000);
    ck_assert_uint_eq(rings_stats(world, 0)->ring_sent + rings_stats(world, 0)->ring_admitted, 0);
    case_close(world);
}
END_TEST

/* Messages that name a put are held though they came by the ring, and free their slot. */
START_TEST(held_messages_free_their_slots)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.followers = 3;
    options.core.ring.slots = 2;
    options.core.ring.slot_bytes = 256;
    world = world_open(&options);
    for (int i = 0; i < 100; i++) {
        world_send(world, WORLD_PUT, 0, 1, 300000);
        world_send(world, WORLD_PUT, 1, 0, 300000);
    }
    case_run(world);
    ck_assert_uint_gt(rings_stats(world, 0)->ring_sent, 50);
    ck_assert_uint_gt(rings_stats(world, 1)->messages_held, 50);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring");

    unit_add(suite, small_messages_take_the_ring);
    unit_add(suite, every_size);
    unit_add(suite, two_ways_one_order);
    unit_add(suite, ring_waits_for_its_turn);
    unit_add(suite, slots_freed_out_of_order);
    unit_add(suite, credits_of_one_direction);
    unit_add(suite, unlike_geometries);
    unit_add(suite, the_warm_replace_the_cold);
    unit_add(suite, like_peers_stay);
    unit_add(suite, the_silent_leave);
    unit_add(suite, polled_by_warmth);
    unit_add(suite, memory_for_few);
    unit_add(suite, off);
    unit_add(suite, held_messages_free_their_slots);
    return unit_run(suite);
}
