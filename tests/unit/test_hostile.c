/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Input from outside that makes no sense: headers, offers, RTRs, immediates and mailbox words. It
 * is refused and counted, breaks nothing, and what is well-formed afterwards still works. A memory
 * checker makes these tests sharper. (Of early data: test_hostile_early.c.)
 */
#include "hostile.h"
#include "inspect/link.h"

START_TEST(malformed_headers)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_stats *stats = &world->nodes[1].core.stats;
    struct hostile_message message = hostile_message(world, RBUF_MESSAGE_USER);
    uint64_t refused = 0;

    for (uint32_t bytes = 0; bytes < sizeof(message.header); bytes++) {
        ck_assert(!hostile_receive(world, &message, bytes));
        ck_assert_uint_eq(stats->messages_refused, ++refused);
    }
    message = hostile_message(world, RBUF_MESSAGE_USER);
    message.header.peer = UINT32_MAX;
    ck_assert(!hostile_receive(world, &message, 32));
    message.header.peer = world->nodes[1].core.peer_count;
    ck_assert(!hostile_receive(world, &message, 32));
    message.header.peer = 3; /* an empty place in the table */
    ck_assert(!hostile_receive(world, &message, 32));
    refused += 3;
    for (unsigned kind = 0; kind < 256; kind++) {
        if (kind != RBUF_MESSAGE_USER && kind != RBUF_MESSAGE_RTS && kind != RBUF_MESSAGE_ANSWER &&
            kind != RBUF_MESSAGE_FRAGMENT) { /* the last ends the peer: see below */
            message = hostile_message(world, (uint8_t) kind);
            ck_assert(!hostile_receive(world, &message, 32)); /* too short for what core sends */
            /* A ring may be recalled when it was just handed back. */
            refused += kind != RBUF_MESSAGE_RECALL;
        }
    }
    for (unsigned kind = RBUF_MESSAGE_LEASE; kind <= RBUF_MESSAGE_RETURN; kind++) {
        for (unsigned lease = RBUF_LEASE_EARLY + 1; lease < 256; lease++) { /* there is none */
            message = hostile_message(world, (uint8_t) kind);
            message.header.tag = (uint8_t) lease;
            ck_assert(!hostile_receive(world, &message, sizeof(message)));
            refused++;
        }
    }
    message = hostile_message(world, RBUF_MESSAGE_ANSWER);
    ck_assert(
        !hostile_receive_by(world, RBUF_BULK, &message, 32)); /* nothing large is ahead of one */
    refused++;
    ck_assert_uint_eq(stats->messages_refused, refused);
    ck_assert_uint_eq(stats->messages_received, 0);
    world_close(world);
}
END_TEST

/* Counts of credits that were never given, in headers and in the mailbox, are not believed. */
START_TEST(credits_never_given)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    const uint32_t window = rbuf_credit_window(peer, RBUF_FLOW_CONTROL);

    for (unsigned i = 0; i < 10; i++) {
        world_send(world, WORLD_EAGER, 1, 0, 10);
        world_send(world, WORLD_EAGER, 1, 0, 10);
    }
    case_run(world);
    for (uint32_t i = 0; i <= UINT16_MAX; i += 7) {
        const uint16_t claim = (uint16_t) (i * 40503); /* far from the one before */
        struct hostile_message message = hostile_message(world, 99);
        uint64_t out;

        message.header.credit[RBUF_CONTROL] = claim;
        message.header.credit[RBUF_COUNTED] = RBUF_COUNTED_IN_ORDER;
        hostile_receive(world, &message, 32);
        (void) rbuf_credit_look(peer, RBUF_FLOW_CONTROL);
        out = inspect_under_way(peer, RBUF_FLOW_CONTROL);
        ck_assert_uint_le(out, window);
        atomic_store(&peer->mailbox->credit[RBUF_CONTROL], claim * 0x100001ull);
        (void) rbuf_credit_look(peer, RBUF_FLOW_CONTROL);
        ck_assert_uint_le(inspect_under_way(peer, RBUF_FLOW_CONTROL), out);
        rbuf_credit_use(peer, RBUF_FLOW_CONTROL,
                        (uint32_t) (window - inspect_under_way(peer, RBUF_FLOW_CONTROL)));
    }
    world_close(world);
}
END_TEST

static struct rbuf_offer good_offer(const struct world *world, uint64_t bytes)
{
    const struct rbuf_core *core = &world->nodes[0].core;

    return (struct rbuf_offer){.id = 1ull << 32 | 5,
                               .bytes = bytes,
                               .lane = (uintptr_t) core->receive_arena.base,
                               .flag = 1,
                               .rkey = core->receive_arena.extent[0].rkey,
                               .stride_blocks = 64,
                               .schedule = core->options.schedule,
                               .mode = RBUF_OFFER_STAGED};
}

/* Starts a put with this offer at node 1; the status of the event that it must end in at once. */
static int refused_status(struct world *world, const struct rbuf_offer *offer)
{
    static unsigned char source[1024];
    struct rbuf_put put = {.source = source, .offer = *offer};
    struct rbuf_event event;

    rbuf_put_start(world->nodes[1].links[0].peer, &put);
    ck_assert(rbuf_events_pop(&world->nodes[1].core.events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_PUT);
    ck_assert_ptr_eq(event.put, &put);
    ck_assert(!rbuf_events_pop(&world->nodes[1].core.events, &event));
    return event.status;
}

START_TEST(offers_without_sense)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_offer good = good_offer(world, 1024), bad;

    ck_assert_int_eq(refused_status(world, &good), 0);
    world_settle(world);
    bad = good, bad.bytes = 0;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.mode = 0;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.mode = 4;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.slot = RBUF_ACK_SLOTS;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.arrival = RBUF_ARRIVALS;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.stride_blocks = 0;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.schedule.block_bytes = 4000;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.schedule.buffers = 0;
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.bytes = UINT64_MAX, bad.schedule.growth = RBUF_GROWTH_ONE,
    bad.stride_blocks = 1; /* a chunk has three blocks */
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    bad = good, bad.bytes = 1ull << 40, bad.schedule.block_bytes = 1u << 26;
    bad.schedule.buffer_blocks = 32; /* more than this side can stage */
    ck_assert_int_eq(refused_status(world, &bad), -EPROTO);
    world_close(world);
}
END_TEST

/* An RTR that does not fit its put ends the put; RTRs that nobody waits for are kept or dropped.
 */
START_TEST(rtrs_without_sense)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    static unsigned char source[1024];
    struct rbuf_offer offer = good_offer(world, 1024);
    struct sim_random random = {13};
    struct rbuf_event event;

    for (int i = 0; i < 4; i++) {
        struct hostile_message message = hostile_message(world, RBUF_MESSAGE_RTR);
        struct rbuf_put put = {.source = source, .offer = offer};
        struct rbuf_offer grant = offer;

        put.offer.mode = RBUF_OFFER_DEFERRED;
        put.offer.id += (uint64_t) i << 33;
        grant.id = put.offer.id;
        grant.bytes += i == 0;
        grant.base += i == 1;
        grant.mode = i == 2 ? RBUF_OFFER_DEFERRED : RBUF_OFFER_STAGED;
        grant.schedule.growth = i == 3 ? 0 : grant.schedule.growth;
        memcpy(message.payload, &grant, sizeof(grant));
        rbuf_put_start(world->nodes[1].links[0].peer, &put);
        hostile_receive(world, &message, sizeof(message.header) + sizeof(offer));
        ck_assert(rbuf_events_pop(&world->nodes[1].core.events, &event));
        ck_assert_int_eq(event.kind, RBUF_EVENT_PUT);
        ck_assert_int_eq(event.status, -EPROTO);
    }
    for (int i = 0; i < 1000; i++) {
        struct hostile_message message = hostile_message(world, RBUF_MESSAGE_RTR);

        for (size_t byte = 0; byte < sizeof(offer); byte++) {
            message.payload[byte] = (unsigned char) sim_random_next(&random);
        }
        hostile_receive(world, &message, sizeof(message.header) + sizeof(offer));
    }
    ck_assert(!rbuf_events_pop(&world->nodes[1].core.events, &event));
    world_close(world);
}
END_TEST

/* RTRs without end that nobody waits for: the peer is given up, and nothing is kept for it. */
START_TEST(rtrs_without_end)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    struct rbuf_offer offer = good_offer(world, 1024);
    struct hostile_message message = hostile_message(world, RBUF_MESSAGE_RTR);
    struct rbuf_event event;
    int kept = 0;

    for (int i = 0; i < 20000; i++) {
        offer.id++;
        memcpy(message.payload, &offer, sizeof(offer));
        hostile_receive(world, &message, sizeof(message.header) + sizeof(offer));
        kept += peer->state == RBUF_PEER_CONNECTED;
    }
    ck_assert_int_gt(kept, 1000);
    ck_assert_int_eq(peer->state, RBUF_PEER_BROKEN);
    (void) rbuf_core_progress(&world->nodes[1].core, 1);
    ck_assert_int_eq(peer->state, RBUF_PEER_FAILED);
    ck_assert_uint_eq(inspect_unexpected_rtrs(peer), 0);
    case_holds(&world->nodes[1]);
    ck_assert(rbuf_events_pop(&world->nodes[1].core.events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_FAILED);
    ck_assert_int_eq(event.status, -EPROTO);
    ck_assert(!rbuf_events_pop(&world->nodes[1].core.events, &event));
    world_close(world);
}
END_TEST

/* Arrivals of chunks that nobody expects. */
START_TEST(immediates_without_sense)
{
    struct world_options options = world_defaults();
    struct rbuf_core *core;
    struct world *world;
    uint64_t refused;

    options.core.arrival = RBUF_ARRIVAL_IMMEDIATE;
    world = world_open(&options);
    core = &world->nodes[1].core;
    rbuf_core_immediate(core, 0); /* there are no grants at all yet */
    world_send(world, WORLD_PUT, 0, 1, 100000);
    case_run(world);
    refused = core->stats.messages_refused;
    ck_assert_uint_eq(refused, 1);
    for (uint64_t value = 0; value <= UINT32_MAX; value = value * 3 + 1) {
        rbuf_core_immediate(core, (uint32_t) value);
        ck_assert_uint_eq(core->stats.messages_refused, ++refused);
    }
    world_send(world, WORLD_PUT, 0, 1, 100000);
    case_run(world);
    case_close(world);
}
END_TEST

/* What announces a chunk of a grant that is closed counts for none that came after it. */
START_TEST(immediates_that_come_late)
{
    struct world_options options = world_defaults();
    struct rbuf_offer first, offer;
    struct rbuf_grant *grant;
    unsigned char target[100];
    struct rbuf_core *core;
    struct world *world;

    options.nodes = 3;
    options.core.arrival = RBUF_ARRIVAL_IMMEDIATE;
    world = world_open(&options);
    core = &world->nodes[1].core;
    grant = rbuf_grant_open(world->nodes[1].links[0].peer, target, sizeof(target), NULL,
                            RBUF_EARLY_UNKNOWN, &first);
    do {
        rbuf_grant_close(grant);
        grant = rbuf_grant_open(world->nodes[1].links[2].peer, target, sizeof(target), NULL,
                                RBUF_EARLY_UNKNOWN, &offer);
    } while ((uint32_t) offer.id != (uint32_t) first.id);
    rbuf_core_immediate(core, rbuf_immediate(first.id));
    ck_assert_uint_eq(inspect_chunks_announced(grant), 0);
    ck_assert_uint_eq(core->stats.messages_refused, 1);
    rbuf_core_immediate(core, rbuf_immediate(offer.id));
    ck_assert_uint_eq(inspect_chunks_announced(grant), 1);
    ck_assert_uint_eq(core->stats.messages_refused, 1);
    rbuf_grant_close(grant);
    world_close(world);
}
END_TEST

/* A message that names another peer's put is not held for it. */
START_TEST(puts_of_another_peer)
{
    struct world_options options = world_defaults();
    struct rbuf_offer offer;
    struct rbuf_grant *grant;
    struct rbuf_event event;
    struct hostile_message message;
    struct world *world;
    unsigned char target[100];

    options.nodes = 3;
    world = world_open(&options);
    grant = rbuf_grant_open(world->nodes[1].links[2].peer, target, sizeof(target), NULL,
                            RBUF_EARLY_UNKNOWN, &offer);
    message = hostile_message(world, RBUF_MESSAGE_USER);
    message.header.argument = offer.id;
    ck_assert(hostile_receive(world, &message, 32));
    ck_assert(rbuf_events_pop(&world->nodes[1].core.events, &event));
    ck_assert_ptr_eq(event.peer, world->nodes[1].links[0].peer);
    message.header.peer = world->nodes[1].links[2].peer->index;
    ck_assert(!hostile_receive(world, &message, 32)); /* that one is, until the grant is closed */
    ck_assert(!rbuf_events_pop(&world->nodes[1].core.events, &event));
    rbuf_grant_close(grant);
    ck_assert(!rbuf_events_pop(&world->nodes[1].core.events, &event));
    world_close(world);
}
END_TEST

/* Noise: random bytes, and good messages with a few bytes turned, from a peer that may have a
 * window. It may be given up; then a new one goes on. */
static struct world *open_for_noise(uint64_t seed)
{
    struct world_options options = world_defaults();

    options.core.schedule.block_bytes = 1024;
    options.core.window[RBUF_CONTROL] = options.core.window[RBUF_BULK] = 8;
    options.send_bytes = options.receive_bytes = 1u << 18;
    options.message_bytes = 2048;
    return seed % 3 == 0 ? world_open(&options) : early_open(&options);
}

/* True if the peer is still there. */
static bool noise_events(struct world *world)
{
    struct rbuf_event event;

    while (rbuf_events_pop(&world->nodes[1].core.events, &event)) {
        ck_assert(event.kind == RBUF_EVENT_DELIVER || event.kind == RBUF_EVENT_RING_MEMORY ||
                  event.kind == RBUF_EVENT_FAILED);
        ck_assert(event.kind != RBUF_EVENT_FAILED || event.status == -EPROTO);
        ck_assert(event.kind != RBUF_EVENT_DELIVER ||
                  event.delivery.bytes <= sizeof(((struct hostile_message *) NULL)->payload));
    }
    return early_receiver(world)->state == RBUF_PEER_CONNECTED;
}

START_TEST(noise)
{
    uint64_t refused = 0, given_up = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_random random = {seed};
        struct world *world = open_for_noise(seed);

        for (int i = 0; i < 2000; i++) {
            uint32_t bytes = (uint32_t) sim_random_below(&random, sizeof(struct hostile_message));
            struct hostile_message message = hostile_message(
                world, (uint8_t) (1 + sim_random_below(&random, RBUF_MESSAGE_RETURN)));
            uint64_t turned = sim_random_below(&random, seed % 2 == 0 ? 4 : bytes + 1);
            const enum rbuf_channel_id channel =
                sim_random_below(&random, 4) == 0 ? RBUF_BULK : RBUF_CONTROL;

            message.header.tag = (uint8_t) sim_random_below(&random, 2);
            for (uint64_t j = 0; j < turned && bytes > 0; j++) {
                ((unsigned char *) &message)[sim_random_below(&random, bytes)] =
                    (unsigned char) sim_random_next(&random);
            }
            (void) hostile_receive_by(world, channel, &message, bytes);
            rbuf_core_immediate(&world->nodes[1].core, (uint32_t) sim_random_next(&random));
            if (!noise_events(world)) {
                refused += early_stats(world, 1)->messages_refused;
                given_up++;
                world_close(world);
                world = open_for_noise(seed);
            }
        }
        refused += early_stats(world, 1)->messages_refused;
        world_close(world);
    }
    ck_assert_uint_gt(refused, 20 * 2000);
    ck_assert_uint_gt(given_up, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile");

    unit_add(suite, malformed_headers);
    unit_add(suite, credits_never_given);
    unit_add(suite, offers_without_sense);
    unit_add(suite, rtrs_without_sense);
    unit_add(suite, rtrs_without_end);
    unit_add(suite, immediates_without_sense);
    unit_add(suite, immediates_that_come_late);
    unit_add(suite, puts_of_another_peer);
    unit_add(suite, noise);
    return unit_run(suite);
}
