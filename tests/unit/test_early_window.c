/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Windows for early data: which peers have one, what becomes of it when it is asked back, of its
 * sequence numbers, and of what is under way when a peer is lost. (How the arena has room for
 * windows is test_staging.c's.)
 */
#include <errno.h>

#include "core/stage/flag.h"
#include "early.h"

static struct world_options three_nodes(int arrival)
{
    struct world_options options = world_defaults();

    options.nodes = 3;
    options.core.early.peers = 1;
    options.core.arrival = early_arrivals[arrival];
    return options;
}

/* Node 2 sends to node 1, which leases it the window that node 0 has: as soon as that is idle. */
static void ask_back(struct world *world)
{
    early_stats(world, 1)->rts_received += 1000;
    for (int i = 0; i < 2; i++) {
        world_send(world, WORLD_PUT, 2, 1, 1000);
        world_settle(world);
        world->nodes[1].unexpected = NULL; /* if there are to be no receives now */
    }
    ck_assert_uint_eq(early_stats(world, 1)->early_recalled, 1);
}

/* One window, several peers: it is whose turn it is, and messages of the others go without. */
START_TEST(windows_move)
{
    struct world_options options = three_nodes(_i);
    struct world *world = world_open(&options);

    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 40; i++) {
            world_send(world, WORLD_PUT, round % 2 == 0 ? 0 : 2, 1, 50000);
            world_settle(world);
        }
        ck_assert_uint_eq(early_stats(world, 1)->early_leased, round + 1);
        ck_assert_uint_eq(inspect_windows_out(&world->nodes[1].core), 1);
    }
    ck_assert_uint_eq(early_stats(world, 1)->early_recalled, 5);
    ck_assert_uint_eq(early_stats(world, 1)->early_corrected, 0);
    case_run(world);
    case_close(world);
}
END_TEST

/* What a slot is in when its window is asked back. */
enum { UNCLAIMED, CLAIMED, ASKED, TAKEN, UNWRITTEN, PACKED, KINDS };

/* The sender may go on, and the receiver is through with the first block of the second chunk, which
 * has three: its window is free when the others are there, too. */
static void run_until_free(struct world *world)
{
    const struct rbuf_arena *arena = &world->nodes[1].core.receive_arena;
    const uint32_t seq = early_newest(world);
    const uint32_t last = rbuf_early_in_block(early_receiver(world), seq) + 3;
    const uint64_t use = rbuf_early_in_flag(early_receiver(world), seq) + 3;
    const enum rbuf_proof proof = rbuf_arrival_proof(rbuf_peer_arrival(early_receiver(world)));
    uint64_t flag;

    world_wake(&world->nodes[0]);
    while (inspect_has_window(early_receiver(world))) {
        ck_assert(sim_step(&world->net.clock));
    }
    memcpy(&flag, rbuf_arena_block(arena, last) + EARLY_PAYLOAD, sizeof(flag));
    ck_assert(rbuf_flag_is(proof, flag, use));
}

/* The window is free in the end, and the messages are right. */
START_TEST(asked_back_with_something_in_a_slot)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct world_options options = three_nodes(_i);
        struct world *world = early_open(&options);
        struct rbuf_arena *arena = &world->nodes[0].core.send_arena;
        struct world_message *held;
        struct rbuf_offer offer;
        uint32_t first;

        if (kind == UNWRITTEN) {
            ck_assert(rbuf_arena_take(arena, arena->blocks, &first));
        }
        held = early_held(
            world, world_send(world, kind == PACKED ? WORLD_PACKED : WORLD_PUT, 0, 1, 100000));
        ck_assert_uint_ne(early_newest(world), 0);
        if (kind == CLAIMED) {
            offer = early_grant(world, held, early_newest(world));
        } else if (kind != PACKED) {
            offer =
                early_grant_for(world, held, kind == UNWRITTEN ? EARLY_PAYLOAD + 100 : held->bytes,
                                RBUF_EARLY_UNKNOWN);
        }
        if (kind == TAKEN || kind == UNWRITTEN) {
            early_put(world, held, &offer);
        }
        ask_back(world);
        if (kind == UNWRITTEN) {
            world_settle(world);
            rbuf_arena_give(arena, first, arena->blocks);
            run_until_free(world);
        }
        if (kind == PACKED) {
            ck_assert(inspect_has_window(early_receiver(world)));
            world->nodes[1].unexpected = held;
            world_expect(world, 1);
        } else if (kind != TAKEN && kind != UNWRITTEN) {
            early_put(world, held, &offer);
        }
        case_run(world);
        world_settle(world);
        ck_assert(!inspect_has_window(early_receiver(world)));
        ck_assert_uint_eq(early_stats(world, 0)->early_dropped,
                          kind == UNCLAIMED || kind == CLAIMED || kind == ASKED);
        case_close(world);
    }
}
END_TEST

/* Packed data that no fragment will take up hold no window. */
START_TEST(packed_data_that_are_given_up)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        struct world_options options = three_nodes(_i);
        struct world *world = early_open(&options);
        struct world_message *held =
            early_held(world, world_send(world, WORLD_PACKED, 0, 1, 100000));

        ck_assert_ptr_nonnull(held->packed.early);
        if (kind == 0) {
            rbuf_early_close(early_sender(world), held->packed.early);
            world_settle(world);
        }
        ask_back(world);
        if (kind == 1) {
            ck_assert(inspect_has_window(early_receiver(world)));
            rbuf_early_close(early_sender(world), held->packed.early);
        }
        world->nodes[0].links[1].packing = NULL;
        world_settle(world);
        ck_assert(!inspect_has_window(early_receiver(world)));
        ck_assert_int_eq(early_receiver(world)->state, RBUF_PEER_CONNECTED);
        world_close_message(held, WORLD_ARRIVED);
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* A deferred grant has claimed what was dropped since; then the window goes, and the grant gets its
 * lane before it is corrected. */
START_TEST(claims_of_a_window_that_is_gone)
{
    for (unsigned again = 0; again < 2; again++) { /* is another window leased? */
        struct world_options options = three_nodes(_i);
        struct world *world = early_open(&options);
        struct early_receives receives;
        struct world_message *held[2];
        struct rbuf_offer offer;

        held[0] = early_hold(world, 400000); /* which the place of a window has no room for */
        early_take_staging(world, &receives);
        offer = early_grant(world, held[0], early_newest(world));
        ck_assert_int_eq(held[0]->grant->state, RBUF_GRANT_DEFERRED);
        rbuf_early_forget(early_sender(world), held[0]->source);
        held[1] = early_hold(world, 30000);
        rbuf_early_forget(early_sender(world), held[1]->source);
        world->options.late = 1;
        ask_back(world);
        ck_assert(!inspect_has_window(early_receiver(world)));
        for (unsigned i = 0; again != 0 && i < 2; i++) {
            (void) early_hold(world, 100);
        }
        ck_assert_int_eq(inspect_has_window(early_receiver(world)), again != 0);
        world->options.late = 0;
        ck_assert_int_eq(held[0]->grant->state, RBUF_GRANT_DEFERRED);
        early_give_staging(world, &receives);
        world_settle(world);
        ck_assert_int_eq(held[0]->grant->state, RBUF_GRANT_STAGED);
        early_put(world, held[0], &offer);
        world_settle(world);
        early_arrived(held[0]);
        ck_assert_uint_eq(early_stats(world, 1)->early_corrected, 1);
        world_close(world);
    }
}
END_TEST

/* ---- sequence numbers ---- */

/* A window is asked back before its numbers come again, and the next one begins with small ones. */
START_TEST(numbers_retire)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.core.arrival = early_arrivals[_i];
    world = world_open(&options);
    inspect_number_windows(early_receiver(world), (1u << 31) - 40);
    for (unsigned i = 0; i < 300; i++) {
        struct world_message *held;

        early_expected(world, 1, 50000);
        held = early_hold(world, 60000);
        early_answer(world, held, RBUF_EARLY_UNKNOWN);
        early_arrived(held);
    }
    ck_assert_uint_eq(early_stats(world, 1)->early_recalled, 1);
    ck_assert_uint_eq(early_stats(world, 1)->early_leased, 2);
    ck_assert_uint_lt(inspect_slot_seq(early_receiver(world), 0), 1u << 21);
    ck_assert_uint_gt(early_stats(world, 1)->early_claimed, 280);
    ck_assert_uint_gt(early_stats(world, 1)->early_late, 280);
    case_close(world);
}
END_TEST

/* The slot's next uses are dropped, by both sides' account. */
static void drop_uses(struct world *world, uint32_t slot, uint32_t uses)
{
    uint32_t seq = inspect_slot_seq(early_receiver(world), slot);

    for (uint32_t i = 0; i < uses; i++) {
        seq += RBUF_EARLY_SLOTS;
        ck_assert(rbuf_early_in_rts(early_receiver(world), rbuf_rts_argument(seq, 100)));
        if (i % 1000 == 0) {
            world_wake(&world->nodes[1]);
            world_settle(world);
        }
    }
    inspect_drop_uses(early_sender(world), slot, uses);
}

/* A report that stood in the mailbox for as many uses as its bits count says nothing of the newest
 * one, of the first window and of a later one. */
START_TEST(old_reports_are_not_believed)
{
    static const uint32_t before[] = {0, 65400, 65534, 131000};

    for (size_t i = 0; i < 2 * sizeof(before) / sizeof(before[0]); i++) {
        struct world_options options = world_defaults();
        struct world *world = world_open(&options);
        struct world_message *held;
        struct rbuf_offer offer;
        uint32_t before_drop; /* uses of slot 0 */
        uint32_t use;         /* that the report has by mistake */

        inspect_number_windows(early_receiver(world), before[i / 2] * RBUF_EARLY_SLOTS);
        early_expected(world, 2, 50000);
        before_drop = inspect_slot_seq(early_receiver(world), 0) / RBUF_EARLY_SLOTS % 65536;
        use = i % 2 == 0 ? 0 : before_drop;
        drop_uses(world, 0, (use + 65535 - before_drop) % 65536);
        held = early_hold(world, 100000);
        ck_assert_uint_eq(early_newest(world) / RBUF_EARLY_SLOTS % 65536, use);
        offer = early_grant(world, held, early_newest(world));
        early_put(world, held, &offer);
        (void) world_send(world, WORLD_PUT, 0, 1, 30000);
        ck_assert_uint_eq(early_newest(world) % RBUF_EARLY_SLOTS, 1); /* 0 is not used again */
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* Chunks are counted for the use whose they are, whether their RTS is here or not. */
START_TEST(arrivals_before_and_behind_their_rts)
{
    struct world *world = early_open_arriving(2);
    struct rbuf_peer *peer = early_receiver(world);
    struct rbuf_core *core = &world->nodes[1].core;
    const uint32_t seq = inspect_slot_seq(peer, 0) + RBUF_EARLY_SLOTS;
    const uint32_t immediate = inspect_early_immediate(peer, seq);
    const uint32_t next = inspect_early_immediate(peer, seq + RBUF_EARLY_SLOTS);
    const uint64_t refused = core->stats.messages_refused;

    rbuf_core_immediate(core, immediate);
    ck_assert_uint_eq(rbuf_early_in_arrived(peer, seq), 1);
    ck_assert(rbuf_early_in_rts(peer, rbuf_rts_argument(seq, 40000)));
    ck_assert_uint_eq(rbuf_early_in_arrived(peer, seq), 1);
    rbuf_core_immediate(core, immediate);
    ck_assert_uint_eq(rbuf_early_in_arrived(peer, seq), 2);
    ck_assert_uint_eq(rbuf_early_in_arrived(peer, seq + RBUF_EARLY_SLOTS), 0);
    ck_assert(rbuf_early_in_rts(peer, rbuf_rts_argument(seq + RBUF_EARLY_SLOTS, 40000)));
    rbuf_core_immediate(core, immediate); /* of the one before */
    ck_assert_uint_eq(rbuf_early_in_arrived(peer, seq + RBUF_EARLY_SLOTS), 0);
    rbuf_core_immediate(core, next);
    ck_assert_uint_eq(rbuf_early_in_arrived(peer, seq + RBUF_EARLY_SLOTS), 1);
    ck_assert_uint_eq(core->stats.messages_refused, refused);
    rbuf_core_immediate(core, immediate ^ 1); /* no such window */
    rbuf_core_immediate(core, immediate ^ 1u << 6);
    ck_assert_uint_eq(core->stats.messages_refused, refused + 2);
    world_close(world);
}
END_TEST

/* ---- peers that are lost ---- */

/* A mixture of everything is under way, and after some steps one side loses the other. */
START_TEST(lost_at_any_time)
{
    for (unsigned steps = 1; steps < 1500; steps += 23) {
        struct world_options options = three_nodes(_i);
        struct world *world;

        options.late = 2;
        options.aside = steps % 2 == 0;
        options.core.grant_wait_ns = 20000;
        options.receive_bytes = 300 * 4096;
        options.tick_ns = 20000;
        world = world_open(&options);
        for (unsigned i = 0; i < 30; i++) {
            world_send(world, i % 5 == 4 ? WORLD_PACKED : WORLD_PUT, 2 * (i / 10 % 2), 1,
                       20000 + 7000 * i);
            if (i % 7 == 0) {
                world_settle(world);
            }
        }
        for (unsigned i = 0; i < steps && sim_step(&world->net.clock); i++) {
        }
        world_lose(&world->nodes[steps % 2], 1 - steps % 2, -ECONNRESET);
        world_wake(&world->nodes[steps % 2]);
        world_settle(world);
        for (struct world_message *message = world->messages; message != NULL;
             message = message->next) {
            ck_assert(message->from != 0 || message->state != WORLD_OPEN);
        }
        ck_assert_uint_eq(world->corrupt, 0);
        ck_assert_uint_eq(world->overwrites, 0);
        world_close(world);
    }
}
END_TEST

/* A peer is removed while grants have its early data: nothing of it is left behind. */
START_TEST(removed_with_claims)
{
    struct world_options options = world_defaults();
    struct world *world = early_open(&options);
    struct world_message *held[RBUF_EARLY_SLOTS];
    struct rbuf_core *core = &world->nodes[1].core;

    for (unsigned i = 0; i < RBUF_EARLY_SLOTS; i++) {
        held[i] = early_hold(world, 50000);
        (void) early_grant(world, held[i], early_newest(world));
    }
    world_settle(world);
    for (unsigned i = 0; i < RBUF_EARLY_SLOTS; i++) {
        held[i]->grant = NULL; /* it is closed with the peer */
    }
    rbuf_peer_remove(early_receiver(world));
    sim_unmap(world->nodes[1].links[0].mailbox);
    world->nodes[1].links[0].peer = NULL;
    ck_assert(TAILQ_EMPTY(&core->busy));
    ck_assert_uint_eq(inspect_windows_out(core), 0);
    ck_assert_uint_eq(core->receive_arena.free_blocks, core->receive_arena.blocks);
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early_window");

    unit_add_loop(suite, windows_move, EARLY_ARRIVALS);
    unit_add_loop(suite, asked_back_with_something_in_a_slot, EARLY_ARRIVALS);
    unit_add_loop(suite, packed_data_that_are_given_up, EARLY_ARRIVALS);
    unit_add_loop(suite, claims_of_a_window_that_is_gone, EARLY_ARRIVALS);
    unit_add_loop(suite, numbers_retire, EARLY_ARRIVALS);
    unit_add(suite, old_reports_are_not_believed);
    unit_add(suite, arrivals_before_and_behind_their_rts);
    unit_add_loop(suite, lost_at_any_time, EARLY_ARRIVALS);
    unit_add(suite, removed_with_claims);
    return unit_run(suite);
}
