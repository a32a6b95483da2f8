/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Grants: too little staging for everybody at once, who is served when, registrations in its stead,
 * names that are used again, messages that wait for a put.
 */
#include "case.h"
#include "unit.h"

#define LANE_BLOCKS (3u * 64u) /* of a long message: three of the largest chunks */

/* Staging for two lanes each way. */
static struct world_options scarce(void)
{
    struct world_options options = world_defaults();

    options.receive_bytes = 2 * LANE_BLOCKS * 4096;
    options.send_bytes = LANE_BLOCKS * 4096;
    return options;
}

/* For one lane to receive in; who has waited so long for it, ns, is registered. */
static struct world_options impatient(uint64_t wait_ns)
{
    struct world_options options = scarce();

    options.receive_bytes = LANE_BLOCKS * 4096;
    options.core.grant_wait_ns = wait_ns;
    options.tick_ns = 10000;
    return options;
}

START_TEST(storms_in_both_directions)
{
    for (unsigned arrival = 0; arrival < RBUF_ARRIVALS; arrival++) {
        struct world_options options = scarce();
        struct world *world;

        options.core.arrival = (enum rbuf_arrival) arrival;
        world = world_open(&options);
        for (int i = 0; i < 60; i++) {
            world_send(world, WORLD_PUT, 0, 1, 1200000 + 1000 * i);
            world_send(world, WORLD_PUT, 1, 0, 1100000 + 1000 * i);
        }
        case_run(world);
        ck_assert_uint_gt(world->nodes[0].core.stats.grants_deferred, 50);
        ck_assert_uint_gt(world->nodes[1].core.stats.grants_deferred, 50);
        ck_assert_uint_eq(world->registered, 0);
        case_close(world);
    }
}
END_TEST

/* Four nodes, each sending to all others at once, one lane each. */
START_TEST(everybody_to_everybody)
{
    struct world_options options = scarce();
    struct world *world;

    options.nodes = 4;
    options.receive_bytes = LANE_BLOCKS * 4096;
    world = world_open(&options);
    for (int i = 0; i < 10; i++) {
        for (unsigned from = 0; from < 4; from++) {
            for (unsigned to = 0; to < 4; to++) {
                if (from != to) {
                    world_send(world, WORLD_PUT, from, to, 600000 + 5000 * i);
                }
            }
        }
    }
    case_run(world);
    case_close(world);
}
END_TEST

/* Equal messages through one lane arrive in the order in which their grants were opened. */
START_TEST(deferred_grants_in_order_of_age)
{
    struct world_options options = scarce();
    struct world_message *messages[20];
    struct world *world;

    options.receive_bytes = LANE_BLOCKS * 4096;
    world = world_open(&options);
    for (int i = 0; i < 20; i++) {
        messages[i] = world_send(world, WORLD_PUT, 0, 1, 900000);
    }
    case_run(world);
    for (int i = 1; i < 20; i++) {
        ck_assert_uint_gt(messages[i]->arrived_ns, messages[i - 1]->arrived_ns);
    }
    case_close(world);
}
END_TEST

/* A small message does not overtake a large one that waits, so that none waits for ever. */
START_TEST(nobody_is_overtaken)
{
    struct world_options options = scarce();
    struct world_message *large, *small;
    struct world *world;

    options.receive_bytes = LANE_BLOCKS * 4096 + 4096;
    world = world_open(&options);
    world_send(world, WORLD_PUT, 0, 1, 2000000);
    large = world_send(world, WORLD_PUT, 0, 1, 2000000);
    small = world_send(world, WORLD_PUT, 0, 1, 3000);
    case_run(world);
    ck_assert_uint_eq(world->nodes[1].core.stats.grants_deferred, 2);
    ck_assert_uint_gt(small->arrived_ns, large->started_ns);
    case_close(world);
}
END_TEST

START_TEST(long_waits_become_registrations)
{
    struct world_options options = impatient(200000);
    struct world *world = world_open(&options);

    for (int i = 0; i < 30; i++) {
        world_send(world, WORLD_PUT, i % 2, 1 - i % 2, 3000000);
    }
    case_run(world);
    ck_assert_uint_gt(world->registered, 10);
    ck_assert_uint_eq(world->registered, world->nodes[0].core.stats.grants_direct +
                                             world->nodes[1].core.stats.grants_direct);
    ck_assert_uint_gt(world->nodes[0].core.stats.staged_received, 0);
    case_close(world);
}
END_TEST

/* Who only waits for others that are received keeps waiting, however many these are. */
START_TEST(who_has_its_turn_is_not_registered)
{
    struct world_options options = impatient(1000000);
    struct world *world = world_open(&options);

    for (int i = 0; i < 5; i++) {
        world_send(world, WORLD_PUT, 0, 1, 3000000); /* some 2 ms each */
    }
    case_run(world);
    ck_assert_uint_gt(world_now(world), 5 * options.core.grant_wait_ns);
    ck_assert_uint_eq(world->nodes[1].core.stats.grants_deferred, 4);
    ck_assert_uint_eq(world->registered, 0);
    case_close(world);
}
END_TEST

/* Of many that wait, as much as the limit is registered at once, and all arrive. */
START_TEST(registrations_are_limited)
{
    struct world_options options = impatient(200000);
    struct world *world;
    uint64_t most = 0;

    options.core.direct_limit = 7000000;
    world = world_open(&options);
    for (int i = 0; i < 30; i++) {
        world_send(world, WORLD_PUT, 0, 1, 3000000);
    }
    while (world_now(world) < 30000000) { /* about half of it */
        const uint64_t bytes = inspect_direct_bytes(&world->nodes[1].core);

        ck_assert(sim_step(&world->net.clock));
        most = bytes > most ? bytes : most;
    }
    case_run(world);
    ck_assert_uint_eq(most, 6000000);
    ck_assert_uint_eq(inspect_direct_bytes(&world->nodes[1].core), 0);
    case_close(world);
}
END_TEST

/* Beyond the limit, too, when peers that have lanes compute: one message each 20 waits. */
START_TEST(who_computes_holds_nobody_up)
{
    struct world_options options = impatient(100000);
    struct world *world;

    options.core.direct_limit = 1;
    world = world_open(&options);
    for (int i = 0; i < 5; i++) {
        world_send(world, WORLD_PUT, 0, 1, 3000000);
    }
    while (world->nodes[1].core.stats.grants_deferred < 4) {
        ck_assert(sim_step(&world->net.clock));
    }
    world_compute(world, 0, 5000000);
    while (world_now(world) < 5000000) {
        ck_assert(sim_step(&world->net.clock));
    }
    ck_assert_uint_ge(world->nodes[1].core.stats.grants_direct, 2);
    ck_assert_uint_le(world->nodes[1].core.stats.grants_direct, 4);
    case_run(world);
    case_close(world);
}
END_TEST

/* A registration that ends is no staging that moves: who waits for staging waits on from before. */
START_TEST(registrations_that_end_restart_no_wait)
{
    struct world_options options = impatient(100000);
    struct world *world;

    options.nodes = 3;
    world = world_open(&options);
    world_send(world, WORLD_PUT, 0, 1, 3000000); /* has the lane */
    while (world->nodes[1].core.stats.grants < 1) {
        ck_assert(sim_step(&world->net.clock));
    }
    world_compute(world, 0, 5000000);
    for (int i = 0; i < 20; i++) {
        world_send(world, WORLD_PUT, 2, 1, 200000);
    }
    while (world->nodes[1].core.stats.grants_direct < 20) {
        ck_assert(sim_step(&world->net.clock));
    }
    ck_assert_uint_gt(world_now(world), options.core.grant_wait_ns);
    ck_assert_uint_lt(world_now(world), 2 * options.core.grant_wait_ns);
    case_run(world);
    case_close(world);
}
END_TEST

/* A grant that gives up waiting for staging lets through those behind it that have room. */
START_TEST(who_gives_up_makes_way)
{
    struct world_options options = scarce();
    struct world *world;

    options.receive_bytes = LANE_BLOCKS * 4096 + 4096;
    options.core.grant_wait_ns = 100000;
    options.tick_ns = 10000;
    world = world_open(&options);
    world_send(world, WORLD_PUT, 0, 1, 50000000);
    world_send(world, WORLD_PUT, 0, 1, 2000000);
    while (world->nodes[1].core.stats.grants_deferred == 0) {
        ck_assert(sim_step(&world->net.clock));
    }
    while (world_now(world) < 80000) { /* so that the third is not of the second one's age */
        ck_assert(sim_step(&world->net.clock));
    }
    world_send(world, WORLD_PUT, 0, 1, 3000);
    case_run(world);
    ck_assert_uint_eq(world->registered, 1);
    case_close(world);
}
END_TEST

START_TEST(registrations_that_fail_wait_on)
{
    struct world_options options = impatient(100000);
    struct world *world;

    options.refuse_registration = true;
    world = world_open(&options);
    for (int i = 0; i < 20; i++) {
        world_send(world, WORLD_PUT, i % 2, 1 - i % 2, 1500000);
    }
    case_run(world);
    ck_assert_uint_gt(world->registered, 10);
    ck_assert_uint_eq(world->nodes[0].core.stats.grants_direct, 0);
    case_close(world);
}
END_TEST

/* More long messages from one peer than there are acknowledgement words. */
START_TEST(acknowledgement_words_run_out)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.core.schedule.buffer_blocks = 4;
    world = world_open(&options);
    for (int i = 0; i < 200; i++) {
        world_send(world, WORLD_PUT, 0, 1, 150000);
    }
    case_run(world);
    ck_assert_uint_gt(world->nodes[1].core.stats.grants_deferred, 100);
    case_close(world);
}
END_TEST

/* Flag values near the end of 2^64: the last of them are as good as the first. */
START_TEST(flags_of_many_digits)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    world->nodes[1].core.receive_arena.next_flag = UINT64_MAX - 100000;
    for (int i = 0; i < 50; i++) {
        world_send(world, WORLD_PUT, 0, 1, 10000 * i + 1);
    }
    case_run(world);
    ck_assert_uint_gt(world->nodes[1].core.receive_arena.next_flag, UINT64_MAX - 100000);
    case_close(world);
}
END_TEST

static struct rbuf_grant *open_grant(struct world *world, unsigned char *base, uint64_t bytes,
                                     struct rbuf_offer *offer)
{
    struct rbuf_grant *grant =
        rbuf_grant_open(world->nodes[0].links[1].peer, base, bytes, NULL, 0, offer);

    ck_assert_ptr_nonnull(grant);
    return grant;
}

/* A name of a closed grant is nobody's, also when its place in the table is used again. */
START_TEST(names_do_not_come_again)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;
    unsigned char byte;
    uint64_t earlier[300];

    for (int i = 0; i < 300; i++) {
        struct rbuf_offer offer;
        struct rbuf_grant *grant = open_grant(world, &byte, 1, &offer);

        ck_assert_uint_ne(offer.id, 0);
        ck_assert_ptr_eq(rbuf_grant_find(core, offer.id), grant);
        rbuf_grant_close(grant);
        ck_assert_ptr_null(rbuf_grant_find(core, offer.id));
        for (int j = 0; j < i; j++) {
            ck_assert_uint_ne(earlier[j], offer.id);
        }
        earlier[i] = offer.id;
    }
    case_close(world);
}
END_TEST

START_TEST(generations_wrap)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;
    struct rbuf_offer offer;
    unsigned char byte;
    uint32_t places;

    rbuf_grant_close(open_grant(world, &byte, 1, &offer));
    places = inspect_age_grants(core);
    for (uint32_t i = 0; i < 4 * places; i++) {
        struct rbuf_grant *grant = open_grant(world, &byte, 1, &offer);

        ck_assert_uint_ne(offer.id >> 32, 0); /* how often its place was taken */
        rbuf_grant_close(grant);
    }
    world_send(world, WORLD_PUT, 1, 0, 100000);
    case_run(world);
    case_close(world);
}
END_TEST

/* Messages that name a put come after its data, in the order in which they were sent. */
START_TEST(followers_wait_for_their_put)
{
    for (int delay = 0; delay < 2; delay++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.followers = 7;
        options.faults.small_delay_ns = delay * 20000;
        options.core.quantum = 4088; /* a slow receiver */
        world = world_open(&options);
        for (int i = 1; i < 40; i++) {
            world_send(world, WORLD_PUT, i % 2, 1 - i % 2, 7000 * i);
        }
        case_run(world);
        ck_assert_uint_gt(world->nodes[0].core.stats.messages_held, 10);
        case_close(world);
    }
}
END_TEST

/* A peer with little staging is offered chunks that it can stage, down to one block; one with less
 * than a block is offered ours, and says no. */
START_TEST(peers_with_less_staging)
{
    static const uint32_t bytes[] = {0, UINT32_MAX, 65536, 20000, 4096, 4095};
    static const uint16_t blocks[] = {64, 64, 16, 4, 1, 64};

    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        struct world_options options = world_defaults();
        struct world *world = world_open(&options);
        struct rbuf_peer *peer = world->nodes[1].links[0].peer;
        static unsigned char target[1 << 20];
        struct rbuf_grant *grant;
        struct rbuf_offer offer;

        peer->their_stage_bytes = bytes[i];
        grant = rbuf_grant_open(peer, target, sizeof(target), NULL, 0, &offer);
        ck_assert_ptr_nonnull(grant);
        ck_assert_uint_eq(offer.schedule.buffer_blocks, blocks[i]);
        ck_assert_uint_le(offer.schedule.first_blocks, blocks[i]);
        ck_assert_uint_le(offer.stride_blocks, blocks[i]);
        rbuf_grant_close(grant);
        for (uint64_t size = 1; size < 3000000; size = size * 3 + 1) {
            world_send(world, WORLD_PUT, 0, 1, size);
            world_send(world, WORLD_PUT, 1, 0, size);
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grant");

    unit_add(suite, storms_in_both_directions);
    unit_add(suite, everybody_to_everybody);
    unit_add(suite, deferred_grants_in_order_of_age);
    unit_add(suite, nobody_is_overtaken);
    unit_add(suite, long_waits_become_registrations);
    unit_add(suite, who_has_its_turn_is_not_registered);
    unit_add(suite, registrations_are_limited);
    unit_add(suite, who_computes_holds_nobody_up);
    unit_add(suite, registrations_that_end_restart_no_wait);
    unit_add(suite, who_gives_up_makes_way);
    unit_add(suite, registrations_that_fail_wait_on);
    unit_add(suite, acknowledgement_words_run_out);
    unit_add(suite, flags_of_many_digits);
    unit_add(suite, names_do_not_come_again);
    unit_add(suite, generations_wrap);
    unit_add(suite, followers_wait_for_their_put);
    unit_add(suite, peers_with_less_staging);
    return unit_run(suite);
}
