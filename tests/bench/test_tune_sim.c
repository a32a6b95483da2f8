/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-tune recommends on a machine, run in the simulator against a grid over C0 and q with
 * all else as recommended: at least 0.99 of the best.
 */
#include <malloc.h>

#include "machines.h"
#include "measure.h"
#include "tune_advice.h"
#include "unit.h"

#define KB         1024ull
#define MB         (1024ull * KB)
#define LANE_BYTES MB
#define LEAST      0.99

static const uint16_t grid_first[] = {1, 2, 4, 8, 16}; /* blocks */
static const double grid_growth[] = {1, 1.25, 1.5, 2, 3, 4};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Raw time over the simulated one, the mean of 16 KB to 2 MB. */
static double efficiency(struct sim_measure *measure, const struct rbuf_plan *plan)
{
    const struct rbuf_machine *machine = sim_measure_machine(measure);
    const double before = rbuf_model_rendezvous(machine);
    double sum = 0;
    unsigned sizes = 0;

    for (uint64_t bytes = 16 * KB; bytes <= 2 * MB; bytes *= 2) {
        sum += (before + rbuf_model_raw(machine, bytes)) / sim_measure_staged(measure, plan, bytes);
        sizes++;
    }
    return sum / sizes;
}

static double best_of_grid(struct sim_measure *measure, struct rbuf_plan plan)
{
    double best = 0;

    for (size_t i = 0; i < COUNT(grid_first); i++) {
        plan.schedule.first_blocks = grid_first[i] < plan.schedule.buffer_blocks
                                         ? grid_first[i]
                                         : plan.schedule.buffer_blocks;
        for (size_t k = 0; k < COUNT(grid_growth); k++) {
            double found;

            plan.schedule.growth = (uint32_t) (grid_growth[k] * RBUF_GROWTH_ONE);
            found = efficiency(measure, &plan);
            best = found > best ? found : best;
        }
    }
    return best;
}

START_TEST(near_the_best)
{
    const struct sim_machine *on = &sim_machines[_i];
    const struct rbuf_schedule now = {.block_bytes = 4096,
                                      .growth = RBUF_GROWTH_ONE * 3 / 2,
                                      .first_blocks = 3,
                                      .buffer_blocks = 64,
                                      .buffers = 3};
    const struct tune_advice advice = tune_advise(&on->machine, &now, true, true, LANE_BYTES);
    const struct rbuf_schedule *schedule = &advice.recommended.schedule;
    struct sim_measure *measure;
    double found, best;

    (void) mallopt(M_MMAP_THRESHOLD, 1 << 30); /* user buffers come and go, their pages need not */
    (void) mallopt(M_TRIM_THRESHOLD, 1 << 30);
    ck_assert(rbuf_schedule_valid(schedule));
    ck_assert_uint_ge(schedule->block_bytes, on->machine.packet_bytes);
    ck_assert_uint_le(
        (uint64_t) schedule->buffers * schedule->buffer_blocks * schedule->block_bytes, LANE_BYTES);
    measure = sim_measure_open(&on->machine, schedule->block_bytes, 4 * MB);
    found = efficiency(measure, &advice.recommended);
    best = best_of_grid(measure, advice.recommended);
    sim_measure_close(measure);
    printf("%-12s %.4f, the best of the grid %.4f\n", on->name, found, best);
    ck_assert_msg(found >= LEAST * best, "%s: %.4f of the best", on->name, found / best);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune_sim");
    TCase *one = tcase_create("near_the_best");

    tcase_set_timeout(one, UNIT_TIMEOUT_S);
    tcase_add_loop_test(one, near_the_best, 0, (int) sim_machine_count);
    suite_add_tcase(suite, one);
    return unit_run(suite);
}
