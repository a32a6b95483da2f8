/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Pieces ahead: pieces that wait for their names and names that wait for their pieces, receivers
 * that are late, few buffers and credits, peers that are lost, and names that make no sense.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "case.h"
#include "core/ahead.h"
#include "unit.h"

static struct world_options packed_options(void)
{
    struct world_options options = world_defaults();

    options.ahead = 3;
    options.piece_bytes = 1000;
    options.core.pieces_kept = 8;
    return options;
}

static const struct rbuf_stats *stats_of(const struct world *world, unsigned node)
{
    return &world->nodes[node].core.stats;
}

/* Messages of fewer pieces than are sent ahead, of as many, and of more. */
START_TEST(messages_of_every_length)
{
    struct world_options options = packed_options();
    struct world *world = world_open(&options);
    unsigned count = 0;

    for (uint64_t bytes = 1; bytes < 6000; bytes += 333, count++) {
        world_send(world, WORLD_PACKED, 0, 1, bytes);
        case_run(world);
        case_settle(world);
    }
    ck_assert_uint_eq(stats_of(world, 0)->heralds, count);
    ck_assert_uint_eq(stats_of(world, 0)->heralds_late, 0);
    case_close(world);
}
END_TEST

/* What is heralded is there sooner by about a round trip, less what the pieces are sent for. */
START_TEST(the_round_trip_is_hidden)
{
    uint64_t took[2];

    for (unsigned on = 0; on < 2; on++) {
        struct world_options options = packed_options();
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
        ck_assert_uint_gt(stats_of(world, 0)->heralds, 5);
        case_close(world);
    }
}
END_TEST

/* Nobody answers in time: heralds become rare, and come again when there is an answer. */
START_TEST(late_receivers)
{
    struct world_options options = packed_options();
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
    heralds = stats_of(world, 0)->heralds;
    ck_assert_uint_ge(heralds, 8);
    ck_assert_uint_le(heralds, 12);
    ck_assert_uint_eq(stats_of(world, 0)->heralds_late, heralds);
    world->options.late = 0;
    for (unsigned i = 0; i < 200; i++) {
        world_send(world, WORLD_PACKED, 0, 1, 5000);
        case_run(world);
    }
    ck_assert_uint_ge(stats_of(world, 0)->heralds, heralds + 130);
    case_close(world);
}
END_TEST

/* The processor of one side sleeps, so that names come long after their pieces, or the pieces all
 * at once; no receive buffer but the few that may be is kept meanwhile. */
START_TEST(sleepers)
{
    for (unsigned kept = 0; kept < 4; kept++) {
        struct world_options options = packed_options();
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
        struct world_options options = packed_options();
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
        struct world_options options = packed_options();
        struct world *world;

        options.core.window[RBUF_FLOW_BULK] = window;
        world = world_open(&options);
        world_send(world, WORLD_PACKED, 0, 1, 9000);
        case_run(world);
        ck_assert_uint_eq(stats_of(world, 0)->heralds, window == 8);
        case_close(world);
    }
}
END_TEST

/* The numbers of sets wrap, and the receiver keeps up with them. */
START_TEST(numbers_wrap)
{
    static const uint32_t sets[] = {0x3ffffff0u, 0x7ffffff0u, 0xbffffff0u, 0xfffffff0u};
    struct world_options options = packed_options();
    struct world *world = world_open(&options);

    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        world->nodes[0].links[1].peer->ahead_out.set = sets[i];
        for (unsigned j = 0; j < 40; j++) {
            world_send(world, WORLD_PACKED, 0, 1, 5000);
            case_run(world);
        }
    }
    ck_assert_uint_eq(stats_of(world, 0)->heralds, 160);
    ck_assert_uint_eq(stats_of(world, 0)->heralds_late, 0);
    case_close(world);
}
END_TEST

/* ---- what no peer of ours sends ---- */

struct step {
    enum rbuf_message_kind kind;
    enum rbuf_channel_id channel;
    uint32_t set;
    uint32_t number;
    uint32_t before_set; /* of a name */
    uint32_t before_number;
};

struct message {
    struct rbuf_message_header header;
    struct rbuf_naming naming;
    unsigned char payload[32];
};

/* Node 1 receives a message of node 0 in a buffer that is nobody's; true if it keeps that. */
static bool receive(struct world *world, const struct step *step)
{
    static struct rbuf_buffer *buffer;
    struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    const uint64_t name = rbuf_piece_name(step->set, step->number);
    const uint64_t before = rbuf_piece_name(step->before_set, step->before_number);
    static struct message message;
    bool names = step->kind == RBUF_MESSAGE_NAMES;

    if (buffer == NULL) {
        buffer = sim_allocate(sizeof(*buffer));
    }
    message = (struct message){.header = {.after = name,
                                          .peer = peer->index,
                                          .kind = (uint8_t) step->kind,
                                          .sequence = peer->sequence_in},
                               .naming = {.name = name, .before = before, .bytes = 16}};
    return rbuf_core_received(&world->nodes[1].core, step->channel, buffer, &message,
                              names ? offsetof(struct message, payload) : sizeof(message));
}

#define STEPS 7u

enum expected {
    EXPECT_KEPT,    /* the last step is */
    EXPECT_DROPPED, /* it is not, and that is no offence */
    EXPECT_REFUSED, /* nor is it, and the peer lives */
    EXPECT_LOST     /* the peer is lost */
};

/* A name says which one is before it: its number, of the same set unless that is said too. */
#define PIECE(set, number)        RBUF_MESSAGE_PIECE, RBUF_BULK, set, number, 0, 0
#define FIRST(set, number)        RBUF_MESSAGE_NAMES, RBUF_CONTROL, set, number, 0, 0
#define NAME(set, number, before) RBUF_MESSAGE_NAMES, RBUF_CONTROL, set, number, set, before
#define NAME_AFTER(set, number, before_set, before)                                                \
    RBUF_MESSAGE_NAMES, RBUF_CONTROL, set, number, before_set, before
#define NAMED_FIRST(set, number)   RBUF_MESSAGE_NAMED, RBUF_BULK, set, number, 0, 0
#define NAMED(set, number, before) RBUF_MESSAGE_NAMED, RBUF_BULK, set, number, set, before
#define LATE(set)                  RBUF_MESSAGE_LATE, RBUF_CONTROL, set, 0, 0, 0 /* node 1 is */

static const struct {
    struct step step[STEPS];
    enum expected expected;
    unsigned delivered;
} sequences[] = {
    {{{PIECE(1, 0)}}, EXPECT_KEPT, 0},
    {{{PIECE(1, 0)}, {PIECE(1, 1)}}, EXPECT_KEPT, 0},
    {{{PIECE(1, 0)}, {FIRST(1, 0)}}, EXPECT_DROPPED, 1},
    {{{FIRST(1, 0)}}, EXPECT_DROPPED, 0}, /* copied: it waits */
    {{{FIRST(1, 0)}, {PIECE(1, 0)}}, EXPECT_KEPT, 1},
    {{{FIRST(1, 0)}, {NAME(1, 1, 0)}, {PIECE(1, 0)}}, EXPECT_KEPT, 1},
    {{{FIRST(1, 0)}, {NAME(1, 1, 0)}, {PIECE(1, 0)}, {PIECE(1, 1)}}, EXPECT_KEPT, 2},
    {{{PIECE(1, 0)}, {FIRST(1, 1)}, {PIECE(1, 1)}}, EXPECT_KEPT, 1}, /* one is passed over */
    {{{FIRST(1, 1)}, {PIECE(1, 0)}, {PIECE(1, 1)}}, EXPECT_KEPT, 1},
    {{{PIECE(1, 1)}, {FIRST(1, 1)}, {PIECE(1, 2)}, {NAME(1, 2, 1)}}, EXPECT_DROPPED, 2},

    /* Pieces that bring their names along are handed up in their turn, no sooner and no later. */
    {{{NAMED_FIRST(1, 0)}}, EXPECT_KEPT, 1},
    {{{NAMED_FIRST(1, 0)}, {NAMED(1, 1, 0)}}, EXPECT_KEPT, 2},
    {{{PIECE(1, 0)}, {NAMED(1, 1, 0)}}, EXPECT_KEPT, 0},
    {{{PIECE(1, 0)}, {NAMED(1, 1, 0)}, {FIRST(1, 0)}}, EXPECT_DROPPED, 2},
    {{{FIRST(1, 0)}, {PIECE(1, 0)}, {NAMED(1, 1, 0)}}, EXPECT_KEPT, 2},
    {{{FIRST(1, 0)}, {NAME(1, 2, 1)}, {PIECE(1, 0)}, {NAMED(1, 1, 0)}}, EXPECT_KEPT, 2},
    {{{FIRST(1, 0)}, {NAME(1, 2, 1)}, {PIECE(1, 0)}, {NAMED(1, 1, 0)}, {PIECE(1, 2)}},
     EXPECT_KEPT,
     3},
    {{{PIECE(1, 0)}, {NAMED(1, 1, 0)}, {PIECE(1, 2)}, {FIRST(1, 0)}, {NAME(1, 2, 1)}},
     EXPECT_DROPPED,
     3},

    /* What is before such a piece, and is not named till then, is never named. */
    {{{NAMED_FIRST(1, 0)}, {PIECE(1, 1)}, {NAMED(1, 2, 0)}}, EXPECT_KEPT, 2},
    {{{PIECE(1, 0)}, {NAMED_FIRST(2, 0)}}, EXPECT_KEPT, 1},
    {{{PIECE(1, 0)}, {NAMED(1, 1, 1)}}, EXPECT_KEPT, 0},

    /* The next set, also before the last one has come. */
    {{{NAMED_FIRST(1, 0)}, {PIECE(2, 0)}, {NAME_AFTER(2, 0, 1, 0)}}, EXPECT_DROPPED, 2},
    {{{FIRST(1, 0)}, {NAME_AFTER(2, 0, 1, 0)}, {PIECE(1, 0)}, {PIECE(2, 0)}}, EXPECT_KEPT, 2},

    /* A set that the receiver is late for. What is named of the sets before may come later. */
    {{{PIECE(1, 0)}, {LATE(1)}}, EXPECT_DROPPED, 0},
    {{{LATE(1)}, {PIECE(1, 0)}}, EXPECT_DROPPED, 0},
    {{{LATE(1)}, {FIRST(1, 0)}}, EXPECT_LOST, 0},
    {{{FIRST(1, 0)}, {LATE(2)}, {PIECE(1, 0)}}, EXPECT_KEPT, 1},
    {{{FIRST(1, 0)}, {LATE(2)}, {PIECE(1, 0)}, {NAMED(1, 1, 0)}}, EXPECT_KEPT, 2},
    {{{FIRST(1, 0)}, {LATE(2)}, {PIECE(1, 0)}, {PIECE(2, 0)}}, EXPECT_DROPPED, 1},
    {{{NAMED_FIRST(1, 0)}, {LATE(2)}, {PIECE(2, 0)}, {NAME_AFTER(3, 0, 1, 0)}, {PIECE(3, 0)}},
     EXPECT_KEPT,
     2},

    {{{LATE(1)}, {NAME(2, 1, 0)}, {PIECE(1, 0)}, {NAMED_FIRST(2, 0)}, {PIECE(2, 1)}},
     EXPECT_KEPT,
     2},

    /* What no peer of ours sends. */
    {{{PIECE(0, 0)}}, EXPECT_REFUSED, 0},
    {{{NAMED_FIRST(0, 7)}}, EXPECT_REFUSED, 0},
    {{{RBUF_MESSAGE_PIECE, RBUF_CONTROL, 1, 0, 0, 0}}, EXPECT_REFUSED, 0},
    {{{RBUF_MESSAGE_NAMED, RBUF_CONTROL, 1, 0, 0, 0}}, EXPECT_REFUSED, 0},
    {{{RBUF_MESSAGE_NAMES, RBUF_BULK, 1, 0, 0, 0}}, EXPECT_REFUSED, 0},
    {{{RBUF_MESSAGE_HERALD, RBUF_BULK, 0, 1, 0, 0}}, EXPECT_REFUSED, 0},
    {{{RBUF_MESSAGE_HERALD, RBUF_CONTROL, 0, 0, 0, 0}}, EXPECT_REFUSED, 0},
    {{{RBUF_MESSAGE_HERALD, RBUF_CONTROL, 4000, 0, 0, 0}}, EXPECT_REFUSED, 0},
    {{{FIRST(0, 7)}}, EXPECT_LOST, 0},
    {{{PIECE(1, 0)}, {PIECE(1, 0)}}, EXPECT_LOST, 0},
    {{{PIECE(2, 0)}, {PIECE(1, 0)}}, EXPECT_LOST, 0},
    {{{PIECE(1, 1)}, {PIECE(1, 0)}}, EXPECT_LOST, 0},
    {{{FIRST(1, 0)}, {FIRST(1, 0)}}, EXPECT_LOST, 0},
    {{{FIRST(1, 0)}, {PIECE(1, 1)}}, EXPECT_LOST, 0},
    {{{PIECE(1, 1)}, {FIRST(1, 0)}}, EXPECT_LOST, 0},
    {{{NAMED_FIRST(1, 0)}, {FIRST(1, 0)}}, EXPECT_LOST, 1},
    {{{PIECE(1, 0)}, {FIRST(1, 0)}, {NAME(1, 0, 0)}}, EXPECT_LOST, 1},
};

/* Node 1 takes the steps; whether it keeps the last one's buffer. */
static bool take_steps(struct world *world, const struct step *steps)
{
    struct rbuf_peer *peer = world->nodes[1].links[0].peer;
    bool kept = false;

    for (unsigned i = 0; i < STEPS && steps[i].kind != 0; i++) {
        if (steps[i].kind == RBUF_MESSAGE_LATE) {
            const struct rbuf_delivery delivery = {
                .herald = steps[i].set,
                .began = (uint16_t) world->nodes[1].core.stats.messages_sent};

            rbuf_ahead_in_heralded(peer, &delivery);
            kept = false;
        } else {
            kept = receive(world, &steps[i]);
        }
    }
    return kept;
}

START_TEST(sequences_of_names)
{
    for (unsigned i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
        const enum expected expected = sequences[i].expected;
        struct world_options options = packed_options();
        struct world *world = world_open(&options);
        bool kept = take_steps(world, sequences[i].step);
        bool lost = world->nodes[1].links[0].peer->state == RBUF_PEER_FAILED;

        ck_assert_msg(lost || kept == (expected == EXPECT_KEPT), "row %u: kept", i);
        ck_assert_msg(lost == (expected == EXPECT_LOST), "row %u: lost", i);
        ck_assert_msg((stats_of(world, 1)->messages_refused != 0) == (expected >= EXPECT_REFUSED),
                      "row %u: refused", i);
        ck_assert_msg(stats_of(world, 1)->messages_received == sequences[i].delivered,
                      "row %u: %" PRIu64 " delivered", i, stats_of(world, 1)->messages_received);
        world_close(world);
    }
}
END_TEST

/* Several names come in one message, each with its own header. */
START_TEST(names_in_one_message)
{
    static const struct {
        uint32_t pieces; /* that are here */
        struct rbuf_naming naming[4];
        uint32_t bytes;
        unsigned delivered;
        enum expected expected;
    } rows[] = {
        {4,
         {{.name = 1}, {.name = 2, .before = 1}, {.name = 3, .before = 2}},
         3 * 64,
         3,
         EXPECT_DROPPED},
        {2,
         {{.name = 1}, {.name = 2, .before = 1}, {.name = 3, .before = 2}},
         3 * 64,
         2,
         EXPECT_DROPPED},
        {4, {{.name = 1}, {.name = 2, .before = 1}}, 2 * 64 - 1, 0, EXPECT_REFUSED},
        {4, {{.name = 1}, {.name = 2, .before = 1}}, 2 * 64 + 8, 0, EXPECT_REFUSED},
        {4, {{.name = 1}}, 0, 0, EXPECT_DROPPED},
        {4, {{.name = 1}, {.name = 1, .before = 1}}, 2 * 64, 1, EXPECT_LOST},
        {4, {{.name = 1, .bytes = RBUF_NAMING_BYTES + 1}, {.name = 2}}, 2 * 64, 0, EXPECT_LOST},
        {4, {{.name = 1}, {.name = 2, .bytes = 255}}, 2 * 64, 1, EXPECT_LOST},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world_options options = packed_options();
        struct world *world = world_open(&options);
        struct rbuf_peer *peer = world->nodes[1].links[0].peer;
        struct {
            struct rbuf_message_header header;
            struct rbuf_naming naming[4];
        } message = {.header = {.peer = peer->index,
                                .kind = RBUF_MESSAGE_NAMES,
                                .sequence = peer->sequence_in}};

        for (uint32_t j = 0; j < rows[i].pieces; j++) {
            ck_assert(receive(world, &(struct step){PIECE(1, j)}));
        }
        for (unsigned j = 0; j < 4; j++) { /* the rows count from 1 */
            message.naming[j] = rows[i].naming[j];
            message.naming[j].name += rbuf_piece_name(1, 0) - 1;
            message.naming[j].before +=
                message.naming[j].before > 0 ? rbuf_piece_name(1, 0) - 1 : 0;
        }
        ck_assert(!rbuf_core_received(&world->nodes[1].core, RBUF_CONTROL, NULL, &message,
                                      (uint32_t) sizeof(message.header) + rows[i].bytes));
        ck_assert_msg(stats_of(world, 1)->messages_received == rows[i].delivered, "row %u", i);
        ck_assert_msg((stats_of(world, 1)->messages_refused != 0) ==
                          (rows[i].expected >= EXPECT_REFUSED),
                      "row %u", i);
        ck_assert_msg((peer->state == RBUF_PEER_FAILED) == (rows[i].expected == EXPECT_LOST),
                      "row %u", i);
        world_close(world);
    }
}
END_TEST

/* Sets go round and round though not one name is told, and the first that is told is believed. */
START_TEST(sets_of_named_pieces_go_round)
{
    struct world_options options = packed_options();
    struct world *world = world_open(&options);
    struct step step = {NAMED_FIRST(1, 0)};
    struct step told = {PIECE(1, 0)};

    for (unsigned i = 0; i < 30; i++) {
        ck_assert(receive(world, &step));
        step.before_set = step.set;
        step.set += 1u << 29;
        ck_assert_uint_eq(stats_of(world, 1)->messages_received, i + 1);
    }
    told.set = step.set;
    ck_assert(receive(world, &told));
    told = step;
    told.kind = RBUF_MESSAGE_NAMES;
    told.channel = RBUF_CONTROL;
    (void) receive(world, &told);
    ck_assert_uint_eq(stats_of(world, 1)->messages_received, 31);
    world_close(world);
}
END_TEST

/* A peer has no more pieces under way than it has credits for. */
START_TEST(pieces_without_credit)
{
    struct world_options options = packed_options();
    struct world *world;

    options.core.window[RBUF_FLOW_BULK] = 4;
    world = world_open(&options);
    for (uint32_t i = 0; i < 5; i++) {
        const struct step step = {PIECE(1, i)};

        ck_assert(receive(world, &step) == (i < 4));
    }
    ck_assert_int_eq(world->nodes[1].links[0].peer->state, RBUF_PEER_FAILED);
    ck_assert_uint_eq(world->nodes[1].core.pieces_kept, 0);
    world_close(world);
}
END_TEST

/* The user may name a later piece than the next: the set is over with its last one. */
START_TEST(pieces_are_passed_over)
{
    static const struct {
        uint32_t named;
        bool all;
    } steps[] = {{0, false}, {2, false}, {4, true}};
    struct world_options options = packed_options();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;
    struct message herald = {0}, pieces[5] = {0};
    struct rbuf_am am[6] = {{.header = &herald.header, .bytes = 20}};

    (void) rbuf_ahead_herald(peer, &am[0]);
    for (unsigned i = 0; i < 5; i++) {
        am[1 + i] = (struct rbuf_am){.header = &pieces[i].header, .bytes = 60};
        (void) rbuf_ahead_piece(peer, &am[1 + i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t name = rbuf_piece_name(peer->ahead_out.set, steps[i].named);

        ck_assert(rbuf_ahead_name(peer, name, 1, "header", 6));
        ck_assert_int_eq(rbuf_ahead_all_named(peer), steps[i].all);
    }
    world_close(world);
}
END_TEST

/* Sends the next piece, and its name. */
static void send_and_name(struct rbuf_peer *peer, struct rbuf_am *am, struct message *piece)
{
    *am = (struct rbuf_am){.header = &piece->header, .bytes = 60};
    (void) rbuf_ahead_piece(peer, am);
    ck_assert(rbuf_ahead_name(peer, am->after, 1, "header", 6));
}

/* A peer that is lost while names for it wait, or that goes. */
START_TEST(lost_before_names_are_told)
{
    for (unsigned removed = 0; removed < 2; removed++) {
        struct world_options options = packed_options();
        struct world *world = world_open(&options);
        struct rbuf_core *core = &world->nodes[0].core;
        struct rbuf_peer *peer = world->nodes[0].links[1].peer;
        struct message herald = {0}, piece = {0};
        struct rbuf_am am[2] = {{.header = &herald.header, .bytes = 20}};

        peer->queue[RBUF_CONTROL]->inline_max = 1024;
        (void) rbuf_ahead_herald(peer, &am[0]);
        send_and_name(peer, &am[1], &piece);
        ck_assert_ptr_eq(core->names.peer, peer);
        if (removed) {
            rbuf_ahead_out_drop(peer); /* as rbuf_peer_remove() does */
        } else {
            rbuf_peer_fail(peer, -ECONNRESET);
            ck_assert(!rbuf_ahead_name(peer, am[1].after, 1, "header", 6));
        }
        ck_assert_ptr_null(core->names.peer);
        rbuf_ahead_tell(core);
        ck_assert_uint_eq(core->stats.names_sent, 0);
        world_close(world);
    }
}
END_TEST

/* Names wait for each other, until there is no room for one more or they are told; and none stays
 * behind the next herald. */
START_TEST(names_go_together)
{
    static const struct {
        uint32_t inlined; /* bytes */
        unsigned names;
    } requests[] = {{1024, RBUF_NAMES_MOST}, {24 + 3 * 64, 3}, {24 + 3 * 64 - 1, 2}, {24 + 64, 1}};

    for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        const unsigned most = requests[i].names;
        struct world_options options = packed_options();
        struct world *world = world_open(&options);
        struct rbuf_peer *peer = world->nodes[0].links[1].peer;
        struct message herald = {0}, pieces[9] = {0};
        struct rbuf_am am[10] = {{.header = &herald.header, .bytes = 20}};

        peer->queue[RBUF_CONTROL]->inline_max = requests[i].inlined;
        ck_assert(rbuf_ahead_may(peer));
        (void) rbuf_ahead_herald(peer, &am[0]);
        for (unsigned j = 0; j < 9; j++) {
            send_and_name(peer, &am[1 + j], &pieces[j]);
            ck_assert_uint_eq(peer->sequence_out, 1 + (j + 1) / most);
        }
        rbuf_ahead_end(peer);
        (void) rbuf_ahead_herald(peer, &am[0]);
        ck_assert_uint_eq(peer->sequence_out, 2 + (9 + most - 1) / most);
        send_and_name(peer, &am[1], &pieces[0]);
        rbuf_ahead_tell(&world->nodes[0].core);
        ck_assert_uint_eq(peer->sequence_out, 3 + (9 + most - 1) / most);
        rbuf_ahead_end(peer);
        peer->queue[RBUF_CONTROL]->inline_max = 24 + 63;
        ck_assert(!rbuf_ahead_may(peer));
        world_close(world);
    }
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
    unit_add(suite, sequences_of_names);
    unit_add(suite, names_in_one_message);
    unit_add(suite, sets_of_named_pieces_go_round);
    unit_add(suite, pieces_are_passed_over);
    unit_add(suite, names_go_together);
    unit_add(suite, lost_before_names_are_told);
    unit_add(suite, pieces_without_credit);
    return unit_run(suite);
}
