/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Standing lanes: heads of every length, many at once, mistaken ones, lanes that move from peer to
 * peer, too little staging for any.
 */
#include "heads.h"
#include "unit.h"

/* A schedule small enough to try every length of it; a place holds the first two chunks. */
static struct world_options small_blocks(void)
{
    struct world_options options = world_defaults();

    options.core.schedule.block_bytes = 64;
    options.core.schedule.first_blocks = 2;
    options.core.schedule.buffer_blocks = 6;
    options.core.quantum = 200;
    options.core.standing.place_blocks = 5;
    options.core.standing.opening_blocks = 1;
    options.send_bytes = options.receive_bytes = 8192;
    options.model.packet_bytes = 64;
    return options;
}

/* From messages that are all head, and less than a block, to some chunks behind it. */
START_TEST(heads_of_every_length)
{
    for (int arrival = RBUF_ARRIVAL_BLOCK; arrival <= RBUF_ARRIVAL_IMMEDIATE; arrival++) {
        struct world_options options = small_blocks();
        struct world *world;

        options.core.arrival = (enum rbuf_arrival) arrival;
        world = world_open(&options);
        for (uint64_t bytes = 1; bytes <= 56 * 30; bytes++) {
            world_send(world, WORLD_PUT, 0, 1, bytes);
            case_run(world);
        }
        ck_assert_uint_ge(stats_of(world, 0)->heads_led, 56 * 30 - 4);
        ck_assert_uint_eq(stats_of(world, 1)->heads_taken, stats_of(world, 0)->heads_led);
        ck_assert_uint_eq(stats_of(world, 1)->heads_in_vain, 0);
        ck_assert_uint_eq(stats_of(world, 0)->staged_bytes, 56 * 30 * (56 * 30 + 1) / 2);
        case_close(world);
    }
}
END_TEST

/* A message of two chunks, the head of which is written at once, is there sooner by about a round
 * trip. */
START_TEST(the_round_trip_is_hidden)
{
    uint64_t took[2];

    for (unsigned on = 0; on < 2; on++) {
        struct world_options options = world_defaults();
        struct world *world;
        struct world_message *message = NULL;

        options.core.standing.peers = on;
        world = world_open(&options);
        for (int i = 0; i < 5; i++) {
            message = world_send(world, WORLD_PUT, 0, 1, 65536);
            case_run(world);
        }
        took[on] = message->arrived_ns - message->started_ns;
        case_close(world);
    }
    ck_assert_uint_lt(took[1] + 2000, took[0]); /* the latency is 2 us, and so is a copy of C0 */
}
END_TEST

/* The first chunk leaves in the call that sends the rendezvous, the rest in the next progress; a
 * second head waits for its turn. */
START_TEST(the_call_opens_the_head)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    uint64_t led, staged;

    for (int i = 0; i < 5; i++) {
        world_send(world, WORLD_PUT, 0, 1, 65536);
        case_run(world);
    }
    led = stats_of(world, 0)->heads_led;
    staged = stats_of(world, 0)->staged_chunks;
    world_send(world, WORLD_PUT, 0, 1, 65536);
    ck_assert_uint_eq(stats_of(world, 0)->heads_led, led + 1);
    ck_assert_uint_eq(stats_of(world, 0)->staged_chunks, staged + 1);
    world_send(world, WORLD_PUT, 0, 1, 65536);
    ck_assert_uint_eq(stats_of(world, 0)->heads_led, led + 2);
    ck_assert_uint_eq(stats_of(world, 0)->staged_chunks, staged + 1);
    case_run(world);
    ck_assert_uint_eq(stats_of(world, 1)->heads_taken, led + 2);
    case_close(world);
}
END_TEST

/* Receivers that are some messages late get so many more that nothing is held back. */
static void send_until_expected(struct world *world)
{
    for (unsigned node = 0; node < 2; node++) {
        while (world->nodes[node].unexpected != NULL) {
            world_send(world, WORLD_PUT, 1 - node, node, 5000);
            world_settle(world);
        }
    }
}

/* Many messages at once, in both directions: no more heads than places, and all the rest right. */
START_TEST(many_at_once)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        const unsigned late = kind % 2 * 3;
        struct world_options options = case_busy();
        struct world *world;

        options.core.arrival = arrivals[kind / 2];
        options.receive_bytes = 160 * 1024;
        options.core.standing.place_blocks = 6;
        options.late = late;
        world = world_open(&options);
        ck_assert_uint_gt(world->nodes[0].core.standing.lanes, 0);
        for (int round = 0; round < 40; round++) {
            for (int i = 0; i < 10; i++) {
                world_send(world, WORLD_PUT, 0, 1, 3000 + 2000 * i + 7 * round);
                world_send(world, WORLD_PUT, 1, 0, 4000 + 3000 * i + 5 * round);
                world_send(world, WORLD_EAGER, 0, 1, 100);
            }
            if (late != 0) {
                world_settle(world);
                send_until_expected(world);
            }
            case_run(world);
        }
        ck_assert_uint_gt(stats_of(world, 0)->heads_led, 40);
        ck_assert_uint_eq(stats_of(world, 1)->heads_taken + stats_of(world, 1)->heads_in_vain,
                          stats_of(world, 0)->heads_led);
        case_close(world);
    }
}
END_TEST

/* Of two messages of a length the first was not expected, and its grant is opened when the second
 * is delivered: it takes up the second one's head. The sender declines, and both arrive right. */
START_TEST(mistaken_heads_are_declined)
{
    const uint64_t sizes[] = {100000, 30000, 8000}; /* with a lane for the rest, or all head */

    for (unsigned kind = 0; kind < 6; kind++) {
        const uint64_t bytes = sizes[kind % 3];
        struct world_options options = world_defaults();
        struct world *world;

        options.core.arrival = arrivals[kind / 3];
        options.late = 3;
        world = world_open(&options);
        for (int i = 0; i < 100; i++) {
            world_send(world, WORLD_PUT, 0, 1, bytes);
            world_settle(world);
        }
        while (world->nodes[1].unexpected != NULL) {
            world_send(world, WORLD_PUT, 0, 1, bytes);
            world_settle(world);
        }
        case_run(world);
        ck_assert_uint_gt(stats_of(world, 0)->heads_declined, 5);
        ck_assert_uint_gt(stats_of(world, 1)->heads_in_vain, 5);
        ck_assert_uint_eq(stats_of(world, 1)->messages_refused, 0);
        case_close(world);
    }
}
END_TEST

/* Announced chunks take credits. However few there are, guesses leave some, and all arrives,
 * expected or not. */
START_TEST(few_credits_for_announcements)
{
    for (unsigned kind = 0; kind < 8; kind++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.arrival = RBUF_ARRIVAL_IMMEDIATE;
        options.core.window[RBUF_FLOW_BULK] = (uint16_t) (1 + kind / 2);
        options.late = kind % 2 * 3;
        world = world_open(&options);
        for (int i = 0; i < 60; i++) {
            world_send(world, WORLD_PUT, 0, 1, 40000 + 5000 * (i % 7));
            world_send(world, WORLD_PUT, 1, 0, 60000 + 3000 * (i % 5));
            world_settle(world);
        }
        send_until_expected(world);
        case_run(world);
        ck_assert_uint_eq(stats_of(world, 0)->messages_refused, 0);
        ck_assert_uint_gt(stats_of(world, 0)->heads_led, 0);
        case_close(world);
    }
}
END_TEST

/* A peer that lends another lane while a put has still chunks of a head to write into the first:
 * they are what they were filled as. */
START_TEST(a_lane_is_lent_before_its_time)
{
    struct world_options options = world_defaults();
    struct rbuf_standing_offer other;
    struct world_message *message;
    struct rbuf_credit *credit;
    struct rbuf_peer *peer;
    struct world *world;

    options.core.arrival = RBUF_ARRIVAL_IMMEDIATE;
    world = world_open(&options);
    for (int i = 0; i < 5; i++) {
        world_send(world, WORLD_PUT, 0, 1, 50000);
        case_run(world);
    }
    peer = world->nodes[0].links[1].peer;
    credit = &peer->credit[RBUF_FLOW_BULK];
    world_send(world, WORLD_EAGER, 1, 0, 10); /* tells what was taken */
    case_run(world);
    (void) rbuf_credit_look(peer, RBUF_FLOW_BULK);
    ck_assert_uint_eq(credit->sent, credit->taken);
    credit->sent += credit->window; /* so that the put's first chunk has to wait */
    message = world_send(world, WORLD_PUT, 0, 1, 50000);
    world_settle(world);
    ck_assert_int_eq(message->state, WORLD_OPEN);
    ck_assert_uint_eq(stats_of(world, 1)->heads_taken, stats_of(world, 0)->heads_led);
    rbuf_standing_out_recalled(peer);
    other = peer->standing_out->offer;
    other.schedule.block_bytes = 256 * 1024;
    other.schedule.first_blocks = other.schedule.buffer_blocks = 1;
    other.schedule.opening_blocks = 0;
    rbuf_standing_out_lent(peer, &other);
    ck_assert_uint_eq(peer->standing_out->offer.schedule.block_bytes, 256 * 1024);
    credit->sent -= credit->window;
    rbuf_peer_wake(peer);
    world_wake(&world->nodes[0]);
    case_run(world);
    ck_assert_int_eq(message->state, WORLD_ARRIVED);
    world_settle(world);
    world_close(world);
}
END_TEST

/* A receiver that asks for each message when the next one has come gets all heads; one that does
 * not take them up is soon sent no more. */
START_TEST(who_wants_no_heads_gets_none)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    uint64_t led;

    for (int i = 0; i < 10; i++) {
        world_send(world, WORLD_PUT, 0, 1, 50000);
        case_run(world);
    }
    led = stats_of(world, 0)->heads_led;
    ck_assert_uint_gt(led, 5);
    world->options.late = 1;
    world->options.aside = true;
    for (int i = 0; i < 100; i++) {
        world_send(world, WORLD_PUT, 0, 1, 50000);
        world_settle(world);
    }
    ck_assert_uint_eq(stats_of(world, 0)->heads_led, led + 100);
    ck_assert_uint_eq(stats_of(world, 0)->heads_declined, 0);
    led += 100;
    world->nodes[1].links[0].peer->standing_in->passes = 200;
    for (int i = 0; i < 100; i++) {
        world_send(world, WORLD_PUT, 0, 1, 50000);
        world_settle(world);
    }
    ck_assert_uint_le(stats_of(world, 0)->heads_led, led + RBUF_EARLY_SLOTS);
    ck_assert_uint_gt(stats_of(world, 0)->heads_led, led);
    world->options.late = 0; /* in time again: heads come again */
    for (int i = 0; i < 20; i++) {
        world_send(world, WORLD_PUT, 0, 1, 50000);
        case_run(world);
    }
    ck_assert_uint_gt(stats_of(world, 0)->heads_led, led + RBUF_EARLY_SLOTS + 5);
    ck_assert_uint_eq(stats_of(world, 1)->heads_taken + stats_of(world, 1)->heads_in_vain,
                      stats_of(world, 0)->heads_led);
    case_close(world);
}
END_TEST

/* One lane, and partners that change: it goes from one to the next. */
static void check_that_lanes_move(enum rbuf_arrival arrival)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.nodes = 4;
    options.core.arrival = arrival;
    options.core.standing.peers = 1;
    world = world_open(&options);
    for (unsigned from = 1; from <= 3; from++) {
        for (int i = 0; i < 40; i++) {
            world_send(world, WORLD_PUT, from, 0, 30000 + 1000 * i);
            case_run(world);
        }
        ck_assert_ptr_nonnull(world->nodes[0].links[from].peer->standing_in);
        ck_assert_uint_gt(stats_of(world, from)->heads_led, 10);
    }
    ck_assert_uint_eq(stats_of(world, 0)->standing_lent, 3);
    ck_assert_uint_eq(stats_of(world, 0)->standing_recalled, 2);
    for (int i = 0; i < 100; i++) { /* all at once: it may move or not, nothing is lost */
        for (unsigned from = 1; from <= 3; from++) {
            world_send(world, WORLD_PUT, from, 0, 30000 + 1000 * i);
        }
        case_run(world);
    }
    case_close(world);
}

START_TEST(lanes_move)
{
    check_that_lanes_move(RBUF_ARRIVAL_BLOCK);
    check_that_lanes_move(RBUF_ARRIVAL_IMMEDIATE);
}
END_TEST

/* What announces chunks of a head that was in vain counts for none that comes to its place later,
 * however late it is; and what does not come from a lane's borrower for none at all. */
START_TEST(announcements_of_heads_in_vain)
{
    struct world_options options = world_defaults();
    const struct rbuf_standing_in *in;
    struct rbuf_peer *peer;
    struct rbuf_core *core;
    struct world *world;
    uint64_t use;

    options.core.arrival = RBUF_ARRIVAL_IMMEDIATE;
    world = world_open(&options);
    core = &world->nodes[1].core;
    for (int i = 0; i < 5; i++) {
        world_send(world, WORLD_PUT, 0, 1, 50000);
        case_run(world);
    }
    peer = world->nodes[1].links[0].peer;
    in = peer->standing_in;
    ck_assert_ptr_nonnull(in);
    use = in->tail + 1;
    ck_assert_uint_ne(rbuf_standing_in_announced(peer, 50000), 0);
    rbuf_core_immediate(core, rbuf_immediate_of_use(in->immediate, use));
    ck_assert_uint_eq(rbuf_standing_in_arrived(peer, use), 1);
    for (unsigned i = 0; i < RBUF_EARLY_SLOTS; i++) { /* the place's next one is announced */
        rbuf_standing_in_over(peer, use + i);
        rbuf_standing_in_tell(peer, true);
        ck_assert_uint_ne(rbuf_standing_in_announced(peer, 50000), 0);
    }
    rbuf_core_immediate(core, rbuf_immediate_of_use(in->immediate, use));
    ck_assert_uint_eq(rbuf_standing_in_arrived(peer, use + RBUF_EARLY_SLOTS), 0);
    rbuf_core_immediate(core, rbuf_immediate_of_use(in->immediate, use + RBUF_EARLY_SLOTS));
    ck_assert_uint_eq(rbuf_standing_in_arrived(peer, use + RBUF_EARLY_SLOTS), 1);
    ck_assert_uint_eq(core->stats.messages_refused, 0);
    rbuf_core_immediate(core, rbuf_immediate_of_lane(in->number, core->standing.lent + 1));
    rbuf_core_immediate(core, rbuf_immediate_of_lane(in->number + 1, core->standing.lent));
    ck_assert_uint_eq(core->stats.messages_refused, 2);
    rbuf_standing_in_over(peer, use + RBUF_EARLY_SLOTS);
    world_settle(world);
    world_close(world);
}
END_TEST

/* Without order what is under way may fall on what is written later: a place whose last head was
 * not taken up is not used while chunks of heads are under way. */
START_TEST(places_are_quiet_before_they_are_written_again)
{
    for (unsigned i = 0; i < 2; i++) {
        struct world_options options = world_defaults();
        struct rbuf_standing_out *out;
        struct world *world;
        uint64_t led;

        options.core.arrival = arrivals[i];
        world = world_open(&options);
        for (int n = 0; n < 5; n++) {
            world_send(world, WORLD_PUT, 0, 1, 50000);
            case_run(world);
        }
        world_settle(world);
        out = world->nodes[0].links[1].peer->standing_out;
        led = stats_of(world, 0)->heads_led;
        out->heads[(out->begun + 1) % RBUF_EARLY_SLOTS].state = RBUF_HEAD_WRITTEN;
        out->in_flight++;
        world_send(world, WORLD_PUT, 0, 1, 50000);
        ck_assert_uint_eq(stats_of(world, 0)->heads_led,
                          led + (arrivals[i] != RBUF_ARRIVAL_IMMEDIATE));
        out->in_flight--;
        case_run(world);
        led = stats_of(world, 0)->heads_led;
        world_send(world, WORLD_PUT, 0, 1, 50000);
        ck_assert_uint_eq(stats_of(world, 0)->heads_led, led + 1);
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* With staging for the largest message and no more there is no lane, and with some more there are
 * as many as fit. */
START_TEST(the_arena_comes_first)
{
    struct world_options options = world_defaults();
    uint32_t largest = options.core.schedule.buffers * options.core.schedule.buffer_blocks;
    uint32_t lane = options.core.standing.place_blocks * RBUF_EARLY_SLOTS;

    for (uint32_t lanes = 0; lanes <= 5; lanes++) {
        struct world *world;

        options.receive_bytes = (size_t) (largest + lanes * lane) * 4096;
        world = world_open(&options);
        ck_assert_uint_eq(world->nodes[0].core.standing.lanes, lanes < 4 ? lanes : 4);
        ck_assert_uint_ge(world->nodes[0].core.receive_arena.blocks, largest);
        for (int i = 0; i < 10; i++) {
            world_send(world, WORLD_PUT, 0, 1, 3000000);
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* Lanes that a queue pair's death finds in every state. */
START_TEST(the_peer_dies)
{
    for (uint64_t after = 1; after < 120; after++) {
        for (unsigned channel = 0; channel < RBUF_CHANNELS; channel++) {
            struct world_options options = world_defaults();
            struct world *world;
            const char *left;

            options.tick_ns = 20000;
            options.nodes = 3;
            options.core.arrival = arrivals[after % 2];
            options.core.standing.peers = 1;
            world = world_open(&options);
            world->nodes[0].links[1].end[channel].die_after = after;
            for (int i = 0; i < 30; i++) {
                world_send(world, WORLD_PUT, 0, 1, 20000 + 3000 * i);
                world_send(world, WORLD_PUT, 2, 1, 20000 + 3000 * i);
            }
            ck_assert_int_eq(world_run(world), WORLD_DONE);
            world_settle(world);
            left = world_leftover(world);
            ck_assert_msg(left == NULL, "%s", left);
            world_close(world);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standing");

    unit_add(suite, heads_of_every_length);
    unit_add(suite, the_round_trip_is_hidden);
    unit_add(suite, the_call_opens_the_head);
    unit_add(suite, many_at_once);
    unit_add(suite, mistaken_heads_are_declined);
    unit_add(suite, few_credits_for_announcements);
    unit_add(suite, a_lane_is_lent_before_its_time);

    unit_add(suite, who_wants_no_heads_gets_none);
    unit_add(suite, lanes_move);
    unit_add(suite, announcements_of_heads_in_vain);
    unit_add(suite, places_are_quiet_before_they_are_written_again);
    unit_add(suite, the_arena_comes_first);
    unit_add(suite, the_peer_dies);
    return unit_run(suite);
}
