/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Windows of rendezvous both ways, where it takes the processor time to start a message and to act
 * on one: what lets data move does not wait behind the rendezvous that stand before it, in events,
 * in a ring or in a queue, and neither do data.
 */
#include <errno.h>

#include "case.h"
#include "inspect/eager.h"
#include "unit.h"

enum { WINDOW = 64, ROUNDS = 4 };

static struct world_options busy_processors(void)
{
    struct world_options options = world_defaults();

    options.core.ring = (struct rbuf_ring_options){
        .slots = 64, .slot_bytes = 2048, .set = 4, .threshold = 8, .longest = 30000};
    options.copy_bytes_per_ns = 9;
    options.begin_ns = 300;
    options.deliver_ns = 700;
    return options;
}

/* The messages of a window, in order, by sender. */
struct exchange {
    struct world_message *messages[2][WINDOW];
    uint64_t ns; /* that it took */
};

static void run(struct world *world, enum world_kind kind, uint64_t bytes,
                struct exchange *exchange)
{
    const uint64_t start = world_now(world);

    for (unsigned i = 0; i < WINDOW; i++) {
        for (unsigned from = 0; from < 2; from++) {
            exchange->messages[from][i] = world_begin(world, kind, from, 1 - from, bytes);
        }
    }
    case_run(world);
    exchange->ns = world_now(world) - start;
}

/* Messages of the other that a node has answered when its own first answer is acted on. */
static unsigned answered_before_put(const struct exchange *exchange, unsigned node)
{
    const uint64_t put_ns = exchange->messages[node][0]->put_ns;
    unsigned count = 0;

    for (unsigned i = 0; i < WINDOW; i++) {
        count += exchange->messages[1 - node][i]->offered_ns <= put_ns;
    }
    return count;
}

static void check_order(const struct exchange *exchange)
{
    for (unsigned from = 0; from < 2; from++) {
        for (unsigned i = 1; i < WINDOW; i++) {
            ck_assert_uint_gt(exchange->messages[from][i]->offered_ns,
                              exchange->messages[from][i - 1]->offered_ns);
        }
    }
}

/* The wire is idle while the first messages are started, and not while the rest is answered. At
 * most `most` are answered before the first put: more where answers stand behind early data. */
static void check_window(const struct world_options *options, enum world_kind kind, uint64_t bytes,
                         unsigned most)
{
    const double line = (double) bytes / options->model.bytes_per_ns;
    struct world *world = world_open(options);
    struct exchange exchange;

    for (int i = 0; i < ROUNDS; i++) {
        run(world, kind, bytes, &exchange);
        check_order(&exchange);
    }
    for (unsigned node = 0; node < 2; node++) {
        ck_assert_uint_le(answered_before_put(&exchange, node), most);
    }
    ck_assert_double_lt((double) exchange.ns,
                        WINDOW * (line * 1.01 + (double) options->begin_ns) + 20000);
    case_close(world);
}

START_TEST(the_first_answer_is_not_the_last)
{
    const uint64_t sizes[] = {32768, 65536};

    for (int i = 0; i < 2; i++) {
        struct world_options options = busy_processors();

        check_window(&options, WORLD_PUT, sizes[i], WINDOW * 3 / 4);
        check_window(&options, WORLD_DIRECT, sizes[i], WINDOW / 4);
    }
}
END_TEST

/* The rendezvous take all credits, which come back by halves of a window. */
START_TEST(nor_without_rings)
{
    struct world_options options = busy_processors();

    options.core.ring.slots = 0;
    check_window(&options, WORLD_PUT, 65536, WINDOW * 3 / 4);
}
END_TEST

/* Rendezvous that found no credit stand in the queue of the sender, who answers others. */
START_TEST(nor_in_the_queue_of_the_sender)
{
    struct world_options options = busy_processors();

    options.core.ring.slots = 0;
    options.core.window[RBUF_CONTROL] = 8;
    check_window(&options, WORLD_PUT, 65536, WINDOW / 4);
}
END_TEST

/* What is matched stays in its order: the world sees that eager messages keep theirs, and none has
 * overtaken a rendezvous. */
START_TEST(eager_messages_do_not_go_ahead)
{
    struct world_options options = busy_processors();
    struct world *world = world_open(&options);
    struct exchange exchange;

    run(world, WORLD_PUT, 32768, &exchange);
    for (unsigned i = 0; i < WINDOW; i++) {
        for (unsigned from = 0; from < 2; from++) {
            exchange.messages[from][i] = world_begin(world, i % 4 == 3 ? WORLD_EAGER : WORLD_PUT,
                                                     from, 1 - from, i % 4 == 3 ? 8 : 32768);
        }
    }
    case_run(world);
    for (unsigned from = 0; from < 2; from++) {
        for (unsigned i = 3; i < WINDOW; i += 4) {
            const struct world_message *eager = exchange.messages[from][i];

            if (eager->channel == RBUF_CONTROL) {
                ck_assert_uint_ge(eager->arrived_ns, exchange.messages[from][i - 1]->offered_ns);
            }
        }
    }
    case_close(world);
}
END_TEST

/* Kinds of the messages that are queued there, in order. */
static void check_queue(const struct rbuf_peer *peer, enum rbuf_channel_id channel,
                        const enum rbuf_message_kind *kinds, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ck_assert_uint_eq(inspect_waiting_kind(peer, channel, i), kinds[i]);
    }
    ck_assert_uint_eq(inspect_waiting_kind(peer, channel, count), 0);
}

/* Without credits all queue. On the bulk channel nothing goes ahead: an EARLY ends fragments. */
START_TEST(queues_are_in_order)
{
    static const enum rbuf_message_kind control[] = {RBUF_MESSAGE_ANSWER, RBUF_MESSAGE_EARLY,
                                                     RBUF_MESSAGE_ANSWER, RBUF_MESSAGE_RTS,
                                                     RBUF_MESSAGE_RTS};
    static const enum rbuf_message_kind bulk[] = {RBUF_MESSAGE_FRAGMENT, RBUF_MESSAGE_EARLY};
    static const enum rbuf_message_kind sent[] = {RBUF_MESSAGE_RTS, RBUF_MESSAGE_ANSWER,
                                                  RBUF_MESSAGE_RTS, RBUF_MESSAGE_ANSWER};
    struct rbuf_message_header header;
    struct rbuf_am ams[5] = {{.header = &header}};
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;
    const struct rbuf_early_data data = {.seq = 1};
    struct rbuf_event event;

    rbuf_credit_connected(peer, RBUF_FLOW_CONTROL, 0, 0);
    rbuf_credit_connected(peer, RBUF_FLOW_BULK, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        ams[i].header = &header;
        ck_assert_int_eq(rbuf_am_send_as(peer, &ams[i], sent[i], 0), RBUF_AM_QUEUED);
        if (i == 1) {
            rbuf_early_name(peer, 1, &data);
        }
    }
    check_queue(peer, RBUF_CONTROL, control, 5);
    ams[4].header = &header;
    ams[4].channel = RBUF_BULK;
    ck_assert_int_eq(rbuf_am_send_as(peer, &ams[4], RBUF_MESSAGE_FRAGMENT, 0), RBUF_AM_QUEUED);
    rbuf_early_close(peer, &data);
    check_queue(peer, RBUF_BULK, bulk, 2);
    rbuf_peer_fail(peer, -ECONNRESET);
    while (rbuf_events_pop(&world->nodes[0].core.events, &event)) {
    }
    world_close(world);
}
END_TEST

/* An EARLY stays behind the RTS of what it names, and what would go ahead, such as the FIN of that
 * put, behind the EARLY. Then all go ahead again. */
START_TEST(names_do_not_overtake_their_rts)
{
    static const enum rbuf_message_kind together[] = {RBUF_MESSAGE_ANSWER, RBUF_MESSAGE_RTS,
                                                      RBUF_MESSAGE_EARLY,  RBUF_MESSAGE_ANSWER,
                                                      RBUF_MESSAGE_EARLY,  RBUF_MESSAGE_RTS};
    static const enum rbuf_message_kind ahead[] = {RBUF_MESSAGE_ANSWER, RBUF_MESSAGE_EARLY,
                                                   RBUF_MESSAGE_EARLY, RBUF_MESSAGE_RTS,
                                                   RBUF_MESSAGE_RTS};
    struct rbuf_message_header header;
    struct rbuf_am ams[5];
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;
    const struct rbuf_early_data waits = {.seq = 9};
    const struct rbuf_early_data sent = {.seq = 8};
    struct rbuf_event event;

    rbuf_credit_connected(peer, RBUF_FLOW_CONTROL, 0, 0);
    for (unsigned i = 0; i < 5; i++) {
        ams[i] = (struct rbuf_am){.header = &header};
    }
    (void) rbuf_am_send_as(peer, &ams[0], RBUF_MESSAGE_RTS, rbuf_rts_argument(9, 1000));
    (void) rbuf_am_send_as(peer, &ams[1], RBUF_MESSAGE_RTS, RBUF_RTS_PLAIN);
    (void) rbuf_am_send_as(peer, &ams[2], RBUF_MESSAGE_ANSWER, 0);
    rbuf_early_name(peer, 1, &waits);
    (void) rbuf_am_send_as(peer, &ams[3], RBUF_MESSAGE_ANSWER, 1);
    rbuf_early_name(peer, 2, &sent);
    check_queue(peer, RBUF_CONTROL, together, 6);
    ck_assert(inspect_waits_behind_rts(peer));
    rbuf_credit_connected(peer, RBUF_FLOW_CONTROL, 3, 0); /* up to the EARLY */
    ck_assert_int_gt(rbuf_channel_progress(peer), 0);
    check_queue(peer, RBUF_CONTROL, together + 3, 3);
    ck_assert(!inspect_waits_behind_rts(peer));
    (void) rbuf_am_send_as(peer, &ams[4], RBUF_MESSAGE_RTS, 0);
    rbuf_early_name(peer, 3, NULL);
    check_queue(peer, RBUF_CONTROL, ahead, 5);
    rbuf_peer_fail(peer, -ECONNRESET);
    ck_assert(!inspect_waits_behind_rts(peer));
    while (rbuf_events_pop(&world->nodes[0].core.events, &event)) {
    }
    world_close(world);
}
END_TEST

/* Nobody progresses between two messages that a program starts. */
START_TEST(data_leave_while_messages_are_started)
{
    struct world_options options = busy_processors();
    const struct rbuf_stats *stats;
    struct exchange exchange;
    struct world *world;
    uint64_t bytes, sent;

    options.core.early.slot_blocks = 10;
    world = world_open(&options);
    stats = &world->nodes[0].core.stats;
    run(world, WORLD_PUT, 32768, &exchange); /* the window is leased */
    case_settle(world);
    bytes = stats->staged_bytes;
    sent = stats->early_sent;
    for (unsigned i = 0; i < WINDOW; i++) {
        world_send(world, WORLD_PUT, 0, 1, 32768);
    }
    ck_assert_uint_eq(stats->early_sent, sent + RBUF_EARLY_SLOTS);
    ck_assert_uint_eq(stats->staged_bytes, bytes + RBUF_EARLY_SLOTS * 32768ull);
    case_run(world);
    case_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("window");

    unit_add(suite, the_first_answer_is_not_the_last);
    unit_add(suite, nor_without_rings);
    unit_add(suite, nor_in_the_queue_of_the_sender);
    unit_add(suite, eager_messages_do_not_go_ahead);
    unit_add(suite, queues_are_in_order);
    unit_add(suite, names_do_not_overtake_their_rts);
    unit_add(suite, data_leave_while_messages_are_started);
    return unit_run(suite);
}
