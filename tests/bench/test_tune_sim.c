/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-tune recommends on a machine, run in the simulator against a grid over C0 and q with
 * all else as recommended: at least 0.99 of the best.
 */
#include <malloc.h>

#include "grid.h"
#include "machines.h"
#include "tune/advice.h"
#include "unit.h"

#define KB         1024ull
#define MB         (1024ull * KB)
#define LANE_BYTES MB
#define LEAST      0.99

static const uint32_t grid_first[] = {4096, 8192, 16384, 32768, 65536};
static const double grid_growth[] = {1, 1.25, 1.5, 2, 3, 4};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct sim_grid grid = {grid_first, COUNT(grid_first), grid_growth,
                                     COUNT(grid_growth)};

static struct tune_advice check_advice(const struct sim_machine *on,
                                       enum rbuf_rendezvous rendezvous)
{
    const struct rbuf_schedule now = {.block_bytes = 4096,
                                      .growth = RBUF_GROWTH_ONE * 3 / 2,
                                      .first_blocks = 3,
                                      .buffer_blocks = 64,
                                      .buffers = 3};
    const struct tune_conditions conditions = {.in_order = true,
                                               .rendezvous = rendezvous,
                                               .early_bytes = SIM_EARLY_BYTES,
                                               .opening_bytes = SIM_OPENING_BYTES,
                                               .total_staging_bytes = 16 * MB,
                                               .staging_bytes = LANE_BYTES};
    const struct rbuf_objective aim = {.smallest = 16 * KB, .largest = 2 * MB};
    const struct rbuf_machine machine = sim_machine_seen(&on->machine);
    const struct tune_advice advice = tune_advise(&machine, &now, &conditions);
    const struct rbuf_schedule *schedule = &advice.recommended.schedule;
    double found, best;

    ck_assert(rbuf_schedule_valid(schedule));
    ck_assert_uint_ge(schedule->block_bytes, on->machine.packet_bytes);
    ck_assert_uint_le(
        (uint64_t) schedule->buffers * schedule->buffer_blocks * schedule->block_bytes, LANE_BYTES);
    found = sim_efficiency(&on->machine, &aim, &advice.recommended);
    best = sim_grid_best(&on->machine, &aim, &advice.recommended, &grid);
    printf("%-12s rendezvous %d: %.4f, the best of the grid %.4f\n", on->name, rendezvous, found,
           best);
    ck_assert_msg(found >= LEAST * best, "%s: %.4f of the best", on->name, found / best);
    return advice;
}

START_TEST(near_the_best)
{
    (void) mallopt(M_MMAP_THRESHOLD, 1 << 30); /* user buffers come and go, their pages need not */
    (void) mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void) check_advice(&sim_machines[_i], RBUF_RENDEZVOUS_OVERLAPPED);
    (void) check_advice(&sim_machines[_i], RBUF_RENDEZVOUS_EARLY);
}
END_TEST

/* With as much early data as is recommended. */
START_TEST(near_the_best_from_afar)
{
    struct sim_machine far = *sim_machine_named("infini");
    struct rbuf_plan plan;

    far.machine.latency_ns = 20000;
    plan = check_advice(&far, RBUF_RENDEZVOUS_EARLY).recommended;
    ck_assert_uint_gt(plan.early_blocks * plan.schedule.block_bytes, SIM_EARLY_BYTES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune_sim");

    unit_add_loop(suite, near_the_best, (int) sim_machine_count);
    unit_add(suite, near_the_best_from_afar);
    return unit_run(suite);
}
