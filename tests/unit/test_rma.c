/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * In-place writes, reads and atomics: sizes around the port's largest message, order, full queues.
 */
#include <errno.h>
#include <string.h>

#include "case.h"
#include "unit.h"

START_TEST(split_at_the_largest_message)
{
    for (uint32_t depth = 4; depth <= 64; depth *= 4) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.max_message = 1000;
        options.depth = depth;
        options.room = depth;
        world = world_open(&options);
        for (uint64_t bytes = 0; bytes < 60000; bytes = bytes * 5 / 4 + 1) {
            world_send(world, WORLD_WRITE, 0, 1, bytes);
            world_send(world, WORLD_READ, 0, 1, bytes);
        }
        for (uint64_t bytes = 998; bytes < 1003; bytes++) {
            world_send(world, WORLD_WRITE, 1, 0, bytes);
            world_send(world, WORLD_READ, 1, 0, 2 * bytes);
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

START_TEST(every_operation_ends_in_one_event)
{
    struct world_options options = world_defaults();
    struct world *world;

    options.depth = 4;
    options.room = 3;
    options.faults.completion_delay_ns = 10000;
    options.faults.late_read = true;
    world = world_open(&options);
    for (int i = 0; i < 200; i++) {
        world_send(world, (enum world_kind)(WORLD_WRITE + i % 3), i % 2, 1 - i % 2, 50 * i + 1);
    }
    case_run(world);
    for (struct world_message *message = world->messages; message != NULL;
         message = message->next) {
        ck_assert_uint_eq(message->events, 1);
    }
    ck_assert_uint_eq(
        world->nodes[0].core.stats.direct_puts + world->nodes[1].core.stats.direct_puts, 67);
    ck_assert_uint_eq(world->nodes[0].core.stats.reads + world->nodes[1].core.stats.reads, 67);
    ck_assert_uint_eq(world->nodes[0].core.stats.atomics + world->nodes[1].core.stats.atomics, 66);
    case_close(world);
}
END_TEST

/* Completions of one peer's operations come in order of their start. */
START_TEST(in_order)
{
    struct world_options options = world_defaults();
    struct world_message *messages[60];
    struct world *world;

    options.depth = 8;
    options.core.max_message = 4096;
    world = world_open(&options);
    for (int i = 0; i < 60; i++) {
        messages[i] = world_send(world, WORLD_WRITE + i % 3, 0, 1, 1000 * (60 - i));
    }
    case_run(world);
    for (int i = 1; i < 60; i++) {
        ck_assert_uint_ge(messages[i]->arrived_ns, messages[i - 1]->arrived_ns);
    }
    case_close(world);
}
END_TEST

START_TEST(compare_and_swap)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    uint64_t there = 5, before = 0;
    uint32_t rkey = sim_register(&world->nodes[1].nic, &there, sizeof(there));
    uint32_t lkey = sim_register(&world->nodes[0].nic, &before, sizeof(before));

    for (uint64_t i = 0; i < 4; i++) {
        struct rbuf_rma rma = {.operation = RBUF_FAB_COMPARE_SWAP,
                               .local = &before,
                               .remote = (uintptr_t) &there,
                               .bytes = sizeof(there),
                               .lkey = lkey,
                               .rkey = rkey,
                               .operand = 7 + i,
                               .compare = i < 2 ? 5 + 2 * i : 1}; /* the last two do not match */
        struct sim_completion *completion;
        struct rbuf_event event;

        rbuf_rma_start(world->nodes[0].links[1].peer, &rma);
        while ((completion = sim_poll(&world->nodes[0].nic)) == NULL) {
            ck_assert(sim_step(&world->net.clock));
            world->nodes[0].scheduled = false; /* this test polls by itself */
        }
        rbuf_fab_retire(completion->work);
        rbuf_core_completed(completion->work, completion->status);
        free(completion);
        ck_assert(rbuf_events_pop(&world->nodes[0].core.events, &event));
        ck_assert_int_eq(event.kind, RBUF_EVENT_RMA);
        ck_assert_ptr_eq(event.rma, &rma);
        ck_assert_uint_eq(before, i == 0 ? 5 : i == 1 ? 7 : 8);
        ck_assert_uint_eq(there, i == 0 ? 7 : 8);
    }
    case_close(world);
}
END_TEST

/* Steps until there is an event of an operation, at most so often; NULL: there is none. */
static const struct rbuf_rma *step_to_event(struct world *world, int *status, unsigned most)
{
    struct rbuf_core *core = &world->nodes[0].core;
    struct sim_completion *completion;
    struct rbuf_event event;

    for (unsigned i = 0; i < most; i++) {
        while ((completion = sim_poll(&world->nodes[0].nic)) != NULL) {
            if (completion->work != NULL) {
                rbuf_fab_retire(completion->work);
                rbuf_core_completed(completion->work, completion->status);
            }
            free(completion);
        }
        rbuf_core_progress(core, 0);
        while (rbuf_events_pop(&core->events, &event)) {
            if (event.kind == RBUF_EVENT_RMA) {
                *status = event.status;
                return event.rma;
            }
        }
        if (!sim_step(&world->net.clock)) {
            return NULL;
        }
        world->nodes[0].scheduled = false; /* this test polls by itself */
    }
    return NULL;
}

enum { PIECE = 4096, PIECES = 7 };

/* The peer fails with a read posted in part, while its queue pair is alive: the event comes when
 * nothing of the read can write to the memory any more. */
START_TEST(in_pieces_it_ends_behind_them)
{
    static unsigned char here[PIECE * PIECES], there[PIECE * PIECES], then[PIECE * PIECES];

    for (unsigned pieces = 0; pieces < PIECES; pieces++) {
        struct world_options options = world_defaults();
        struct rbuf_rma rma = {.operation = RBUF_FAB_READ, .local = here, .bytes = sizeof(here)};
        const struct rbuf_rma *ended = NULL;
        struct world *world;
        int status = 0;

        options.core.max_message = PIECE;
        options.depth = 4;
        world = world_open(&options);
        memset(here, 0, sizeof(here));
        memset(there, 0x11, sizeof(there));
        rma.remote = (uintptr_t) there;
        rma.rkey = sim_register(&world->nodes[1].nic, there, sizeof(there));
        rma.lkey = sim_register(&world->nodes[0].nic, here, sizeof(here));
        rbuf_rma_start(world->nodes[0].links[1].peer, &rma);
        for (unsigned i = 0; here[pieces * PIECE] == 0 && ended == NULL && i < 10000; i++) {
            ended = step_to_event(world, &status, 1);
        }
        ck_assert_ptr_null(ended);
        rbuf_peer_fail(world->nodes[0].links[1].peer, -EIO);
        ended = step_to_event(world, &status, 10000);
        ck_assert_ptr_eq(ended, &rma);
        /* all of it was posted, and came; else there is an error */
        ck_assert(status == 0 ? here[sizeof(here) - 1] == 0x11 : pieces < PIECES - 1);
        memcpy(then, here, sizeof(here));
        ck_assert_ptr_null(step_to_event(world, &status, 10000));
        ck_assert_mem_eq(then, here, sizeof(here));
        world_close(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rma");

    unit_add(suite, split_at_the_largest_message);
    unit_add(suite, every_operation_ends_in_one_event);
    unit_add(suite, in_order);
    unit_add(suite, compare_and_swap);
    unit_add(suite, in_pieces_it_ends_behind_them);
    return unit_run(suite);
}
