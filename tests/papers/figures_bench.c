/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The protocols of the figures on one simulated machine (figures_bench.h).
 */
#include "figures_bench.h"

#include "model/choose.h"

uint64_t figures_next_length(uint64_t bytes)
{
    uint64_t power = SMALLEST;
    double step = (double) SMALLEST;

    while (power <= bytes) {
        power *= 2;
    }
    while (bytes < FINE && (uint64_t) step <= bytes) {
        step *= 1.05;
    }
    return bytes < FINE && (uint64_t) step < power ? (uint64_t) step : power;
}

struct rbuf_plan figures_paper_plan(void)
{
    return (struct rbuf_plan){.schedule = {.block_bytes = BLOCK,
                                           .growth = RBUF_GROWTH_ONE * 3 / 2,
                                           .first_blocks = 3,
                                           .buffer_blocks = 64,
                                           .buffers = 3},
                              .arrival = RBUF_ARRIVAL_BLOCK};
}

struct bench bench_open(const char *name)
{
    struct bench bench = {.on = sim_machine_named(name)};
    const struct rbuf_machine *machine;

    bench.plain = sim_measure_open(&bench.on->machine, BLOCK, LARGEST);
    machine = sim_measure_machine(bench.plain);
    bench.tuned = sim_tuned_plan(machine, RBUF_RENDEZVOUS_NONE);
    bench.staged = sim_tuned_plan(machine, RBUF_RENDEZVOUS_OVERLAPPED);
    bench.for_tuned =
        sim_measure_open(&bench.on->machine, bench.tuned.schedule.block_bytes, 4 * MB);
    bench.for_staged =
        sim_measure_open(&bench.on->machine, bench.staged.schedule.block_bytes, 4 * MB);
    bench.early = sim_tuned_plan(machine, RBUF_RENDEZVOUS_EARLY);
    bench.for_early =
        sim_measure_open_early(&bench.on->machine, bench.early.schedule.block_bytes, 4 * MB,
                               bench.early.early_blocks * bench.early.schedule.block_bytes);
    return bench;
}

void bench_close(struct bench *bench)
{
    sim_measure_close(bench->for_early);
    sim_measure_close(bench->for_staged);
    sim_measure_close(bench->for_tuned);
    sim_measure_close(bench->plain);
}

const struct rbuf_machine *machine_of(const struct bench *bench)
{
    return sim_measure_machine(bench->plain);
}

double time_raw(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_NONE, bytes);
}

double time_register(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_NONE, bytes);
}

double time_copy(const struct bench *bench, uint64_t bytes)
{
    struct rbuf_plan plan = rbuf_plan_copy(bytes, BLOCK);

    return sim_measure_staged(bench->plain, &plan, bytes);
}

double time_pipeline(const struct bench *bench, uint64_t bytes)
{
    struct rbuf_plan plan = rbuf_plan_pipeline(machine_of(bench), bytes, BLOCK);

    return sim_measure_staged(bench->plain, &plan, bytes);
}

double time_superpipeline(const struct bench *bench, uint64_t bytes)
{
    struct rbuf_plan plan = figures_paper_plan();

    return sim_measure_staged(bench->plain, &plan, bytes);
}

double time_tuned(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_staged(bench->for_tuned, &bench->tuned, bytes);
}

double time_staged(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_staged(bench->for_staged, &bench->staged, bytes);
}

double time_early(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_staged(bench->for_early, &bench->early, bytes);
}

double time_reregister(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_SERIAL, bytes);
}

double time_cached(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_SERIAL, bytes);
}

double best_at(const struct bench *bench, enum rbuf_rendezvous rendezvous, uint64_t bytes)
{
    struct rbuf_objective aim = {
        .smallest = bytes, .largest = bytes, .staging_bytes = 4 * MB, .rendezvous = rendezvous};
    struct sim_measure *measure;
    struct rbuf_plan plan;
    double time;

    rbuf_model_choose(machine_of(bench), &aim, &plan);
    measure = sim_measure_open(&bench->on->machine, plan.schedule.block_bytes, 4 * MB);
    time = sim_measure_staged(measure, &plan, bytes);
    sim_measure_close(measure);
    return time;
}
