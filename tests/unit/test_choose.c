/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The schedule that the model chooses, against every other one on a grid over C0 and q in the
 * simulator: at least 0.99 of the best.
 */
#include <malloc.h>

#include "grid.h"
#include "machines.h"
#include "unit.h"

#define KB       1024ull
#define MB       (1024ull * KB)
#define SMALLEST (16 * KB)
#define LARGEST  (2 * MB)
#define LEAST    0.99

#if defined(__SANITIZE_ADDRESS__) /* slow, and the choice is the same: the first will do */
#define MACHINES 1
#else
#define MACHINES ((int) sim_machine_count)
#endif

static const uint32_t grid_first[] = {2048, 4096, 8192, 12288, 16384, 24576, 32768, 65536};
static const double grid_growth[] = {1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct sim_grid grid = {grid_first, COUNT(grid_first), grid_growth,
                                     COUNT(grid_growth)};

static void check_choice(const struct sim_machine *on, enum rbuf_rendezvous rendezvous,
                         enum rbuf_arrival arrival)
{
    struct rbuf_aim aim = {.smallest = SMALLEST,
                           .largest = LARGEST,
                           .lane_bytes = 4 * MB,
                           .arrival = arrival,
                           .rendezvous = rendezvous,
                           .head_bytes = SIM_HEAD_BYTES,
                           .opening_bytes = SIM_OPENING_BYTES};
    struct rbuf_plan plan;
    struct rbuf_machine machine = sim_machine_seen(&on->machine);
    double predicted = rbuf_model_choose(&machine, &aim, &plan);
    double found, best;

    ck_assert(predicted > 0);
    ck_assert(rbuf_schedule_valid(&plan.schedule));
    found = sim_efficiency(&on->machine, &aim, &plan);
    best = sim_grid_best(&on->machine, &aim, &plan, &grid);
    printf("%-12s rendezvous %d, arrival %d: C0 %u, q %.2f, at most %u, %u buffers, blocks of %u: "
           "%.4f (%.4f predicted), the best of the grid %.4f\n",
           on->name, rendezvous, arrival, plan.schedule.first_blocks * plan.schedule.block_bytes,
           plan.schedule.growth / (double) RBUF_GROWTH_ONE,
           plan.schedule.buffer_blocks * plan.schedule.block_bytes, plan.schedule.buffers,
           plan.schedule.block_bytes, found, predicted, best);
    ck_assert_msg(found >= LEAST * best, "%s: %.4f of the best", on->name, found / best);
}

START_TEST(near_the_best)
{
    const struct sim_machine *on = &sim_machines[_i];

    (void) mallopt(M_MMAP_THRESHOLD, 1 << 30); /* user buffers come and go, their pages need not */
    (void) mallopt(M_TRIM_THRESHOLD, 1 << 30);
    check_choice(on, RBUF_RENDEZVOUS_NONE, RBUF_ARRIVAL_BLOCK);
    check_choice(on, RBUF_RENDEZVOUS_OVERLAPPED, RBUF_ARRIVAL_BLOCK);
    check_choice(on, RBUF_RENDEZVOUS_LED, RBUF_ARRIVAL_BLOCK);
    if (_i == 0) {
        check_choice(on, RBUF_RENDEZVOUS_OVERLAPPED, RBUF_ARRIVAL_CHUNK);
    }
}
END_TEST

/* What is chosen fits into what there is. */
START_TEST(within_limits)
{
    const struct rbuf_machine *machine = &sim_machine_named("infini")->machine;
    struct rbuf_aim aim = {.smallest = SMALLEST, .largest = LARGEST, .lane_bytes = 200000};
    struct rbuf_plan plan;
    double little, much;

    little = rbuf_model_choose(machine, &aim, &plan);
    ck_assert(little > 0);
    ck_assert_uint_le((uint64_t) plan.schedule.buffers * plan.schedule.buffer_blocks *
                          plan.schedule.block_bytes,
                      aim.lane_bytes);
    aim.lane_bytes = 16 * MB;
    aim.block_bytes = 16384;
    much = rbuf_model_choose(machine, &aim, &plan);
    ck_assert_uint_eq(plan.schedule.block_bytes, 16384);
    ck_assert(much == rbuf_model_efficiency(machine, &plan, SMALLEST, LARGEST));
    aim.lane_bytes = 4096;
    ck_assert(rbuf_model_choose(machine, &aim, &plan) == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choose");
    TCase *one = tcase_create("near_the_best");

    tcase_set_timeout(one, UNIT_TIMEOUT_S);
    tcase_add_loop_test(one, near_the_best, 0, MACHINES);
    suite_add_tcase(suite, one);
    unit_add(suite, within_limits);
    return unit_run(suite);
}
