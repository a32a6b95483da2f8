/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Everything that core asks for and that can fail does so, at its first use, its second and so on,
 * until a whole run passes without meeting the fault: each operation of the fabric, refused or
 * completed with an error, and each allocation. However it falls, the run ends, every operation
 * ends in at most one event, what arrives is right, and nothing is left over.
 */
#include "case.h"
#include "unit.h"

#include <stddef.h>

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
    unsigned in_simulator; /* depth of calls whose allocations are not core's */
    uint64_t count;
    uint64_t fail_at; /* 0: never */
} memory = {.in_simulator = 1};

static bool fails(void)
{
    return memory.in_simulator == 0 && ++memory.count == memory.fail_at;
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
    void *made;

    memory.in_simulator++;
    made = __real_sim_allocate(bytes);
    memory.in_simulator--;
    return made;
}

void *__wrap_sim_reallocate(void *old, size_t bytes)
{
    void *made;

    memory.in_simulator++;
    made = __real_sim_reallocate(old, bytes);
    memory.in_simulator--;
    return made;
}

/* ---- one run ---- */

static void start_traffic(struct world *world)
{
    for (unsigned i = 0; i < 8; i++) {
        world_send(world, WORLD_PUT, 0, 1, 33000 + 1751 * i);
        world_send(world, WORLD_PUT, 1, 0, 70000 - 1751 * i);
        world_send(world, WORLD_EAGER, 0, 1, 500 * i);
        world_send(world, WORLD_EAGER, 1, 0, 700 * i);
        world_send(world, WORLD_WRITE, 0, 1, 2250 * i + 1);
        world_send(world, WORLD_READ, 1, 0, 2250 * i + 1);
        world_send(world, WORLD_ADD, 0, 1, 8);
        world_send(world, WORLD_PACKED, 0, 1, 9000 + 1751 * i);
        world_send(world, WORLD_PACKED, 1, 0, 9000 + 1751 * i);
    }
}

/* Runs `world` to its end and judges it; whether all has arrived. */
static bool run(struct world *world, const char *what, uint64_t n)
{
    enum world_outcome outcome;
    bool arrived = true;
    const char *left;

    memory.in_simulator = memory.fail_at == 0 ? 1 : 0;
    start_traffic(world);
    outcome = world_run(world);
    world_settle(world);
    memory.in_simulator = 1; /* the test itself allocates, too */
    ck_assert_msg(outcome == WORLD_DONE, "%s %llu: %u messages open for ever", what,
                  (unsigned long long) n, world->open);
    left = world_leftover(world);
    ck_assert_msg(left == NULL, "%s %llu: %s", what, (unsigned long long) n, left);
    for (const struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert_uint_eq(message->pending, 0);
        ck_assert_uint_le(message->events, 1);
        ck_assert_msg(message->state != WORLD_CORRUPT, "%s %llu: wrong bytes", what,
                      (unsigned long long) n);
        arrived = arrived && message->state == WORLD_ARRIVED;
    }
    ck_assert_msg(arrived || world->nodes[0].links[1].failed || world->nodes[1].links[0].failed,
                  "%s %llu: messages failed, and no peer was said to be lost", what,
                  (unsigned long long) n);
    return arrived;
}

static struct world_options busy(enum rbuf_arrival arrival)
{
    struct world_options options = case_busy();

    options.core.arrival = arrival;
    return options;
}

/* ---- the sweeps ---- */

/* The number of posts of that operation that one run makes, each of which has failed once. */
static uint64_t sweep(struct world_options options, enum sim_operation operation)
{
    uint64_t n = 0;

    for (;;) {
        struct world *world;
        bool met;

        options.faults.fail_operation = operation;
        options.faults.fail_at = ++n;
        world = world_open(&options);
        run(world, "operation", n);
        met = world->net.to_fail >= n;
        world_close(world);
        if (!met) {
            return n - 1;
        }
    }
}

static void sweep_all(enum rbuf_arrival arrival, bool refused, bool refused_later)
{
    struct world_options options = busy(arrival);

    options.faults.fail_refused = refused;
    options.faults.refuse_when_dead = refused_later;
    for (int operation = SIM_WRITE; operation <= SIM_COMPARE_SWAP; operation++) {
        uint64_t met = sweep(options, (enum sim_operation) operation);
        bool used = operation != SIM_COMPARE_SWAP &&
                    (operation != SIM_WRITE_IMMEDIATE || arrival == RBUF_ARRIVAL_IMMEDIATE);

        ck_assert_msg((met > 0) == used, "operation %d was posted %llu times", operation,
                      (unsigned long long) met);
    }
}

START_TEST(operations_complete_with_an_error)
{
    sweep_all(RBUF_ARRIVAL_BLOCK, false, false);
}
END_TEST

START_TEST(operations_are_refused)
{
    sweep_all(RBUF_ARRIVAL_BLOCK, true, true);
}
END_TEST

START_TEST(operations_are_refused_once)
{
    sweep_all(RBUF_ARRIVAL_CHUNK, true, false);
}
END_TEST

START_TEST(operations_of_announced_chunks)
{
    sweep_all(RBUF_ARRIVAL_IMMEDIATE, false, true);
    sweep_all(RBUF_ARRIVAL_IMMEDIATE, true, true);
}
END_TEST

static void sweep_memory(enum rbuf_arrival arrival)
{
    struct world_options options = busy(arrival);
    uint64_t n = 0, whole = 0;
    bool met = true;

    while (met) {
        struct world *world = world_open(&options);

        memory.count = 0;
        memory.fail_at = ++n;
        whole += run(world, "allocation", n) ? 1 : 0;
        met = memory.count >= n;
        world_close(world);
    }
    ck_assert_uint_gt(n, 10);
    ck_assert_uint_gt(whole, 0);
}

START_TEST(allocations)
{
    sweep_memory(RBUF_ARRIVAL_BLOCK);
    sweep_memory(RBUF_ARRIVAL_IMMEDIATE);
}
END_TEST

/* What is made before there is traffic: it says so, and leaves nothing behind. */
START_TEST(allocations_at_the_start)
{
    static _Alignas(4096) unsigned char staging[2][64 * 1024];
    const struct rbuf_region send = {staging[0], sizeof(staging[0]), 1, 1, 0};
    const struct rbuf_region receive = {staging[1], sizeof(staging[1]), 2, 2, 0};
    static struct rbuf_mailbox mailbox;
    struct world_options options = busy(RBUF_ARRIVAL_BLOCK);
    bool met = true;
    uint64_t n = 0;

    while (met) {
        struct rbuf_core core;
        struct rbuf_peer *peer = NULL;

        memory.count = 0;
        memory.fail_at = ++n;
        memory.in_simulator = 0;
        if (rbuf_core_open(&core, &options.core, &send, &receive) == 0) {
            if (rbuf_peer_add(&core, &mailbox, NULL, &peer) == 0) {
                rbuf_peer_remove(peer);
            }
            rbuf_core_close(&core);
        }
        memory.in_simulator = 1;
        met = memory.count >= n;
        ck_assert((peer == NULL) == met);
    }
    ck_assert_uint_gt(n, 4);
}
END_TEST

/* An event without a place would be an end that nobody hears of: one failed allocation loses none.
 */
START_TEST(allocations_for_events)
{
    bool met = true;

    for (uint64_t n = 2; met; n++) { /* the first is the opening's */
        struct rbuf_events events;
        unsigned pushed = 0;

        memory.count = 0;
        memory.fail_at = n;
        memory.in_simulator = 0;
        if (rbuf_events_open(&events) == 0) {
            for (int i = 0; i < 5000; i++) {
                pushed += rbuf_events_push(&events, &(struct rbuf_event){.status = i});
            }
            rbuf_events_close(&events);
        }
        memory.in_simulator = 1;
        met = memory.count >= n;
        ck_assert_uint_eq(pushed, 5000);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep");

    unit_add(suite, operations_complete_with_an_error);
    unit_add(suite, operations_are_refused);
    unit_add(suite, operations_are_refused_once);
    unit_add(suite, operations_of_announced_chunks);
    unit_add(suite, allocations);
    unit_add(suite, allocations_at_the_start);
    unit_add(suite, allocations_for_events);
    return unit_run(suite);
}
