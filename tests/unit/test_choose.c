/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The schedule that the model chooses, against every other one on a grid over C0 and q in the
 * simulator: at least 0.99 of the best. And the heads that it chooses, against longer ones.
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

#define EARLY_MOST (256 * KB)

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
    struct rbuf_objective aim = {.smallest = SMALLEST,
                                 .largest = LARGEST,
                                 .staging_bytes = 4 * MB,
                                 .arrival = arrival,
                                 .rendezvous = rendezvous,
                                 .early_bytes = SIM_EARLY_BYTES,
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
    check_choice(on, RBUF_RENDEZVOUS_EARLY, RBUF_ARRIVAL_BLOCK);
    if (_i == 0) {
        check_choice(on, RBUF_RENDEZVOUS_OVERLAPPED, RBUF_ARRIVAL_CHUNK);
    }
}
END_TEST

/* What is chosen fits into what there is. */
START_TEST(within_limits)
{
    const struct rbuf_machine *machine = &sim_machine_named("infini")->machine;
    struct rbuf_objective aim = {.smallest = SMALLEST, .largest = LARGEST, .staging_bytes = 200000};
    struct rbuf_plan plan;
    double little, much;

    little = rbuf_model_choose(machine, &aim, &plan);
    ck_assert(little > 0);
    ck_assert_uint_le((uint64_t) plan.schedule.buffers * plan.schedule.buffer_blocks *
                          plan.schedule.block_bytes,
                      aim.staging_bytes);
    aim.staging_bytes = 16 * MB;
    aim.block_bytes = 16384;
    much = rbuf_model_choose(machine, &aim, &plan);
    ck_assert_uint_eq(plan.schedule.block_bytes, 16384);
    ck_assert(much == rbuf_model_efficiency(machine, &plan, SMALLEST, LARGEST));
    aim.staging_bytes = 4096;
    ck_assert(rbuf_model_choose(machine, &aim, &plan) == 0);
}
END_TEST

/* Networks, some of them far, where a default head is enough until the answer is here, or not. */
static const struct {
    const char *machine;
    double latency_ns; /* 0: the machine's */
    bool enough;
} distances[] = {{"graphene", 0, true}, {"infini", 0, true},      {"edr", 0, true},
                 {"hdr", 0, true},      {"infini", 20000, false}, {"infini", 40000, false},
                 {"edr", 5000, false}};

#define DISTANCES ((int) COUNT(distances))

static const struct rbuf_schedule usual = {.block_bytes = 4096,
                                           .growth = RBUF_GROWTH_ONE * 3 / 2,
                                           .first_blocks = 3,
                                           .buffer_blocks = 64,
                                           .buffers = 3};

static struct rbuf_plan usual_with(const struct rbuf_objective *aim, uint32_t early_bytes)
{
    struct rbuf_plan plan = {
        .schedule = usual, .arrival = aim->arrival, .rendezvous = aim->rendezvous};

    rbuf_plan_early(&plan, early_bytes, aim->opening_bytes);
    return plan;
}

static const struct rbuf_objective early_aim = {.smallest = SMALLEST,
                                                .largest = LARGEST,
                                                .staging_bytes = 4 * MB,
                                                .arrival = RBUF_ARRIVAL_BLOCK,
                                                .rendezvous = RBUF_RENDEZVOUS_EARLY,
                                                .early_bytes = SIM_EARLY_BYTES,
                                                .opening_bytes = SIM_OPENING_BYTES};

/* The default is kept where it is enough and not where it is not; and in the simulator no other
 * head is better than the one chosen by more than a hundredth. */
START_TEST(heads_last_until_the_answer)
{
    struct rbuf_machine on = sim_machine_named(distances[_i].machine)->machine;
    struct rbuf_plan plan = usual_with(&early_aim, SIM_EARLY_BYTES);
    struct rbuf_machine seen;
    double found, shortest;

    on.latency_ns = distances[_i].latency_ns > 0 ? distances[_i].latency_ns : on.latency_ns;
    seen = sim_machine_seen(&on);
    shortest = sim_efficiency(&on, &early_aim, &plan);
    (void) rbuf_model_choose_early(&seen, &early_aim, EARLY_MOST, &plan);
    found = sim_efficiency(&on, &early_aim, &plan);
    ck_assert_int_eq(plan.early_blocks * 4096 == SIM_EARLY_BYTES, distances[_i].enough);
    if (!distances[_i].enough) {
        ck_assert_double_gt(found, 1.01 * shortest);
    }
    for (uint32_t bytes = EARLY_MOST; bytes >= SIM_EARLY_BYTES; bytes -= 16 * KB) {
        const struct rbuf_plan other = usual_with(&early_aim, bytes);

        ck_assert_double_ge(found, LEAST * sim_efficiency(&on, &early_aim, &other));
    }
}
END_TEST

START_TEST(heads_keep_to_what_there_is)
{
    struct rbuf_machine far = sim_machine_named("infini")->machine;
    struct rbuf_plan plan = usual_with(&early_aim, SIM_EARLY_BYTES);
    struct rbuf_plan other = {.schedule = usual, .rendezvous = RBUF_RENDEZVOUS_OVERLAPPED};

    far.latency_ns = 20000;
    ck_assert(rbuf_model_choose_early(&far, &early_aim, 128 * KB, &plan) ==
              rbuf_model_efficiency(&far, &plan, SMALLEST, LARGEST));
    ck_assert_uint_gt(plan.early_blocks * 4096, SIM_EARLY_BYTES);
    ck_assert_uint_le(plan.early_blocks * 4096, 128 * KB);
    plan = usual_with(&early_aim, SIM_EARLY_BYTES);
    (void) rbuf_model_choose_early(&far, &early_aim, SIM_EARLY_BYTES - 1, &plan);
    ck_assert_uint_eq(plan.early_blocks * 4096, SIM_EARLY_BYTES);
    (void) rbuf_model_choose_early(&far, &early_aim, EARLY_MOST, &other);
    ck_assert_uint_eq(other.early_blocks, 0);
    for (uint32_t most = 80 * KB; most <= 200 * KB; most += 4 * KB) { /* also in longer blocks */
        plan = usual_with(&early_aim, SIM_EARLY_BYTES);
        plan.schedule.block_bytes = 16384;
        plan.schedule.buffer_blocks = 16;
        plan.schedule.first_blocks = 1;
        (void) rbuf_model_choose_early(&far, &early_aim, most, &plan);
        ck_assert_uint_le(plan.early_blocks * 16384, most);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choose");

    unit_add_loop(suite, near_the_best, MACHINES);
    unit_add_loop(suite, heads_last_until_the_answer, DISTANCES);
    unit_add(suite, within_limits);
    unit_add(suite, heads_keep_to_what_there_is);
    return unit_run(suite);
}
