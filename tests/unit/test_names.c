/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The names of pieces, message by message: the orders in which they and their pieces may come, what
 * is dropped, what makes no sense, and how the sender puts them together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

#include "pieces.h"
#include "unit.h"

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
        struct world_options options = pieces_options();
        struct world *world = world_open(&options);
        bool kept = take_steps(world, sequences[i].step);
        bool lost = world->nodes[1].links[0].peer->state == RBUF_PEER_FAILED;

        ck_assert_msg(lost || kept == (expected == EXPECT_KEPT), "row %u: kept", i);
        ck_assert_msg(lost == (expected == EXPECT_LOST), "row %u: lost", i);
        ck_assert_msg((pieces_stats(world, 1)->messages_refused != 0) ==
                          (expected >= EXPECT_REFUSED),
                      "row %u: refused", i);
        ck_assert_msg(pieces_stats(world, 1)->messages_received == sequences[i].delivered,
                      "row %u: %" PRIu64 " delivered", i,
                      pieces_stats(world, 1)->messages_received);
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
        struct world_options options = pieces_options();
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
        ck_assert_msg(pieces_stats(world, 1)->messages_received == rows[i].delivered, "row %u", i);
        ck_assert_msg((pieces_stats(world, 1)->messages_refused != 0) ==
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
    struct world_options options = pieces_options();
    struct world *world = world_open(&options);
    struct step step = {NAMED_FIRST(1, 0)};
    struct step told = {PIECE(1, 0)};

    for (unsigned i = 0; i < 30; i++) {
        ck_assert(receive(world, &step));
        step.before_set = step.set;
        step.set += 1u << 29;
        ck_assert_uint_eq(pieces_stats(world, 1)->messages_received, i + 1);
    }
    told.set = step.set;
    ck_assert(receive(world, &told));
    told = step;
    told.kind = RBUF_MESSAGE_NAMES;
    told.channel = RBUF_CONTROL;
    (void) receive(world, &told);
    ck_assert_uint_eq(pieces_stats(world, 1)->messages_received, 31);
    world_close(world);
}
END_TEST

/* A peer has no more pieces under way than it has credits for. */
START_TEST(pieces_without_credit)
{
    struct world_options options = pieces_options();
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
    struct world_options options = pieces_options();
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
        struct world_options options = pieces_options();
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
        struct world_options options = pieces_options();
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
    Suite *suite = suite_create("names");

    unit_add(suite, sequences_of_names);
    unit_add(suite, names_in_one_message);
    unit_add(suite, sets_of_named_pieces_go_round);
    unit_add(suite, pieces_without_credit);
    unit_add(suite, pieces_are_passed_over);
    unit_add(suite, lost_before_names_are_told);
    unit_add(suite, names_go_together);
    return unit_run(suite);
}
