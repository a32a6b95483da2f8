/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data of peers that do not keep to the protocol: RTSs, the sender's answers to claims, and
 * windows. What does not fit ends the peer or is refused and counted. (Fragments:
 * test_early_packed.c.)
 */
#include "hostile.h"

/* What a peer that has a window and no RTS out may not send. Sequence numbers are counted from that
 * of the next use of slot 0. */
static const struct {
    const char *what;
    uint8_t kind;
    uint32_t seq;
    uint32_t bytes;
    bool taken;
} rtss[] = {
    {"early data", RBUF_MESSAGE_RTS, 0, 1000, true},
    {"a slot full", RBUF_MESSAGE_RTS, 0, EARLY_BYTES, true},
    {"packed data", RBUF_MESSAGE_RTS, 0, 0, true},
    {"of the last slot", RBUF_MESSAGE_RTS, RBUF_EARLY_SLOTS - 1, 1000, true},
    {"more than a slot has", RBUF_MESSAGE_RTS, 0, EARLY_BYTES + 1, false},
    {"far more", RBUF_MESSAGE_RTS, 0, UINT32_MAX, false},
    {"a use that is over", RBUF_MESSAGE_RTS, -RBUF_EARLY_SLOTS, 1000, false},
    {"a use to come", RBUF_MESSAGE_RTS, RBUF_EARLY_SLOTS, 1000, false},
    {"any use", RBUF_MESSAGE_RTS, 1u << 31, 1000, false},
};

START_TEST(rtss_without_sense)
{
    for (size_t i = 0; i < sizeof(rtss) / sizeof(rtss[0]); i++) {
        struct world_options options = world_defaults();
        struct world *world = early_open(&options);
        struct hostile_message message = hostile_message(world, rtss[i].kind);
        const uint32_t next = inspect_slot_seq(early_receiver(world), 0) + RBUF_EARLY_SLOTS;
        const uint64_t refused = early_stats(world, 1)->messages_refused;

        message.header.argument = rbuf_rts_argument(next + rtss[i].seq, rtss[i].bytes);
        ck_assert_msg(hostile_receive(world, &message, 100) == rtss[i].taken, "%s", rtss[i].what);
        ck_assert_uint_eq(early_stats(world, 1)->messages_refused, refused + !rtss[i].taken);
        ck_assert(rbuf_peer_is_lost(early_receiver(world)) == !rtss[i].taken);
        world->nodes[1].core.events.head = world->nodes[1].core.events.tail; /* it is ours */
        world_close(world);
    }
}
END_TEST

/* Node 0 gives its window back, which is not free: a grant has a claim on slot 0. */
static void give_back_claimed(struct world *world)
{
    struct world_message *held = early_hold(world, 50000);

    ck_assert_uint_eq(early_newest(world), inspect_slot_seq(early_receiver(world), 0));
    (void) early_grant(world, held, early_newest(world));
    rbuf_lease_ask_back(early_receiver(world));
    world_settle(world);
    ck_assert(inspect_gave_window_back(early_sender(world)));
    ck_assert(inspect_has_window(early_receiver(world)));
}

/* Early data of a peer that has no window, or has given it back. */
START_TEST(rtss_without_a_window)
{
    for (unsigned back = 0; back < 2; back++) {
        struct world_options options = world_defaults();
        struct world *world = back ? early_open(&options) : world_open(&options);
        struct hostile_message message = hostile_message(world, RBUF_MESSAGE_RTS);
        uint32_t seq = RBUF_EARLY_SLOTS;

        if (back) {
            give_back_claimed(world);
            seq = inspect_slot_seq(early_receiver(world), 1) + RBUF_EARLY_SLOTS;
        }
        message.header.argument = rbuf_rts_argument(seq, 9);
        ck_assert(!hostile_receive(world, &message, 100));
        ck_assert(rbuf_peer_is_lost(early_receiver(world)));
        world_close(world);
    }
}
END_TEST

/* What EARLY may name, from node 0, when node 1 has a grant of node 0's that asked, or has claimed
 * the older of two early data, and one of node 2's. */
enum { NOBODYS, CLOSED, ANOTHERS, ASKED, CLAIMED, SETTLED };
enum { NOTHING, OLDER, NEWER, OVER, TO_COME, PACKED };

static const struct {
    const char *what;
    int grant;
    int named;
    bool taken;
} names[] = {
    {"none to who asked", ASKED, NOTHING, true},
    {"some to who asked", ASKED, OLDER, true},
    {"a correction", CLAIMED, NEWER, true},
    {"a correction to none", CLAIMED, NOTHING, true},
    {"a correction that is none", CLAIMED, OLDER, true},
    {"no grant", NOBODYS, OLDER, false},
    {"no grant and no data", NOBODYS, NOTHING, false},
    {"no grant and packed data", NOBODYS, PACKED, true},
    {"a closed grant", CLOSED, OLDER, false},
    {"another peer's grant", ANOTHERS, OLDER, false},
    {"a grant that knows of none", SETTLED, OLDER, false},
    {"a use that is over", ASKED, OVER, false},
    {"a use to come", ASKED, TO_COME, false},
    {"packed data", ASKED, PACKED, false},
    {"a correction to a use that is over", CLAIMED, OVER, false},
};

START_TEST(names_without_sense)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct world_options options = world_defaults();
        static unsigned char target[1000];
        struct world_message *held[3];
        struct hostile_message message;
        struct rbuf_offer offer = {.id = 0};
        struct rbuf_peer *peer;
        struct world *world;
        uint32_t named[] = {
            [NOTHING] = 0, [OVER] = 0, [TO_COME] = 0, [OLDER] = 0, [NEWER] = 0, [PACKED] = 0};
        struct rbuf_grant *grant = NULL;

        options.nodes = 3;
        world = early_open(&options);
        peer = names[i].grant == ANOTHERS ? world->nodes[1].links[2].peer : early_receiver(world);
        held[0] = early_hold(world, 50000);
        named[OLDER] = early_newest(world);
        held[1] = early_hold(world, 50000);
        named[NEWER] = early_newest(world);
        held[2] = early_held(world, world_send(world, WORLD_PACKED, 0, 1, 50000));
        named[PACKED] = early_newest(world);
        named[OVER] = named[OLDER] - RBUF_EARLY_SLOTS;
        named[TO_COME] = named[OLDER] + RBUF_EARLY_SLOTS;
        if (names[i].grant != NOBODYS) {
            grant = rbuf_grant_open(peer, target, sizeof(target), NULL,
                                    names[i].grant == CLAIMED   ? named[OLDER]
                                    : names[i].grant == SETTLED ? 0
                                                                : RBUF_EARLY_UNKNOWN,
                                    &offer);
        }
        if (names[i].grant == CLOSED) {
            rbuf_grant_close(grant);
            grant = NULL;
        }
        message = hostile_message(world, RBUF_MESSAGE_EARLY);
        message.header.argument = offer.id;
        memcpy(message.payload, &named[names[i].named], sizeof(named[0]));
        ck_assert(!hostile_receive(world, &message, sizeof(message.header) + sizeof(named[0])));
        ck_assert_msg((early_receiver(world)->state == RBUF_PEER_CONNECTED) == names[i].taken, "%s",
                      names[i].what);
        if (grant != NULL) {
            rbuf_grant_close(grant);
        }
        for (unsigned j = 0; j < 3; j++) {
            world_close_message(held[j], WORLD_ARRIVED);
        }
        world_close(world);
    }
}
END_TEST

/* Windows that this side cannot use, more than one, and what comes out of order: is dropped. */
START_TEST(windows_without_sense)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_stats *stats = early_stats(world, 1);
    struct hostile_message message = hostile_message(world, RBUF_MESSAGE_LEASE);
    const struct rbuf_early_window good = {.base = 4096,
                                           .flag = 1ull << 63,
                                           .first = RBUF_EARLY_SLOTS,
                                           .slot_blocks = 10,
                                           .schedule = options.core.schedule};
    struct rbuf_early_window bad[6];
    uint64_t refused = stats->messages_refused;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i] = good;
    }
    bad[0].schedule.block_bytes = 4000;
    bad[1].slot_blocks = options.core.schedule.first_blocks - 1;
    bad[2].slot_blocks = UINT32_MAX;
    bad[3].first++;
    bad[4].schedule.block_bytes = 1u << 26; /* more than this side can stage */
    bad[5].schedule.growth = 0;
    message.header.tag = RBUF_LEASE_EARLY;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memcpy(message.payload, &bad[i], sizeof(good));
        ck_assert(!hostile_receive(world, &message, sizeof(message.header) + sizeof(good)));
        ck_assert_uint_eq(stats->messages_refused, ++refused);
        ck_assert(!rbuf_early_may_begin(early_receiver(world)));
    }
    message.header.kind = RBUF_MESSAGE_RECALL;
    ck_assert(!hostile_receive(world, &message, sizeof(message.header))); /* of none */
    ck_assert_uint_eq(stats->messages_refused, ++refused);
    message.header.kind = RBUF_MESSAGE_RETURN;
    ck_assert(!hostile_receive(world, &message, sizeof(message.header)));
    ck_assert_uint_eq(stats->messages_refused, ++refused);
    message.header.kind = RBUF_MESSAGE_LEASE;
    memcpy(message.payload, &good, sizeof(good));
    for (unsigned i = 0; i < 3; i++) { /* the second one is one too many */
        ck_assert(!hostile_receive(world, &message, sizeof(message.header) + sizeof(good)));
        ck_assert(rbuf_early_may_begin(early_receiver(world)));
        ck_assert_uint_eq(stats->messages_refused, refused + i);
    }
    refused += 2;
    message.header.kind = RBUF_MESSAGE_RECALL;
    ck_assert(!hostile_receive(world, &message, sizeof(message.header)));
    ck_assert(inspect_gave_window_back(early_receiver(world)));
    ck_assert_uint_eq(stats->messages_refused, refused);
    ck_assert(!hostile_receive(world, &message, sizeof(message.header))); /* once more */
    ck_assert_uint_eq(stats->messages_refused, refused + 1);
    ck_assert_int_eq(early_receiver(world)->state, RBUF_PEER_CONNECTED);
    world_close(world);
}
END_TEST

/* A window comes back that was not asked for. */
START_TEST(windows_that_come_back)
{
    struct world_options options = world_defaults();
    struct world *world = early_open(&options);
    struct hostile_message message = hostile_message(world, RBUF_MESSAGE_RETURN);
    const uint64_t refused = early_stats(world, 1)->messages_refused;

    message.header.tag = RBUF_LEASE_EARLY;
    ck_assert(!hostile_receive(world, &message, sizeof(message.header)));
    ck_assert_uint_eq(early_stats(world, 1)->messages_refused, refused + 1);
    ck_assert(inspect_may_use_window(early_receiver(world)));
    rbuf_lease_ask_back(early_receiver(world)); /* which node 0 does not hear yet */
    ck_assert(!inspect_may_use_window(early_receiver(world)));
    ck_assert(!hostile_receive(world, &message, sizeof(message.header)));
    ck_assert(!inspect_has_window(early_receiver(world)));
    ck_assert(!hostile_receive(world, &message, sizeof(message.header)));
    ck_assert_uint_eq(early_stats(world, 1)->messages_refused, refused + 2);
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile_early");

    unit_add(suite, rtss_without_sense);
    unit_add(suite, rtss_without_a_window);
    unit_add(suite, names_without_sense);
    unit_add(suite, windows_without_sense);
    unit_add(suite, windows_that_come_back);
    return unit_run(suite);
}
