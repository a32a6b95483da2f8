/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A queue pair dies, after each of its first 200 requests: every operation ends in exactly one
 * event, all staging comes back, and other peers do not notice.
 */
#include <errno.h>

#include "case.h"
#include "core/eager/channel.h"
#include "unit.h"

#define MOMENTS 200u

static void start_traffic(struct world *world, unsigned one, unsigned other)
{
    for (int i = 0; i < 12; i++) {
        world_send(world, WORLD_PUT, one, other, 37000 + 1751 * i);
        world_send(world, WORLD_PUT, other, one, 33000 + 1751 * i);
        world_send(world, WORLD_COPIED, one, other, 31000 + 1751 * i);
        world_send(world, WORLD_GET, other, one, 31000 + 1751 * i);
        world_send(world, WORLD_PACKED, one, other, 9000 + 1751 * i);
        world_send(world, WORLD_PACKED, other, one, 9000 + 1751 * i);
        world_send(world, WORLD_EAGER, one, other, 500 * i);
        world_send(world, WORLD_EAGER, other, one, 500 * i);
        world_send(world, WORLD_WRITE, one, other, 2250 * i + 1);
        world_send(world, WORLD_READ, other, one, 2250 * i + 1);
        world_send(world, WORLD_ADD, one, other, 8);
    }
}

static void check_ends(const struct world *world)
{
    for (const struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert_uint_eq(message->pending, 0);
        ck_assert_uint_le(message->events, 1);
        ck_assert_int_ne(message->state, WORLD_OPEN);
        if (message->kind != WORLD_EAGER && message->kind != WORLD_PUT &&
            message->kind != WORLD_COPIED && message->kind != WORLD_PACKED) {
            ck_assert_uint_eq(message->events, 1);
        }
    }
}

/* The queue pair of `channel` from node 0 to node 1 dies after so many requests. */
static void die_after(const struct world_options *options, unsigned channel, uint64_t requests)
{
    struct world *world = world_open(options);
    const char *left;

    world->nodes[0].links[1].end[channel].die_after = requests;
    start_traffic(world, 0, 1);
    if (options->nodes > 2) {
        start_traffic(world, 1, 2);
        start_traffic(world, 2, 0);
    }
    ck_assert_int_eq(world_run(world), WORLD_DONE);
    world_settle(world);
    /* What is started afterwards ends at once. */
    start_traffic(world, 0, 1);
    ck_assert_int_eq(world_run(world), WORLD_DONE);
    world_settle(world);
    left = world_leftover(world);
    ck_assert_msg(left == NULL, "after %llu requests: %s", (unsigned long long) requests, left);
    check_ends(world);
    for (const struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert(message->state != WORLD_FAILED || message->from + message->to == 1);
    }
    world_close(world);
}

START_TEST(bulk_dies_and_completes)
{
    struct world_options options = case_busy();

    for (uint64_t requests = 1; requests <= MOMENTS; requests++) {
        die_after(&options, RBUF_BULK, requests);
    }
}
END_TEST

START_TEST(bulk_dies_and_refuses)
{
    struct world_options options = case_busy();

    options.faults.refuse_when_dead = true;
    for (uint64_t requests = 1; requests <= MOMENTS; requests++) {
        die_after(&options, RBUF_BULK, requests);
    }
}
END_TEST

START_TEST(control_dies_and_completes)
{
    struct world_options options = case_busy();

    for (uint64_t requests = 1; requests <= MOMENTS; requests++) {
        die_after(&options, RBUF_CONTROL, requests);
    }
}
END_TEST

START_TEST(control_dies_and_refuses)
{
    struct world_options options = case_busy();

    options.faults.refuse_when_dead = true;
    for (uint64_t requests = 1; requests <= MOMENTS; requests++) {
        die_after(&options, RBUF_CONTROL, requests);
    }
}
END_TEST

START_TEST(gathered_messages)
{
    struct world_options options = case_busy();

    options.gather = true;
    for (uint64_t requests = 1; requests <= MOMENTS; requests += 3) {
        die_after(&options, requests % 2, requests);
        options.faults.refuse_when_dead = !options.faults.refuse_when_dead;
    }
}
END_TEST

START_TEST(held_operations)
{
    struct world_options options = case_busy();

    for (uint64_t requests = 1; requests <= MOMENTS; requests += 3) {
        options.core.rma_order = (enum rbuf_rma_order)(requests % (RBUF_RMA_BOTH + 1));
        die_after(&options, RBUF_BULK, requests);
        options.faults.refuse_when_dead = !options.faults.refuse_when_dead;
    }
}
END_TEST

START_TEST(announced_chunks)
{
    struct world_options options = case_busy();

    options.core.arrival = RBUF_ARRIVAL_IMMEDIATE;
    for (uint64_t requests = 1; requests <= MOMENTS; requests += 3) {
        die_after(&options, RBUF_BULK, requests);
        options.faults.refuse_when_dead = !options.faults.refuse_when_dead;
    }
}
END_TEST

START_TEST(while_registrations_are_asked_for)
{
    struct world_options options = case_busy();

    options.core.grant_wait_ns = 30000;
    options.tick_ns = 5000;
    for (uint64_t requests = 1; requests <= MOMENTS; requests += 3) {
        die_after(&options, requests % 2, requests);
        options.refuse_registration = !options.refuse_registration;
    }
}
END_TEST

START_TEST(other_peers_go_on)
{
    struct world_options options = case_busy();

    options.nodes = 3;
    for (uint64_t requests = 1; requests <= MOMENTS; requests += 7) {
        die_after(&options, requests % 2, requests);
    }
}
END_TEST

/* A peer that is lost while nothing is said is found out by a probe. */
START_TEST(probes_find_a_lost_peer)
{
    for (int refuse = 0; refuse < 2; refuse++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.probe_interval_ns = 1000000;
        options.tick_ns = 50000;
        options.faults.refuse_when_dead = refuse;
        world = world_open(&options);
        world_send(world, WORLD_PUT, 0, 1, 100000);
        case_run(world);
        sim_kill(&world->nodes[0].links[1].end[RBUF_CONTROL]);
        while (!world->nodes[0].links[1].failed && world_now(world) < 50000000) {
            ck_assert(sim_step(&world->net.clock));
        }
        ck_assert(world->nodes[0].links[1].failed);
        world_settle(world);
        world_close(world);
    }
}
END_TEST

/* Who finds a peer lost breaks it: what is queued ends behind the word of it, and that says the
 * cause; a post that failed knows less of it than a completion. */
START_TEST(cause_comes_first)
{
    static const struct {
        int broken, failed; /* 0: the next progress fails it */
        int cause;
    } rows[] = {{-EPROTO, 0, -EPROTO},
                {-ECONNRESET, 0, -ECONNRESET},
                {-ECONNRESET, -ETIMEDOUT, -ETIMEDOUT},
                {-EPROTO, -ETIMEDOUT, -EPROTO}};
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;
    struct rbuf_message_header header = {0};
    struct rbuf_am am = {.header = &header, .channel = RBUF_CONTROL};
    struct rbuf_event event;

    rbuf_peer_break(peer, rows[_i].broken);
    ck_assert_int_eq(rbuf_am_send(peer, &am), RBUF_AM_QUEUED);
    ck_assert(!rbuf_peer_drained(peer));
    ck_assert(!rbuf_events_pop(&core->events, &event));
    if (rows[_i].failed != 0) {
        rbuf_peer_fail(peer, rows[_i].failed);
    } else {
        (void) rbuf_core_progress(core, 1);
    }
    ck_assert(rbuf_events_pop(&core->events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_FAILED);
    ck_assert_int_eq(event.status, rows[_i].cause);
    ck_assert(rbuf_events_pop(&core->events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_SENT);
    ck_assert_ptr_eq(event.am, &am);
    ck_assert(!rbuf_events_pop(&core->events, &event));
    ck_assert(rbuf_peer_drained(peer));
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failure");

    unit_add(suite, bulk_dies_and_completes);
    unit_add(suite, bulk_dies_and_refuses);
    unit_add(suite, control_dies_and_completes);
    unit_add(suite, control_dies_and_refuses);
    unit_add(suite, gathered_messages);
    unit_add(suite, held_operations);
    unit_add(suite, announced_chunks);
    unit_add(suite, while_registrations_are_asked_for);
    unit_add(suite, other_peers_go_on);
    unit_add_loop(suite, cause_comes_first, 4);
    unit_add(suite, probes_find_a_lost_peer);
    return unit_run(suite);
}
