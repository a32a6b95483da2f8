/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * In-place writes, reads and atomics: sizes around the port's largest message, order, full queues.
 */
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
        struct rbuf_rma rma = {.operation = RBUF_RMA_COMPARE_SWAP,
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
        rbuf_core_completed(&world->nodes[0].core, completion->work, completion->status);
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

int main(void)
{
    Suite *suite = suite_create("rma");

    unit_add(suite, split_at_the_largest_message);
    unit_add(suite, every_operation_ends_in_one_event);
    unit_add(suite, in_order);
    unit_add(suite, compare_and_swap);
    return unit_run(suite);
}
