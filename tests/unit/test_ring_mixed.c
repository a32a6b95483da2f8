/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages over several slots of a ring beside those that take one slot or go over send/receive:
 * one order, credits, rings of which the two sides think otherwise. The world fails a run in which
 * a message arrives wrong or out of order.
 */
#include "ring_long.h"

/* Long ones, small ones and others in one order, with faults of the network; also when the ring is
 * full of them, and when its slots are freed late. */
START_TEST(all_ways_one_order)
{
    uint64_t full = 0, long_ones = 0;

    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct world_options options = long_options();
        struct world *world;

        options.core.ring.slots = 4 + (uint32_t) seed;
        options.core.window[RBUF_CONTROL] = 7;
        options.depth = seed % 3 == 0 ? 6 : 64;
        options.faults.seed = seed;
        options.faults.jitter_ns = seed % 2 == 0 ? 4000 : 0;
        options.faults.completion_delay_ns = seed % 4 == 0 ? 20000 : 0;
        options.faults.late_read = seed % 2 == 0;
        options.faults.overtake_ns = seed % 3 == 1 ? 30000 : 0;
        world = world_open(&options);
        rings_open(world);
        rings_exchange(world, 200, LONGEST);
        for (int i = 0; i < 100; i++) { /* a few at a time: none has to queue */
            rings_exchange(world, 3 + i % 7, LONGEST);
        }
        full += rings_stats(world, 0)->ring_full;
        long_ones += rings_stats(world, 0)->ring_long;
        ck_assert_uint_gt(rings_stats(world, 0)->ring_sent, 20);
        ck_assert_uint_gt(rings_stats(world, 1)->messages_received, 399);
        case_close(world);
    }
    ck_assert_uint_gt(full, 100);
    ck_assert_uint_gt(long_ones, 100);
}
END_TEST

/* Messages of any length freed in any order: credits cover a run of free slots only. */
START_TEST(freed_out_of_order)
{
    static const uint32_t lengths[] = {300, 900, 20, 600};
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_peer *peer = sender_of(world);

    rings_open(world);
    for (uint32_t round = 0; round < 60; round++) {
        struct rbuf_event event[4];
        const uint64_t use = inspect_next_use(sender_at_receiver(world));
        const uint16_t credited = rings_credited(sender_at_receiver(world));
        uint32_t slots = 0;

        take_over(world);
        for (uint32_t i = 0; i < 4; i++) {
            if (lengths[i] <= rbuf_ring_room(&options.core.ring)) {
                fill(rbuf_am_begin(peer, lengths[i]), 0, lengths[i], i);
                ck_assert(rbuf_am_end(peer, 1, lengths[i], 0));
                slots++;
            } else {
                ck_assert(send_long(world, lengths[i], i, 0));
                slots += rbuf_ring_long_slots(lengths[i], SLOT);
            }
        }
        let_arrive(world);
        ck_assert_int_eq(rbuf_core_poll(core), 4);
        ck_assert_uint_eq(inspect_next_use(sender_at_receiver(world)), use + slots);
        for (uint32_t i = 0; i < 4; i++) {
            ck_assert(rbuf_events_pop(&core->events, &event[i]));
            ck_assert_uint_eq(event[i].delivery.bytes, lengths[i]);
        }
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t which = (i * 3 + round) % 4;

            ck_assert_uint_eq(((unsigned char *) event[which].delivery.data)[7], byte_of(which, 7));
            rbuf_core_release(event[which].peer, &event[which].delivery);
        }
        ck_assert(inspect_ring_is_idle(sender_at_receiver(world)));
        ck_assert_uint_eq(rings_credited(sender_at_receiver(world)), (uint16_t) (credited + slots));
        world->nodes[1].scheduled = false;
        world_wake(&world->nodes[1]);
        case_settle(world);
    }
    case_close(world);
}
END_TEST

/* Messages that are longer than a slot go to the peer by its ring. */
static bool takes_long(const struct rbuf_peer *peer)
{
    return inspect_slot_room(peer) > 0 && rbuf_ring_out_carries(peer, inspect_slot_room(peer) + 1);
}

/* Both sides have other ideas of a ring: what does not fit both goes over send/receive. */
START_TEST(unlike_geometries)
{
    static const struct {
        uint32_t slots, slot_bytes, longest;
        bool there,
            back; /* long messages go by the ring from node 0 to node 1, and the other way */
    } others[] = {{SLOTS, SLOT, 0, false, false},     {SLOTS, SLOT, 600, true, true},
                  {SLOTS, SLOT, 2000, true, true},    {SLOTS, 320, LONGEST, false, true},
                  {SLOTS, 512, LONGEST, false, true}, {5, SLOT, LONGEST, true, false},
                  {64, SLOT, 5000, false, true},      {64, 128, 5000, false, true}};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct world_options options = long_options();
        struct world *world = world_open(&options);
        struct rbuf_core *core = &world->nodes[1].core;

        core->options.ring.slots = others[i].slots;
        core->options.ring.slot_bytes = others[i].slot_bytes;
        core->options.ring.longest = others[i].longest;
        core->options.window[RBUF_FLOW_RING] = (uint16_t) others[i].slots;
        rings_exchange(world, 40, 40);
        case_settle(world);
        for (unsigned node = 0; node < 2; node++) { /* long ones have room in our memory, too */
            ck_assert_ptr_null(inspect_rings_fault(&world->nodes[node].core,
                                                   world->nodes[node].ring_memory_count));
        }
        ck_assert_int_eq(takes_long(sender_of(world)), others[i].there);
        ck_assert_int_eq(takes_long(sender_at_receiver(world)), others[i].back);
        rings_exchange(world, 200, 3000);
        for (int j = 0; j < 100; j++) {
            rings_exchange(world, 2, 1500);
        }
        case_close(world);
    }
}
END_TEST

/* A peer that sends nothing but long messages gets a ring as well, and the epoch takes each of
 * them for one. */
START_TEST(long_ones_alone)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    uint64_t sent;

    for (int i = 0; i < 60; i++) {
        world_send(world, WORLD_EAGER, 0, 1, 1000);
        case_run(world);
    }
    ck_assert(inspect_is_polled(sender_at_receiver(world)));
    sent = rings_stats(world, 0)->ring_sent;
    ck_assert_uint_gt(sent, 10);
    ck_assert_uint_eq(inspect_ring_traffic(sender_at_receiver(world)), sent);
    case_close(world);
}
END_TEST

/* Messages that name a put are held though they came by several slots, and free them. */
START_TEST(held)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = sender_of(world);
    struct rbuf_core *core = &world->nodes[1].core;
    unsigned char *payload;
    struct rbuf_grant *grant;
    struct rbuf_offer offer;
    static unsigned char target[8192];

    rings_open(world);
    take_over(world);
    grant = rbuf_grant_open(sender_at_receiver(world), target, sizeof(target), NULL, 0, &offer);
    ck_assert_ptr_nonnull(grant);
    payload = rbuf_am_begin_long(peer, 1000);
    fill(payload, 0, 1000, 5);
    ck_assert(rbuf_ring_long_end(peer, 1, offer.id));
    let_arrive(world);
    ck_assert_int_eq(rbuf_core_poll(core), 1);
    ck_assert(rbuf_events_empty(&core->events));
    ck_assert(inspect_ring_is_idle(sender_at_receiver(world)));
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring_mixed");

    unit_add(suite, all_ways_one_order);
    unit_add(suite, freed_out_of_order);
    unit_add(suite, unlike_geometries);
    unit_add(suite, long_ones_alone);
    unit_add(suite, held);
    return unit_run(suite);
}
