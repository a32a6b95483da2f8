/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Heads that wait for their receives: one and several, in order and not, wanted by nobody, of
 * memory that is another message's by now.
 */
#include "heads.h"
#include "unit.h"

/* Node 1 is late for a message from node 0, which it holds back: its head waits there. */
static struct world_message *send_unexpected(struct world *world, uint64_t bytes)
{
    struct world_message *message;

    world->options.late = 1;
    message = world_send(world, WORLD_PUT, 0, 1, bytes);
    world_settle(world);
    world->options.late = 0;
    ck_assert_ptr_eq(world->nodes[1].unexpected, message);
    world->nodes[1].unexpected = NULL;
    return message;
}

/* Node 1 asks for a message that it held back. */
static void expect(struct world *world, struct world_message *message)
{
    world->nodes[1].unexpected = message;
    world_expect(world, 1);
    world_settle(world);
}

/* Some messages that node 1 is late for, one after the other. */
static void hold(struct world *world, struct world_message **held, unsigned count, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++) {
        held[i] = send_unexpected(world, bytes);
    }
}

/* Node 1 asks for them in order, each when the one before is there. */
static void expect_in_order(struct world *world, struct world_message **held, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        expect(world, held[i]);
    }
}

/* Some messages, expected, so that node 0 has a lane. */
static void send_expected(struct world *world, int count, uint64_t bytes)
{
    for (int i = 0; i < count; i++) {
        struct world_message *message = world_send(world, WORLD_PUT, 0, 1, bytes);

        world_settle(world);
        ck_assert_int_eq(message->state, WORLD_ARRIVED);
    }
}

/* Heads of messages that are there first are not written again, for one after the other or for all
 * but one of the places: the last one is still in use when the offers say how many there are. */
START_TEST(heads_wait_for_their_receives)
{
    const uint64_t sizes[] = {100000, 30000, 8000};

    for (unsigned kind = 0; kind < 12; kind++) {
        const unsigned waiting = kind / 6 == 0 ? 1 : RBUF_EARLY_SLOTS - 1;
        const uint64_t bytes = sizes[kind % 3];
        struct world_options options = world_defaults();
        struct world *world;

        options.core.arrival = arrivals[kind / 3 % 2];
        world = world_open(&options);
        send_expected(world, 5, bytes);
        for (unsigned round = 0; round < 20; round++) {
            struct world_message *held[RBUF_EARLY_SLOTS];

            hold(world, held, waiting, bytes);
            expect_in_order(world, held, waiting);
            case_run(world);
        }
        ck_assert_uint_eq(stats_of(world, 1)->heads_kept, 20 * waiting);
        ck_assert_uint_eq(stats_of(world, 1)->heads_in_vain, 0);
        ck_assert_uint_eq(stats_of(world, 0)->heads_declined, 0);
        ck_assert_uint_eq(stats_of(world, 0)->staged_bytes, (5 + 20 * waiting) * bytes);
        case_close(world);
    }
}
END_TEST

/* All places are in use, and receives that are posted together take up all of their heads; a head
 * that is older than one that is taken makes place. */
START_TEST(receives_together_take_all)
{
    for (unsigned odd = 0; odd < 2; odd++) {
        struct world_options options = world_defaults();
        struct world *world = world_open(&options);
        struct rbuf_standing_in *in;
        struct rbuf_peer *peer;
        uint64_t first;

        send_expected(world, 5, 50000);
        peer = world->nodes[1].links[0].peer;
        in = peer->standing_in;
        first = in->tail + 1;
        in->told = in->tail + RBUF_EARLY_SLOTS;
        for (unsigned i = 0; i < RBUF_EARLY_SLOTS; i++) {
            ck_assert_uint_ne(rbuf_standing_in_announced(peer, i < odd ? 30000 : 50000), 0);
            rbuf_standing_in_keep(peer, first + i);
        }
        for (unsigned i = odd; i < RBUF_EARLY_SLOTS; i++) {
            ck_assert_uint_eq(rbuf_standing_in_kept(peer, 50000), first + i);
            ck_assert_uint_eq(stats_of(world, 1)->heads_in_vain, odd);
        }
        ck_assert_uint_eq(rbuf_standing_in_kept(peer, 50000), 0);
        for (unsigned i = odd; i < RBUF_EARLY_SLOTS; i++) {
            rbuf_standing_in_over(peer, first + i);
        }
        ck_assert_uint_eq(in->tail, in->announced);
        world_settle(world);
        world_close(world);
    }
}
END_TEST

/* A receiver that asks for the newer of two messages first takes up a wrong head at times, which
 * costs a round trip: it soon does so no more, and again when it asks in order. */
START_TEST(wrong_heads_are_left_alone)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    uint64_t declined;

    send_expected(world, 5, 50000);
    for (int i = 0; i < 400; i++) {
        struct world_message *older = send_unexpected(world, 50000);
        struct world_message *newer = send_unexpected(world, 50000);

        expect(world, newer);
        expect(world, older);
        send_expected(world, 1, 50000);
    }
    declined = stats_of(world, 0)->heads_declined;
    ck_assert_uint_gt(declined, 5);
    ck_assert_uint_lt(declined, 40);
    for (int i = 0; i < 800; i++) {
        expect(world, send_unexpected(world, 50000));
        send_expected(world, 1, 50000);
    }
    ck_assert_uint_eq(stats_of(world, 0)->heads_declined, declined);
    ck_assert_uint_gt(stats_of(world, 1)->heads_kept, 500);
    ck_assert_uint_eq(stats_of(world, 1)->messages_refused, 0);
    case_close(world);
}
END_TEST

/* Kept heads wait for no longer than until a message is expected; they hold up neither those of
 * later messages nor a lane that is asked back. */
START_TEST(heads_do_not_wait_for_ever)
{
    struct world_options options = world_defaults();
    struct world_message *held[RBUF_EARLY_SLOTS - 1];
    struct world *world;
    uint64_t in_vain, led;

    options.nodes = 3;
    options.core.standing.peers = 1;
    world = world_open(&options);
    send_expected(world, 5, 50000);
    hold(world, held, RBUF_EARLY_SLOTS - 1, 50000);
    send_expected(world, 20, 50000);
    ck_assert_uint_eq(stats_of(world, 1)->heads_in_vain, RBUF_EARLY_SLOTS - 1);
    led = stats_of(world, 0)->heads_led;
    send_expected(world, 10, 50000);
    ck_assert_uint_eq(stats_of(world, 0)->heads_led, led + 10);
    expect_in_order(world, held, RBUF_EARLY_SLOTS - 1);
    in_vain = stats_of(world, 1)->heads_in_vain;
    held[0] = send_unexpected(world, 50000);
    for (int i = 0; i < 40; i++) { /* the lane moves to node 2 */
        world_send(world, WORLD_PUT, 2, 1, 50000);
        world_settle(world);
    }
    ck_assert_uint_eq(stats_of(world, 1)->heads_in_vain, in_vain + 1);
    ck_assert_ptr_nonnull(world->nodes[1].links[2].peer->standing_in);
    expect(world, held[0]);
    case_run(world);
    case_close(world);
}
END_TEST

/* A rendezvous that is named between a head and the put that would go on behind it. The head is of
 * `HELD` bytes, and lies `HELD_AT` bytes from the start of the memory. */
enum { HELD_AT = 20000, HELD = 50000, MEMORY = 100000 };

static const struct {
    const char *what;
    unsigned at;
    unsigned bytes; /* 0: there is none */
    bool kept;      /* the offer says so */
    bool taken;     /* may the put take it up? */
} between[] = {
    {"nothing", 0, 0, true, true},
    {"the same memory", HELD_AT, HELD, true, false},
    {"some bytes of it", HELD_AT, 1, true, false},
    {"memory that contains it", 0, MEMORY, true, false},
    {"memory that ends in it", 0, HELD_AT + 1, true, false},
    {"its last byte", HELD_AT + HELD - 1, 100, true, false},
    {"memory before it", 0, HELD_AT, true, true},
    {"memory behind it", HELD_AT + HELD, 100, true, true},
    {"the same memory, but in time", HELD_AT, HELD, false, true},
};

/* The memory of a head may be another message's by now: then nothing of that head may be used. */
START_TEST(old_bytes_are_not_taken_for_new)
{
    static unsigned char memory[MEMORY];

    for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
        struct world_options options = world_defaults();
        struct rbuf_put put = {.source = memory + HELD_AT, .offer = {.bytes = HELD}};
        const struct rbuf_head *head;
        struct rbuf_peer *peer;
        struct world *world;
        uint64_t led;

        world = world_open(&options);
        send_expected(world, 5, 50000);
        peer = world->nodes[0].links[1].peer;
        led = stats_of(world, 0)->heads_led;
        rbuf_prestage(peer, memory + HELD_AT, HELD);
        world_send(world, WORLD_EAGER, 0, 1, 100); /* leads it, as any message */
        case_run(world);
        ck_assert_uint_eq(stats_of(world, 0)->heads_led, led + 1);
        put.offer.head = peer->standing_out->begun;
        put.offer.kept = between[i].kept;
        if (between[i].bytes > 0) {
            rbuf_prestage(peer, memory + between[i].at, between[i].bytes);
        }
        head = rbuf_standing_out_take(peer, &put);
        ck_assert_msg((head != NULL) == between[i].taken, "%s", between[i].what);
        case_run(world);
        world_settle(world);
        world_close(world);
    }
}
END_TEST

/* The same from the offer on: memory is used again while the receiver keeps a head of it. */
START_TEST(memory_is_used_again)
{
    for (unsigned again = 0; again < 2; again++) {
        struct world_options options = world_defaults();
        struct world_message *message;
        struct rbuf_peer *peer;
        struct world *world;

        world = world_open(&options);
        send_expected(world, 5, 50000);
        peer = world->nodes[0].links[1].peer;
        message = send_unexpected(world, 50000);
        if (again != 0) {
            rbuf_prestage(peer, message->source, 100);
            world_settle(world);
        }
        expect(world, message);
        ck_assert_int_eq(message->state, WORLD_ARRIVED);
        ck_assert_uint_eq(stats_of(world, 1)->heads_kept, 1);
        ck_assert_uint_eq(stats_of(world, 0)->heads_declined, again);
        rbuf_prestage_cancel(peer, peer->prestage.source);
        case_close(world);
    }
}
END_TEST

/* Who is always late, and asks in another order once, gets its heads again soon after. */
START_TEST(one_mistake_is_forgiven)
{
    for (unsigned waiting = 2; waiting < RBUF_EARLY_SLOTS; waiting++) {
        struct world_options options = world_defaults();
        struct world *world = world_open(&options);
        struct world_message *held[RBUF_EARLY_SLOTS];
        uint64_t kept;

        send_expected(world, 5, 50000);
        hold(world, held, waiting, 50000);
        for (unsigned i = waiting; i-- > 0;) {
            expect(world, held[i]);
        }
        ck_assert_uint_eq(stats_of(world, 0)->heads_declined, 1);
        for (unsigned round = 0; round < 100; round++) {
            hold(world, held, waiting, 50000);
            expect_in_order(world, held, waiting);
            if (round == 20) {
                kept = stats_of(world, 1)->heads_kept;
            }
        }
        ck_assert_uint_eq(stats_of(world, 0)->heads_declined, 1);
        ck_assert_uint_eq(stats_of(world, 1)->heads_kept, kept + 79 * waiting);
        case_close(world);
    }
}
END_TEST

/* Several receives are in the other order before the sender has declined the first: that is one
 * mistake. */
START_TEST(mistakes_at_once_are_one)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct world_message *held[RBUF_EARLY_SLOTS - 1];

    send_expected(world, 5, 50000);
    hold(world, held, RBUF_EARLY_SLOTS - 1, 50000);
    for (unsigned i = 0; i < RBUF_EARLY_SLOTS - 1; i++) {
        world->nodes[1].unexpected = held[(i + 1) % (RBUF_EARLY_SLOTS - 1)];
        world_expect(world, 1);
    }
    case_run(world);
    ck_assert_uint_eq(stats_of(world, 0)->heads_declined, RBUF_EARLY_SLOTS - 1);
    for (int i = 0; i < 30; i++) {
        expect(world, send_unexpected(world, 50000));
    }
    ck_assert_uint_gt(stats_of(world, 1)->heads_kept, RBUF_EARLY_SLOTS - 1 + 15);
    case_close(world);
}
END_TEST

/* Heads that nobody takes up stand in the way of no others, also where all receives are late. */
START_TEST(heads_are_passed_over)
{
    for (unsigned odd = 1; odd < RBUF_EARLY_SLOTS; odd++) {
        struct world_options options = world_defaults();
        struct world *world = world_open(&options);
        struct world_message *held[RBUF_EARLY_SLOTS];
        uint64_t kept;

        send_expected(world, 5, 50000);
        send_expected(world, 5, 30000);
        hold(world, held, odd, 30000);
        for (int i = 0; i < 20; i++) {
            expect(world, send_unexpected(world, 50000));
        }
        kept = stats_of(world, 1)->heads_kept;
        ck_assert_uint_gt(kept, 10);
        for (int i = 0; i < 30; i++) {
            expect(world, send_unexpected(world, 50000));
        }
        ck_assert_uint_eq(stats_of(world, 1)->heads_kept, kept + 30);
        ck_assert_uint_eq(stats_of(world, 1)->heads_in_vain, odd);
        expect_in_order(world, held, odd);
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* A message whose rendezvous comes when its lane was asked back leaves nothing there. */
START_TEST(no_heads_are_kept_in_a_recalled_lane)
{
    struct world_options options = world_defaults();
    struct rbuf_standing_in *in;
    struct rbuf_peer *peer;
    struct world *world;
    uint8_t place;

    world = world_open(&options);
    send_expected(world, 5, 50000);
    peer = world->nodes[1].links[0].peer;
    in = peer->standing_in;
    place = rbuf_standing_in_announced(peer, 50000);
    ck_assert_uint_ne(place, 0);
    in->state = RBUF_STANDING_RECALLED;
    rbuf_standing_in_keep(peer, rbuf_standing_in_use(peer, place));
    ck_assert_uint_eq(in->tail, in->announced);
    ck_assert_uint_eq(rbuf_standing_in_kept(peer, 50000), 0);
    rbuf_standing_in_back(peer);
    ck_assert_ptr_null(peer->standing_in);
    ck_assert_uint_eq(stats_of(world, 1)->heads_in_vain, 1);
    world_settle(world);
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kept");

    unit_add(suite, heads_wait_for_their_receives);
    unit_add(suite, receives_together_take_all);
    unit_add(suite, wrong_heads_are_left_alone);
    unit_add(suite, heads_do_not_wait_for_ever);
    unit_add(suite, old_bytes_are_not_taken_for_new);
    unit_add(suite, memory_is_used_again);
    unit_add(suite, one_mistake_is_forgiven);
    unit_add(suite, mistakes_at_once_are_one);
    unit_add(suite, heads_are_passed_over);
    unit_add(suite, no_heads_are_kept_in_a_recalled_lane);
    return unit_run(suite);
}
