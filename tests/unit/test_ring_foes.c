/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager rings of peers that do not keep to the protocol, or are far behind: offers, steps, words
 * and numbers without sense, counts of long ago.
 */
#include <errno.h>

#include "core/eager/ring_in.h"
#include "core/eager/ring_word.h"
#include "inspect/link.h"
#include "rings.h"
#include "unit.h"

struct message {
    struct rbuf_message_header header;
    struct rbuf_ring_offer offer;
};

/* A message of core's own about rings. */
static void receive(struct world *world, uint8_t kind, const struct rbuf_ring_offer *offer)
{
    struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    struct message message = {.header = {.peer = peer->index,
                                         .kind = kind,
                                         .tag = RBUF_LEASE_RING,
                                         .sequence = peer->sequence_in}};

    if (offer != NULL) {
        message.offer = *offer;
    }
    ck_assert(!rbuf_core_received(&world->nodes[1].core, RBUF_CONTROL, NULL, &message,
                                  offer != NULL ? sizeof(message) : sizeof(message.header)));
}

START_TEST(offers_without_sense)
{
    static const struct rbuf_ring_offer offers[] = {
        {.base = 64, .first_use = 4, .slots = 4, .slot_bytes = 0},
        {.base = 64, .first_use = 4, .slots = 4, .slot_bytes = 64},
        {.base = 64, .first_use = 4, .slots = 4, .slot_bytes = 200},
        {.base = 64, .first_use = 4, .slots = 4, .slot_bytes = 1u << 31},
        {.base = 64, .first_use = 4, .slots = 1, .slot_bytes = 256},
        {.base = 64, .first_use = 4, .slots = 65, .slot_bytes = 256},
        {.base = 64, .first_use = 5, .slots = 4, .slot_bytes = 256},
        {.base = 64, .first_use = 4, .slots = UINT32_MAX, .slot_bytes = 256}};
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    uint64_t refused = 0;

    for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++) {
        receive(world, RBUF_MESSAGE_LEASE, &offers[i]);
        ck_assert_uint_eq(rings_stats(world, 1)->messages_refused, ++refused);
    }
    receive(world, RBUF_MESSAGE_LEASE, NULL); /* too short */
    receive(world, RBUF_MESSAGE_RETURN, NULL);
    ck_assert_uint_eq(rings_stats(world, 1)->messages_refused, refused + 2);
    receive(world, RBUF_MESSAGE_RECALL, NULL); /* as if it crossed with a RETURN */
    ck_assert_uint_eq(rings_stats(world, 1)->messages_refused, refused + 2);
    ck_assert_uint_eq(rings_stats(world, 1)->ring_opened, 0);
    world_close(world);
}
END_TEST

/* A second ring where there is one, and a ring that comes back though nobody asked for it. */
START_TEST(steps_out_of_order)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_ring_offer offer;
    uint64_t refused;

    rings_open(world);
    refused = rings_stats(world, 1)->messages_refused;
    offer = inspect_last_offer(world->nodes[1].links[0].peer);
    receive(world, RBUF_MESSAGE_LEASE, &offer);
    ck_assert_uint_eq(rings_stats(world, 1)->messages_refused, refused + 1);
    receive(world, RBUF_MESSAGE_RETURN, NULL);
    ck_assert_ptr_null(rbuf_ring_in_of(world->nodes[1].links[0].peer));
    receive(world, RBUF_MESSAGE_RETURN, NULL);
    ck_assert_uint_eq(rings_stats(world, 1)->messages_refused, refused + 2);
    world_close(world);
}
END_TEST

/* Until one of the RETURNs of node 1 has left its adapter: how many have not. */
static uint32_t until_one_has_left(struct world *world)
{
    const struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    const uint32_t out = peer->in_flight;

    while (peer->in_flight == out && sim_step(&world->net.clock)) {
    }
    return peer->in_flight;
}

/* Rings are offered and recalled while RETURNs of earlier ones are on their way out: our slots
 * serve the next ring when the last of these has left, not when any has. */
START_TEST(backs_that_leave_late)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    const struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_ring_offer offer;

    rings_open(world);
    offer = inspect_last_offer(peer);
    receive(world, RBUF_MESSAGE_RECALL, NULL);
    receive(world, RBUF_MESSAGE_LEASE, &offer);
    ck_assert(sim_step(&world->net.clock));
    receive(world, RBUF_MESSAGE_RECALL, NULL);
    ck_assert_uint_eq(peer->in_flight, 2); /* RETURNs are out */
    ck_assert_uint_eq(until_one_has_left(world), 1);
    receive(world, RBUF_MESSAGE_LEASE, &offer);
    ck_assert(!rbuf_ring_out_carries(peer, 0)); /* it waits */
    ck_assert_uint_eq(inspect_rings_out(core), 1);
    ck_assert_uint_eq(core->stats.ring_opened, 1);
    ck_assert_uint_eq(until_one_has_left(world), 0);
    ck_assert(rbuf_ring_out_carries(peer, 0));
    ck_assert_uint_eq(inspect_rings_out(core), 1);
    ck_assert_uint_eq(core->stats.ring_opened, 2);
    ck_assert_uint_eq(core->stats.messages_refused, 0);
    ck_assert_ptr_null(inspect_rings_fault(core, world->nodes[1].ring_memory_count));
    world_settle(world);
    world_close(world);
}
END_TEST

/* Who sends and sends by what the mailbox says, and does not look what came in, stops before the
 * counts of headers that lie there mean something else. */
START_TEST(old_headers_are_not_believed)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;
    _Atomic uint64_t *mailbox = &peer->mailbox->credit[RBUF_FLOW_RING];
    uint16_t old[RBUF_COUNTS] = {[RBUF_COUNTED] = RBUF_COUNTED_IN_ORDER};
    uint64_t start, sent;
    uint32_t window;

    rings_open(world);
    window = rbuf_credit_window(peer, RBUF_FLOW_RING);
    start = sent = core->stats.ring_sent;
    old[RBUF_FLOW_RING] = (uint16_t) start;
    while (sent - start < 1u << 17 && rbuf_credit_available(peer, RBUF_FLOW_RING)) {
        rbuf_credit_use(peer, RBUF_FLOW_RING, 1);
        atomic_store(mailbox, ++sent);
    }
    ck_assert_uint_gt(sent - start, 1000);
    rbuf_credit_received(peer, old);
    atomic_store(mailbox, inspect_taken(peer, RBUF_FLOW_RING));
    ck_assert_uint_lt(sent - start, (1u << 16) - window);
    ck_assert(!rbuf_credit_look(peer, RBUF_FLOW_RING)); /* none is true */
    atomic_store(mailbox, sent);
    for (int i = 0; i < 6; i++) { /* what came in is looked at now */
        rbuf_core_swept(core);
        (void) rbuf_credit_look(peer, RBUF_FLOW_RING);
    }
    ck_assert_uint_eq(inspect_taken(peer, RBUF_FLOW_RING), sent);
    ck_assert_uint_eq(inspect_under_way(peer, RBUF_FLOW_RING), 0);
    world_close(world);
}
END_TEST

/* The peer writes nonsense into its ring: sizes that no slot has, numbers out of turn. */
START_TEST(words_without_sense)
{
    for (uint32_t bytes = 0; bytes < 1u << RBUF_RING_SIZE_BITS; bytes += 511) {
        struct world_options options = world_defaults();
        struct world *world = world_open(&options);
        struct rbuf_core *core = &world->nodes[1].core;
        uint64_t refused = rings_stats(world, 1)->messages_refused;
        bool fits = bytes <= rbuf_ring_room(&core->options.ring);
        const struct rbuf_peer *peer = world->nodes[1].links[0].peer;
        struct rbuf_ring_trailer *trailer;
        struct rbuf_event event;

        rings_open(world);
        trailer = (struct rbuf_ring_trailer *) (void *) inspect_slot_end(peer, 0) - 1;
        trailer->header = (struct rbuf_message_header){
            .kind = RBUF_MESSAGE_USER, .sequence = (uint16_t) (peer->sequence_in + 1)};
        atomic_store(&trailer->word,
                     rbuf_ring_word(RBUF_PROOF_ORDER, inspect_next_use(peer), bytes));
        ck_assert_int_eq(rbuf_core_poll(core), 0);
        trailer->header.sequence = peer->sequence_in;
        ck_assert_int_eq(rbuf_core_poll(core), 1);
        ck_assert_int_eq(rbuf_events_pop(&core->events, &event), fits);
        ck_assert_uint_eq(rings_stats(world, 1)->messages_refused, refused + !fits);
        if (fits) {
            ck_assert_uint_eq(event.delivery.bytes, bytes);
            rbuf_core_release(event.peer, &event.delivery);
        }
        ck_assert(inspect_ring_is_idle(peer));
        world_close(world);
    }
}
END_TEST

/* The next message of node 0's ring, which its user has. */
static struct rbuf_event take_one(struct world *world)
{
    struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_peer *sender = world->nodes[0].links[1].peer;
    struct rbuf_event event;

    ck_assert_ptr_nonnull(rbuf_am_begin(sender, 8));
    ck_assert(rbuf_am_end(sender, 1, 8, 0));
    while (sim_step(&world->net.clock)) {
    }
    ck_assert_int_eq(rbuf_core_poll(core), 1);
    ck_assert(rbuf_events_pop(&core->events, &event));
    ck_assert_int_eq(event.delivery.origin, RBUF_ORIGIN_RING);
    return event;
}

/* The peer writes a slot's word again after its message was taken: its size reaches into the slot
 * before. */
START_TEST(words_that_change_behind_their_message)
{
    struct world_options options = world_defaults();
    const uint32_t slot_bytes = options.core.ring.slot_bytes;
    struct world *world;
    struct rbuf_event event;
    unsigned char before[64], *end;

    options.unordered = true;
    world = world_open(&options);
    rings_open(world);
    ck_assert_int_eq(rbuf_peer_proof(world->nodes[1].links[0].peer), RBUF_PROOF_CHECKSUM);
    world->nodes[1].scheduled = true; /* its processor leaves this to us */
    world->nodes[1].poll_ns = 0;
    event = take_one(world);
    if (event.delivery.slot == 0) { /* no slot is before it */
        rbuf_core_release(event.peer, &event.delivery);
        event = take_one(world);
    }
    ck_assert_uint_gt(event.delivery.slot, 0);
    end = (unsigned char *) event.delivery.data + 8 + sizeof(struct rbuf_ring_trailer);
    memset(end - slot_bytes - sizeof(before), 0x5a, sizeof(before));
    memset(before, 0x5a, sizeof(before));
    *((uint64_t *) (void *) end - 1) = rbuf_ring_word(RBUF_PROOF_CHECKSUM, 1, slot_bytes + 40);
    rbuf_core_release(event.peer, &event.delivery);
    ck_assert_mem_eq(end - slot_bytes - sizeof(before), before, sizeof(before));
    ck_assert_mem_eq(end - slot_bytes, &world->nodes[1].core.fill, sizeof(uint64_t));
    world_close(world);
}
END_TEST

/* A number out of turn over send/receive is the end of the connection. */
START_TEST(out_of_turn)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    struct message message = {.header = {.peer = peer->index,
                                         .kind = RBUF_MESSAGE_USER,
                                         .sequence = (uint16_t) (peer->sequence_in + 1)}};
    struct rbuf_event event;

    ck_assert(
        !rbuf_core_received(&world->nodes[1].core, RBUF_CONTROL, NULL, &message, sizeof(message)));
    ck_assert(rbuf_peer_is_lost(peer));
    (void) rbuf_core_progress(&world->nodes[1].core, 1);
    ck_assert(rbuf_events_pop(&world->nodes[1].core.events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_FAILED);
    ck_assert_int_eq(event.status, -EPROTO);
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring_foes");

    unit_add(suite, offers_without_sense);
    unit_add(suite, steps_out_of_order);
    unit_add(suite, backs_that_leave_late);
    unit_add(suite, old_headers_are_not_believed);
    unit_add(suite, words_without_sense);
    unit_add(suite, words_that_change_behind_their_message);
    unit_add(suite, out_of_turn);
    return unit_run(suite);
}
