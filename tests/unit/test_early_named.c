/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data whose receives are late, or which were claimed by another receive: the sender names
 * them, and corrects who is wrong.
 */
#include "early.h"

enum { HELD = RBUF_EARLY_SLOTS, ORDERS = 24 };

/* The i-th order of HELD messages. */
static void order_of(unsigned i, unsigned order[HELD])
{
    bool taken[HELD] = {false};

    for (unsigned place = 0; place < HELD; place++) {
        unsigned which = i % (HELD - place);

        i /= HELD - place;
        for (unsigned j = 0; j < HELD; j++) {
            if (!taken[j] && which-- == 0) {
                taken[order[place] = j] = true;
                break;
            }
        }
    }
}

/* Receives come in every order, of several lengths, one after the other or at once: each gets the
 * early data of its message, and no byte is sent twice. */
START_TEST(receives_in_any_order)
{
    static const uint64_t lengths[] = {100000, 8000, EARLY_BYTES, 30000};
    struct world *world = early_open_arriving(_i);
    uint64_t bytes = 2 * 50000;

    for (unsigned i = 0; i < 2 * ORDERS; i++) {
        struct world_message *held[HELD];
        unsigned order[HELD];

        order_of(i / 2, order);
        for (unsigned j = 0; j < HELD; j++) {
            held[j] = early_hold(world, lengths[j]);
            bytes += lengths[j];
        }
        for (unsigned j = 0; j < HELD; j++) {
            const bool unclaimed = inspect_has_unclaimed(early_receiver(world));
            const struct rbuf_offer offer = early_grant(world, held[order[j]], RBUF_EARLY_UNKNOWN);

            ck_assert_uint_eq(offer.ask, unclaimed);
            ck_assert_uint_eq(offer.early, 0);
            early_put(world, held[order[j]], &offer);
            if (i % 2 == 0) {
                world_settle(world);
                early_arrived(held[order[j]]);
            }
        }
        case_run(world);
        world_settle(world);
    }
    /* A slot whose release is not reported yet is not used at times. */
    ck_assert_uint_ge(early_stats(world, 0)->early_sent, 2 * ORDERS * HELD - 4);
    ck_assert_uint_eq(early_stats(world, 0)->early_named, early_stats(world, 0)->early_sent);
    early_sent_once(world, bytes);
    case_close(world);
}
END_TEST

/* Nothing is unclaimed: nobody asks. */
START_TEST(nobody_asks_for_nothing)
{
    struct world_options options = world_defaults();
    struct world *world = early_open(&options);
    struct world_message *held = early_hold(world, 50000);
    const uint32_t seq = early_newest(world);
    struct rbuf_offer offer = early_grant(world, held, seq);

    ck_assert_uint_eq(offer.early, seq);
    ck_assert_uint_eq(offer.ask, 0);
    ck_assert(!inspect_has_unclaimed(early_receiver(world)));
    early_put(world, held, &offer);
    world_settle(world);
    early_arrived(held);
    held = early_hold(world, 50000); /* and early data that are nobody's: asked for, none named */
    world->options.core.early.peers = 0;
    offer = early_grant(world, held, RBUF_EARLY_UNKNOWN);
    ck_assert_uint_eq(offer.ask, 1);
    early_put(world, held, &offer);
    case_run(world);
    case_close(world);
}
END_TEST

/* The receive is shorter than the message, and perhaps than its early data. */
static const uint64_t shorter[] = {1,
                                   100,
                                   EARLY_PAYLOAD,
                                   EARLY_PAYLOAD + 1,
                                   20000,
                                   EARLY_BYTES - 1,
                                   EARLY_BYTES,
                                   EARLY_BYTES + 1,
                                   60000};

START_TEST(receives_shorter_than_messages)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        struct world *world = early_open_arriving(_i);

        for (size_t i = 0; i < sizeof(shorter) / sizeof(shorter[0]); i++) {
            struct world_message *held = early_hold(world, 100000);
            const struct rbuf_offer offer = early_grant_for(
                world, held, shorter[i], kind == 0 ? early_newest(world) : RBUF_EARLY_UNKNOWN);

            early_put(world, held, &offer);
            case_run(world);
            world_settle(world);
        }
        ck_assert_uint_eq(early_stats(world, 1)->early_corrected, 0);
        case_close(world);
    }
}
END_TEST

/* The same when the sender had no staging for its early data before the put: it writes no more of
 * them than is wanted, since the receiver frees the slot when it has that. */
START_TEST(shorter_receives_of_data_not_written)
{
    for (size_t i = 0; i < sizeof(shorter) / sizeof(shorter[0]); i++) {
        struct world *world = early_open_arriving(_i);
        struct rbuf_arena *arena = &world->nodes[0].core.send_arena;
        const uint64_t sent = early_stats(world, 0)->staged_bytes;
        struct world_message *held;
        struct rbuf_offer offer;
        uint32_t first;

        ck_assert(rbuf_arena_take(arena, arena->blocks, &first));
        held = early_hold(world, 100000);
        ck_assert_uint_ne(early_newest(world), 0);
        rbuf_arena_give(arena, first, arena->blocks);
        offer = early_grant_for(world, held, shorter[i], RBUF_EARLY_UNKNOWN);
        early_put(world, held, &offer);
        case_run(world);
        world_settle(world);
        ck_assert_uint_le(early_stats(world, 0)->staged_bytes - sent,
                          shorter[i] + 5 * EARLY_PAYLOAD); /* the rest of a chunk */
        case_close(world);
    }
}
END_TEST

/* ---- wrong claims ---- */

enum { OWN, NONE, OTHER, CLAIMS };

static uint32_t claim_of(int claim, uint32_t own, uint32_t other)
{
    return claim == OWN ? own : claim == NONE ? 0 : other;
}

/* Two messages, with early data both, are claimed in every wrong way; offers reach the sender in
 * either order, before or after the wrong bytes were copied out. */
START_TEST(claims_of_others)
{
    static const uint64_t lengths[] = {100000, 20000};

    for (unsigned kind = 0; kind < CLAIMS * CLAIMS * 4; kind++) {
        const int claims[2] = {(int) (kind % CLAIMS), (int) (kind / CLAIMS % CLAIMS)};
        const bool at_once = kind / CLAIMS / CLAIMS % 2 == 0;
        const unsigned first = kind / CLAIMS / CLAIMS / 2;
        struct world *world = early_open_arriving(_i);
        struct world_message *held[2];
        struct rbuf_offer offers[2];
        uint32_t seq[2];

        for (unsigned i = 0; i < 2; i++) {
            held[i] = early_hold(world, lengths[i]);
            seq[i] = early_newest(world);
        }
        for (unsigned i = 0; i < 2; i++) {
            offers[i] = early_grant(world, held[i], claim_of(claims[i], seq[i], seq[1 - i]));
        }
        if (!at_once) {
            world_settle(world);
        }
        for (unsigned i = 0; i < 2; i++) {
            early_put(world, held[i ^ first], &offers[i ^ first]);
        }
        case_run(world);
        world_settle(world);
        ck_assert_uint_eq(early_stats(world, 1)->early_corrected,
                          (claims[0] == OTHER) + (claims[1] == OTHER));
        case_close(world);
    }
}
END_TEST

/* The grant's state when the correction comes. */
enum { STAGED, PLACED, DEFERRED, RTR_UNDER_WAY, REGISTERING, DIRECT, STATES };

/* Brings the grant of a held message to that state, and starts the put that corrects it. */
static void start_put(struct world *world, int state, struct world_message *held,
                      struct rbuf_offer *offer, struct early_receives *receives)
{
    struct rbuf_core *core = &world->nodes[1].core;

    switch (state) {
    case PLACED:
        world_settle(world);
        ck_assert_int_eq(held->grant->state, RBUF_GRANT_PLACED);
        early_put(world, held, offer);
        break;
    case RTR_UNDER_WAY:
        early_put(world, held, offer);
        early_give_staging(world, receives);
        (void) rbuf_core_progress(core, core->now_ns); /* the two messages cross */
        ck_assert_int_eq(held->grant->state, RBUF_GRANT_STAGED);
        break;
    case REGISTERING:
        early_put(world, held, offer);
        (void) rbuf_core_progress(core, core->now_ns + 2000);
        ck_assert_int_eq(held->grant->state, RBUF_GRANT_REGISTERING);
        break;
    case DIRECT:
        (void) rbuf_core_progress(core, core->now_ns + 2000);
        world_wake(&world->nodes[1]);
        world_settle(world);
        ck_assert_int_eq(held->grant->state, RBUF_GRANT_DIRECT);
        early_put(world, held, offer);
        break;
    default:
        early_put(world, held, offer);
        break;
    }
}

/* What is right: other early data, or none. */
static void correct_in(int state, bool named, int arrival)
{
    struct world_options options = world_defaults();
    struct world_message *held[2];
    struct early_receives receives = {.count = 0};
    struct rbuf_offer offer;
    struct world *world;
    uint32_t seq;

    options.core.arrival = early_arrivals[arrival];
    options.core.grant_wait_ns = state == REGISTERING || state == DIRECT ? 1000 : 0;
    world = early_open(&options);
    held[0] = early_hold(world, 30000);
    seq = early_newest(world);
    held[1] = named ? early_hold(world, state == PLACED ? 20000 : 100000)
                    : early_hold_without(world, state == PLACED ? 20000 : 100000);
    ck_assert_int_eq(early_newest(world) != 0, named);
    if (state >= DEFERRED) {
        early_take_staging(world, &receives);
    }
    offer = early_grant(world, held[1], seq);
    ck_assert_int_eq(offer.mode, state >= DEFERRED ? RBUF_OFFER_DEFERRED : RBUF_OFFER_STAGED);
    start_put(world, state, held[1], &offer, &receives);
    world_settle(world);
    ck_assert_uint_eq(early_stats(world, 1)->early_corrected, 1);
    if (state == DEFERRED) {
        ck_assert_int_eq(held[1]->grant->state, RBUF_GRANT_DEFERRED);
        early_give_staging(world, &receives);
        world_settle(world);
    }
    early_arrived(held[1]);
    early_give_staging(world, &receives);
    early_answer(world, held[0], RBUF_EARLY_UNKNOWN); /* its early data are there still */
    early_arrived(held[0]);
    ck_assert_uint_eq(early_stats(world, 0)->early_dropped, 0);
    case_close(world);
}

START_TEST(corrected_in_every_state)
{
    for (int state = 0; state < STATES; state++) {
        correct_in(state, true, _i);
        correct_in(state, false, _i);
    }
}
END_TEST

/* An RTR that was sent before the correction came is of no use; it comes before or after the put
 * was started. */
START_TEST(an_rtr_that_is_too_old)
{
    for (unsigned early = 0; early < 2; early++) {
        struct world_options options = world_defaults();
        struct world *world = early_open(&options);
        struct rbuf_peer *sender = early_sender(world);
        struct world_message *held[2] = {early_hold(world, 30000), NULL};
        const uint32_t wrong = early_newest(world);
        struct rbuf_offer offer, old;

        held[1] = early_hold(world, 100000);
        offer = early_grant(world, held[1], wrong);
        old = offer;
        offer.mode = RBUF_OFFER_DEFERRED;
        if (early == 0) {
            rbuf_put_granted(sender, &old);
            ck_assert_uint_eq(inspect_unexpected_rtrs(sender), 1);
        }
        early_put(world, held[1], &offer);
        if (early != 0) {
            rbuf_put_granted(sender, &old);
        }
        ck_assert_uint_eq(inspect_unexpected_rtrs(sender), 0);
        ck_assert(inspect_is_ungranted(&held[1]->put));
        world_settle(world);
        early_arrived(held[1]);
        early_answer(world, held[0], RBUF_EARLY_UNKNOWN);
        case_run(world);
        case_close(world);
    }
}
END_TEST

/* ---- what asks for early data is not staged yet ---- */

START_TEST(answers_in_every_state)
{
    for (int state = DEFERRED; state < STATES; state++) {
        struct world_options options = world_defaults();
        struct early_receives receives;
        struct rbuf_offer offer;
        struct rbuf_core *core;
        struct world_message *held;
        struct world *world;

        options.core.arrival = early_arrivals[_i];
        options.core.grant_wait_ns = state == REGISTERING || state == DIRECT ? 1000 : 0;
        world = early_open(&options);
        core = &world->nodes[1].core;
        held = early_hold(world, 100000);
        early_take_staging(world, &receives);
        offer = early_grant(world, held, RBUF_EARLY_UNKNOWN);
        ck_assert_int_eq(offer.mode, RBUF_OFFER_DEFERRED);
        ck_assert_uint_eq(offer.ask, 1);
        if (state == REGISTERING) {
            early_put(world, held, &offer);
        }
        if (state == RTR_UNDER_WAY || state == DIRECT) { /* before the put */
            if (state == RTR_UNDER_WAY) {
                early_give_staging(world, &receives);
            }
            (void) rbuf_core_progress(core, core->now_ns + 2000);
            world_wake(&world->nodes[1]);
            world_settle(world);
        }
        if (state != REGISTERING) {
            early_put(world, held, &offer);
            world_settle(world);
        } else {
            (void) rbuf_core_progress(core, core->now_ns + 2000);
            ck_assert_int_eq(held->grant->state, RBUF_GRANT_REGISTERING);
        }
        if (state == DEFERRED) {
            ck_assert(inspect_was_named(held->grant));
            early_give_staging(world, &receives);
        }
        world_settle(world);
        early_arrived(held);
        ck_assert_uint_eq(early_stats(world, 1)->early_late, 1);
        ck_assert_uint_eq(inspect_slots_held(early_receiver(world)), 0);
        ck_assert(!inspect_has_unclaimed(early_receiver(world)));
        early_give_staging(world, &receives);
        case_close(world);
    }
}
END_TEST

/* ---- messages that end without a put ---- */

enum { BYTES = 50000 };

/* Of the same memory, which has other bytes by now: with early data of its own, or without. */
START_TEST(stale_data_are_nobodys)
{
    static unsigned char source[BYTES];

    for (unsigned kind = 0; kind < 4; kind++) {
        const bool own = kind % 2 == 0;
        const bool claims = kind / 2 == 0;
        struct world *world = early_open_arriving(_i);
        struct world_message *stale = early_hold_from(world, source, BYTES, 5);
        const uint32_t old = early_newest(world);
        struct world_message *message;

        message = own ? early_hold_from(world, source, BYTES, 6)
                      : early_hold_from_without(world, source, BYTES, 6);
        ck_assert_int_eq(early_newest(world) != 0, own);
        if (!claims || own) {
            const struct rbuf_offer offer =
                early_grant(world, message, claims ? early_newest(world) : RBUF_EARLY_UNKNOWN);

            early_put_from(world, message, &offer, source);
        } else {
            const struct rbuf_offer offer = early_grant(world, message, 0);

            early_put_from(world, message, &offer, source);
        }
        world_settle(world);
        early_arrived(message);
        ck_assert(inspect_holds_early(early_receiver(world), old));
        world_close_message(stale, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* A message with early data and one without, of one memory, and an older one that is stale: its
 * data are neither one's, whichever is put first. */
START_TEST(stale_data_are_nobodys_behind_others)
{
    static unsigned char source[BYTES];

    for (unsigned first = 0; first < 2; first++) {
        struct world *world = early_open_arriving(_i);
        struct world_message *stale = early_hold_from(world, source, BYTES, 5);
        struct world_message *held[2];
        struct rbuf_offer offers[2];

        held[0] = early_hold_from(world, source, BYTES, 6);
        offers[0] = early_grant(world, held[0], early_newest(world));
        held[1] = early_hold_from_without(world, source, BYTES, 6);
        offers[1] = early_grant(world, held[1], RBUF_EARLY_UNKNOWN);
        for (unsigned i = 0; i < 2; i++) {
            early_put_from(world, held[i ^ first], &offers[i ^ first], source);
            world_settle(world);
        }
        early_arrived(held[0]);
        early_arrived(held[1]);
        world_close_message(stale, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* Of a message that is put elsewhere, which says so; of a part of a later one. */
START_TEST(data_that_are_given_up)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        static unsigned char source[2 * BYTES];
        struct world *world = early_open_arriving(_i);
        struct world_message *stale = early_hold_from(world, source + BYTES, BYTES, 5);
        struct world_message *message;

        if (kind == 0) {
            rbuf_early_forget(early_sender(world), source + BYTES);
            message = early_hold_from(world, source + BYTES, BYTES, 6);
            ck_assert_uint_eq(early_stats(world, 0)->early_dropped, 1);
        } else {
            message = early_hold_from(world, source, 2 * BYTES, 6);
            ck_assert_uint_eq(early_stats(world, 0)->early_dropped, 1);
            ck_assert_ptr_null(rbuf_early_take(early_sender(world), source + BYTES, 0));
        }
        {
            const struct rbuf_offer offer = early_grant(world, message, RBUF_EARLY_UNKNOWN);

            early_put_from(world, message, &offer, kind == 0 ? source + BYTES : source);
        }
        world_settle(world);
        early_arrived(message);
        world_close_message(stale, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* A one-sided put in place, from memory of which a message is under way, says that it takes no
 * early data; nor may it have that message take those of one before it, which are stale. The
 * message has early data of its own, or none. */
START_TEST(a_one_sided_put_leaves_no_stale_data)
{
    static unsigned char source[BYTES];

    for (unsigned kind = 0; kind < 2; kind++) {
        struct world *world = early_open_arriving(_i);
        struct world_message *stale = early_hold_from(world, source, BYTES, 5);
        struct world_message *message;

        message = kind == 0 ? early_hold_from(world, source, BYTES, 6)
                            : early_hold_from_without(world, source, BYTES, 6);
        rbuf_early_forget(early_sender(world), source);
        {
            const struct rbuf_offer offer = early_grant(world, message, RBUF_EARLY_UNKNOWN);

            early_put_from(world, message, &offer, source);
        }
        world_settle(world);
        early_arrived(message);
        ck_assert_uint_eq(world->corrupt, 0);
        world_close_message(stale, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* Data that nobody takes are dropped after some hundred messages, and their slots used again; a
 * receive that comes then gets the whole message. */
START_TEST(data_that_age)
{
    struct world *world = early_open_arriving(_i);
    struct world_message *held[HELD];

    for (unsigned i = 0; i < HELD; i++) {
        held[i] = early_hold(world, 50000);
    }
    early_expected(world, 200, 50000);
    ck_assert_uint_eq(early_stats(world, 0)->early_dropped, 0);
    early_expected(world, 200, 50000);
    ck_assert_uint_gt(early_stats(world, 0)->early_dropped, 0);
    ck_assert_uint_gt(early_stats(world, 1)->early_claimed, 100);
    for (unsigned i = 0; i < HELD; i++) {
        early_answer(world, held[i], RBUF_EARLY_UNKNOWN);
        early_arrived(held[i]);
    }
    case_close(world);
}
END_TEST

/* All slots but one wait for receives: the messages that are expected meanwhile have the last one,
 * each as soon as the one before has left it. */
START_TEST(one_slot_beside_those_that_wait)
{
    struct world *world = early_open_arriving(_i);
    struct world_message *held[HELD - 1];
    const unsigned expected = 20;
    uint64_t bytes = (2 + HELD - 1 + expected) * 50000;
    uint64_t sent;

    for (unsigned i = 0; i < HELD - 1; i++) {
        held[i] = early_hold(world, 50000);
    }
    sent = early_stats(world, 0)->early_sent;
    early_expected(world, expected, 50000);
    ck_assert_uint_eq(early_stats(world, 0)->early_sent, sent + expected);
    for (unsigned i = 0; i < HELD - 1; i++) {
        early_answer(world, held[i], RBUF_EARLY_UNKNOWN);
        early_arrived(held[i]);
    }
    early_sent_once(world, bytes);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early_named");

    unit_add_loop(suite, receives_in_any_order, EARLY_ARRIVALS);
    unit_add(suite, nobody_asks_for_nothing);
    unit_add_loop(suite, receives_shorter_than_messages, EARLY_ARRIVALS);
    unit_add_loop(suite, shorter_receives_of_data_not_written, EARLY_ARRIVALS);
    unit_add_loop(suite, claims_of_others, EARLY_ARRIVALS);
    unit_add_loop(suite, corrected_in_every_state, EARLY_ARRIVALS);
    unit_add(suite, an_rtr_that_is_too_old);
    unit_add_loop(suite, answers_in_every_state, EARLY_ARRIVALS);
    unit_add_loop(suite, stale_data_are_nobodys, EARLY_ARRIVALS);
    unit_add_loop(suite, stale_data_are_nobodys_behind_others, EARLY_ARRIVALS);
    unit_add_loop(suite, data_that_are_given_up, EARLY_ARRIVALS);
    unit_add_loop(suite, a_one_sided_put_leaves_no_stale_data, EARLY_ARRIVALS);
    unit_add_loop(suite, data_that_age, EARLY_ARRIVALS);
    unit_add_loop(suite, one_slot_beside_those_that_wait, EARLY_ARRIVALS);
    return unit_run(suite);
}
