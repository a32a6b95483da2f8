/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The schedule that the model chooses, against every other one on a grid over C0 and q in the
 * simulator: at least 0.99 of the best.
 */
#include <malloc.h>

#include "machines.h"
#include "measure.h"
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

/* Simulated as rbuf_model_efficiency() predicts. */
static double efficiency(struct sim_measure *measure, const struct rbuf_plan *plan)
{
    const struct rbuf_machine *machine = sim_measure_machine(measure);
    double before = plan->rendezvous != RBUF_RENDEZVOUS_NONE ? rbuf_model_rendezvous(machine) : 0;
    double sum = 0;
    unsigned sizes = 0;

    for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 2) {
        sum += (before + rbuf_model_raw(machine, bytes)) / sim_measure_staged(measure, plan, bytes);
        sizes++;
    }
    return sum / sizes;
}

/* The best efficiency of the grid; the rest of the plan stays. */
static double best_of_grid(struct sim_measure *measure, struct rbuf_plan plan)
{
    uint32_t block = plan.schedule.block_bytes;
    double best = 0;

    for (size_t i = 0; i < COUNT(grid_first); i++) {
        uint32_t first = grid_first[i] > block ? grid_first[i] / block : 1;

        plan.schedule.first_blocks =
            (uint16_t) (first < plan.schedule.buffer_blocks ? first : plan.schedule.buffer_blocks);
        for (size_t k = 0; k < COUNT(grid_growth); k++) {
            double found;

            plan.schedule.growth = (uint32_t) (grid_growth[k] * RBUF_GROWTH_ONE);
            found = efficiency(measure, &plan);
            best = found > best ? found : best;
        }
    }
    return best;
}

static void check_choice(const struct sim_machine *on, enum rbuf_rendezvous rendezvous,
                         enum rbuf_arrival arrival)
{
    struct rbuf_aim aim = {.smallest = SMALLEST,
                           .largest = LARGEST,
                           .lane_bytes = 4 * MB,
                           .arrival = arrival,
                           .rendezvous = rendezvous};
    struct rbuf_plan plan;
    struct sim_measure *measure;
    double predicted = rbuf_model_choose(&on->machine, &aim, &plan);
    double found, best;

    ck_assert(predicted > 0);
    ck_assert(rbuf_schedule_valid(&plan.schedule));
    measure = sim_measure_open(&on->machine, plan.schedule.block_bytes, 4 * MB);
    found = efficiency(measure, &plan);
    best = best_of_grid(measure, plan);
    sim_measure_close(measure);
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
