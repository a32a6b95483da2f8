/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory stays short: from one allocation on each of core's fails. Nothing that core stands for is
 * lost. Each operation ends in its one event, each lost peer is said to be lost before its
 * operations end, and what is not done for want of memory is an error of its peer. test_sweep has
 * each allocation failing once.
 */
#include <errno.h>

#include "case.h"
#include "core/eager/channel.h"
#include "unit.h"

/* ---- allocations ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_sim_allocate(size_t bytes);
void *__real_sim_reallocate(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_sim_allocate(size_t bytes);
void *__wrap_sim_reallocate(void *memory, size_t bytes);

static struct {
    bool core;      /* what allocates is core */
    uint64_t count; /* of core's allocations */
    uint64_t last;  /* so many succeed */
} memory;

static bool fails(void)
{
    return memory.core && ++memory.count > memory.last;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_sim_allocate(size_t bytes)
{
    const bool core = memory.core;
    void *made;

    memory.core = false;
    made = __real_sim_allocate(bytes);
    memory.core = core;
    return made;
}

void *__wrap_sim_reallocate(void *old, size_t bytes)
{
    const bool core = memory.core;
    void *made;

    memory.core = false;
    made = __real_sim_reallocate(old, bytes);
    memory.core = core;
    return made;
}

/* Core has memory for so many allocations more. The test and Check have it again behind the end. */
static void begin_shortage(uint64_t last)
{
    memory.count = 0;
    memory.last = last;
    memory.core = true;
}

static void end_shortage(void)
{
    memory.core = false;
}

/* ---- ends of operations, more than there is room for ---- */

enum { OPERATIONS = 700 /* of each kind */ };

static struct {
    struct rbuf_am am;
    struct rbuf_put put;
    struct rbuf_get get;
    struct rbuf_rma rma;
} started[OPERATIONS];

/* Each kind in turn. Their peer has failed, or is to fail. */
static void start_all(struct rbuf_peer *peer, int first, int behind)
{
    static struct rbuf_message_header header;
    static unsigned char data[64];

    for (int i = first; i < behind; i++) {
        started[i].am = (struct rbuf_am){.header = &header, .channel = RBUF_CONTROL};
        started[i].put = (struct rbuf_put){.source = data};
        started[i].get = (struct rbuf_get){.target = data, .bytes = sizeof(data)};
        started[i].rma = (struct rbuf_rma){.operation = RBUF_FAB_WRITE, .local = data, .bytes = 8};
        (void) rbuf_am_send(peer, &started[i].am);
        rbuf_put_start(peer, &started[i].put);
        rbuf_get_start(peer, &started[i].get);
        rbuf_rma_start(peer, &started[i].rma);
    }
}

static void progress(struct rbuf_core *core, uint64_t last)
{
    begin_shortage(last);
    (void) rbuf_core_progress(core, core->now_ns + 1);
    end_shortage();
}

/* The next event, for which progress may have to be called. Core has memory for so many
 * allocations. */
static struct rbuf_event next_event(struct rbuf_core *core, uint64_t last)
{
    struct rbuf_event event = {0};

    if (rbuf_events_empty(&core->events)) {
        progress(core, last);
    }
    ck_assert_msg(rbuf_events_pop(&core->events, &event), "an event is lost");
    return event;
}

static void expect_end(struct rbuf_core *core, uint64_t last, enum rbuf_event_kind kind,
                       const void *subject)
{
    const struct rbuf_event event = next_event(core, last);

    ck_assert_int_eq(event.kind, kind);
    ck_assert_ptr_eq(event.am, subject);
    ck_assert_int_ne(event.status, 0);
}

static void expect_nothing(struct rbuf_core *core)
{
    progress(core, 0);
    progress(core, 0);
    ck_assert(rbuf_events_empty(&core->events) && !rbuf_events_are_late(&core->events));
}

/* What is started on a failed peer ends at once: thousands of events without a look at them. While
 * they are taken memory stays short, comes back, or is short again by turns. */
START_TEST(ends_are_not_lost)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;
    struct rbuf_peer *peer = world->nodes[0].links[1].peer;

    begin_shortage(0);
    rbuf_peer_fail(peer, -ETIMEDOUT);
    start_all(peer, 0, OPERATIONS);
    end_shortage();
    ck_assert_int_eq(next_event(core, 0).kind, RBUF_EVENT_FAILED);
    for (int i = 0; i < OPERATIONS; i++) {
        const uint64_t last = _i == 1 || (_i == 2 && i % 50 == 0) ? UINT64_MAX : 0;

        expect_end(core, last, RBUF_EVENT_SENT, &started[i].am);
        expect_end(core, last, RBUF_EVENT_PUT, &started[i].put);
        expect_end(core, last, RBUF_EVENT_GET, &started[i].get);
        expect_end(core, last, RBUF_EVENT_RMA, &started[i].rma);
    }
    expect_nothing(core);
    world_close(world);
}
END_TEST

/* A second peer is lost while there is no room: that is said behind the ends of the first one's
 * operations, and before the ends of its own. */
START_TEST(cause_comes_first)
{
    struct world_options options = world_defaults();
    struct world *world;
    struct rbuf_core *core;
    struct rbuf_peer *first, *second;
    struct rbuf_event event;

    options.nodes = 3;
    world = world_open(&options);
    core = &world->nodes[0].core;
    first = world->nodes[0].links[1].peer;
    second = world->nodes[0].links[2].peer;
    begin_shortage(0);
    rbuf_peer_fail(first, -ETIMEDOUT);
    start_all(first, 0, OPERATIONS - 1);
    rbuf_peer_break(second, -EPROTO);
    start_all(second, OPERATIONS - 1, OPERATIONS);
    (void) rbuf_core_progress(core, 1);
    end_shortage();
    do {
        event = next_event(core, 0);
        ck_assert(event.peer == first);
    } while (event.kind != RBUF_EVENT_RMA || event.rma != &started[OPERATIONS - 2].rma);
    event = next_event(core, 0);
    ck_assert_int_eq(event.kind, RBUF_EVENT_FAILED);
    ck_assert_ptr_eq(event.peer, second);
    ck_assert_int_eq(event.status, -EPROTO);
    for (int i = 0; i < 4; i++) {
        event = next_event(core, 0);
        ck_assert_ptr_eq(event.peer, second);
    }
    expect_nothing(core);
    world_close(world);
}
END_TEST

/* ---- messages that wait for a grant ---- */

/* Fills the queue of events with some that nobody needs, and returns how many. */
static unsigned fill(struct rbuf_core *core)
{
    unsigned filled = 0;

    while (rbuf_events_push(&core->events, &(struct rbuf_event){.kind = RBUF_EVENT_RING_MEMORY})) {
        filled++;
    }
    return filled;
}

static void empty(struct rbuf_core *core, unsigned filled)
{
    struct rbuf_event event;

    for (unsigned i = 0; i < filled; i++) {
        ck_assert(rbuf_events_pop(&core->events, &event));
        ck_assert_int_eq(event.kind, RBUF_EVENT_RING_MEMORY);
    }
}

enum { PAUSE_NS = 1000000 /* in which all arrives that is under way */ };

/* A FIN is held until the data before it is copied. There is no room for it by then: its peer is
 * lost, since the receive would wait for ever. */
START_TEST(held_message_is_not_lost)
{
    struct world_options options = case_busy();
    struct world *world;
    struct world_message *message;
    struct rbuf_core *core;
    unsigned filled;

    options.followers = 3;
    options.core.quantum = options.core.schedule.block_bytes; /* the FIN is there before they are */
    world = world_open(&options);
    core = &world->nodes[1].core;
    message = world_send(world, WORLD_PUT, 0, 1, 20000 + 500 * (unsigned) _i);
    while (core->stats.messages_held == 0 && message->state == WORLD_OPEN) {
        ck_assert(sim_step(&world->net.clock));
    }
    ck_assert_uint_gt(core->stats.messages_held, 0);
    world_compute(world, 1, 2 * PAUSE_NS);
    for (uint64_t pause = world_now(world) + PAUSE_NS; world_now(world) < pause;) {
        if (!sim_step(&world->net.clock)) {
            break;
        }
    }
    begin_shortage(0);
    filled = fill(core);
    for (int i = 0; i < 100; i++) {
        (void) rbuf_core_progress(core, core->now_ns + 1);
    }
    end_shortage();
    empty(core, filled);
    ck_assert_int_eq(world_run(world), WORLD_DONE);
    ck_assert_int_ne(message->state, WORLD_CORRUPT);
    ck_assert((message->state == WORLD_FAILED) == world->nodes[1].links[0].failed);
    ck_assert_int_eq(message->state, WORLD_FAILED);
    case_close(world);
}
END_TEST

/* ---- what core asks its user for ---- */

/* There is no room for the question when staging is short: it is asked again. */
START_TEST(questions_are_asked_again)
{
    struct world_options options = case_busy();
    struct world *world;
    struct rbuf_core *core;
    unsigned filled;
    bool grows;

    options.receive_most = 8 * options.receive_bytes;
    options.growths = 4;
    world = world_open(&options);
    core = &world->nodes[1].core;
    begin_shortage(0);
    filled = fill(core);
    grows = rbuf_staging_want(core, &core->receive_arena);
    end_shortage();
    ck_assert(grows);
    empty(core, filled);
    ck_assert(rbuf_events_empty(&core->events));
    for (unsigned i = 0; i < 8; i++) {
        world_send(world, WORLD_PUT, 0, 1, 33000 + 1751 * i);
    }
    case_run(world);
    ck_assert_uint_gt(core->stats.staging_grown, 0);
    case_close(world);
}
END_TEST

/* ---- sweep ---- */

static void start_traffic(struct world *world)
{
    for (unsigned i = 0; i < 8; i++) {
        world_send(world, WORLD_PUT, 0, 1, 33000 + 1751 * i);
        world_send(world, WORLD_PUT, 1, 0, 70000 - 1751 * i);
        world_send(world, WORLD_COPIED, 0, 1, 31000 + 1751 * i);
        world_send(world, WORLD_GET, 1, 0, 31000 + 1751 * i);
        world_send(world, WORLD_PACKED, 0, 1, 9000 + 1751 * i);
        world_send(world, WORLD_PACKED, 1, 0, 9000 + 1751 * i);
    }
    for (unsigned i = 0; i < 300; i++) { /* when a peer is lost they end together */
        world_send(world, WORLD_EAGER, 0, 1, i);
        world_send(world, WORLD_EAGER, 1, 0, i);
        world_send(world, WORLD_WRITE, 0, 1, i + 1);
        world_send(world, WORLD_READ, 1, 0, i + 1);
    }
}

static void check_ends(struct world *world, uint64_t n)
{
    const char *left = world_leftover(world);
    bool arrived = true;

    ck_assert_msg(left == NULL, "allocation %llu: %s", (unsigned long long) n, left);
    for (const struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert_uint_eq(message->pending, 0);
        ck_assert_uint_le(message->events, 1);
        ck_assert_int_ne(message->state, WORLD_OPEN);
        ck_assert_int_ne(message->state, WORLD_CORRUPT);
        arrived = arrived && message->state == WORLD_ARRIVED;
    }
    ck_assert(arrived || world->nodes[0].links[1].failed || world->nodes[1].links[0].failed);
}

/* From each allocation on all fail, until all has ended. */
START_TEST(all_from_each_allocation_on)
{
    struct world_options options = case_busy();
    bool met = true;

    for (uint64_t n = 0; met; n++) {
        struct world *world = world_open(&options);
        enum world_outcome outcome;

        begin_shortage(n);
        start_traffic(world);
        outcome = world_run(world);
        world_settle(world);
        end_shortage();
        met = memory.count > n;
        ck_assert_msg(outcome == WORLD_DONE, "allocation %llu: %u messages open for ever",
                      (unsigned long long) n, world->open);
        check_ends(world, n);
        world_close(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("no memory");

    unit_add_loop(suite, ends_are_not_lost, 3);
    unit_add(suite, cause_comes_first);
    unit_add_loop(suite, held_message_is_not_lost, 8);
    unit_add(suite, questions_are_asked_again);
    unit_add(suite, all_from_each_allocation_on);
    return unit_run(suite);
}
