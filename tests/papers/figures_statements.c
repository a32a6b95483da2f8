/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The statements of the paper, each with the bounds within which the simulated value has to be
 * (figures_statements.h). A statement that the machine was inferred from is told from the others.
 */
#include "figures_statements.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "figures_bench.h"
#include "model/equations.h"
#include "model/staged.h"
#include "verdict.h"

static int failed;

/* How many statements from which constants of machines follow were stated. */
static unsigned put_in;

static enum sim_standing standing_of(const char *machine, const char *what)
{
    const char *const *from = sim_machine_named(machine)->inferred_from;

    while (*from != NULL && strcmp(*from, what) != 0) {
        from++;
    }
    put_in += *from != NULL;
    return *from != NULL ? SIM_PUT_IN : SIM_COMPARED;
}

/* One statement of the paper, with the bounds within which the simulated value has to be. */
static void state(const char *machine, const char *what, const char *paper, double simulated,
                  double least, double most)
{
    bool holds = simulated >= least && simulated <= most;

    failed += !holds;
    printf("%s,%s,%s,%.1f,%s\n", machine, what, paper, simulated,
           sim_verdict(standing_of(machine, what), holds));
}

/* Each machine names what it was inferred from in the words of a statement. */
static void expect_all_put_in(void)
{
    unsigned named = 0;

    for (unsigned i = 0; i < sim_machine_count; i++) {
        for (unsigned k = 0; sim_machines[i].inferred_from[k] != NULL; k++) {
            named++;
        }
    }
    if (named != put_in) {
        fprintf(stderr, "%u statements are put in, and machines are inferred from %u\n", put_in,
                named);
        failed++;
    }
}

static double percent_over(double time, double raw)
{
    return 100 * (time / raw - 1);
}

/* Speed as a part of the network's, %. */
static double percent_of(const struct bench *bench, uint64_t bytes, double time)
{
    return 100 * (double) bytes / machine_of(bench)->bytes_per_ns / time;
}

/* The largest overhead at any length from `least` on, %. */
static double worst_over(const struct bench *bench, double (*time)(const struct bench *, uint64_t),
                         uint64_t least)
{
    double before = time == time_staged ? rbuf_model_rendezvous(machine_of(bench)) : 0;
    double worst = 0;

    for (uint64_t bytes = least; bytes <= 4 * MB; bytes = figures_next_length(bytes)) {
        double over = percent_over(time(bench, bytes) - before, time_raw(bench, bytes));

        worst = over > worst ? over : worst;
    }
    return worst;
}

/* The length up to which naive copying is faster than the best pipeline, by equations 1 and 3. */
static double pipeline_from(const struct rbuf_machine *machine)
{
    uint64_t from = SMALLEST;

    for (uint64_t bytes = SMALLEST; bytes <= FINE; bytes = figures_next_length(bytes)) {
        double length = (double) bytes;
        double chunk = rbuf_equation_best_chunk(machine, length);

        if (rbuf_equation_copy(machine, length) <= rbuf_equation_pipeline(machine, length, chunk)) {
            from = bytes;
        }
    }
    return (double) from;
}

static double over_at(const struct bench *bench, double (*time)(const struct bench *, uint64_t),
                      uint64_t bytes)
{
    double before = time == time_staged ? rbuf_model_rendezvous(machine_of(bench)) : 0;

    return percent_over(time(bench, bytes) - before, time_raw(bench, bytes));
}

/* The same behind a rendezvous. */
static double best_over_at(const struct bench *bench, uint64_t bytes)
{
    double time = best_at(bench, RBUF_RENDEZVOUS_OVERLAPPED, bytes);

    return percent_over(time - rbuf_model_rendezvous(machine_of(bench)), time_raw(bench, bytes));
}

/* What section 5 states of both clusters. */
static void state_headline(const struct bench *bench)
{
    const char *name = bench->on->name;

    state(name, "superpipeline over raw at 16 KB (%)", "15", over_at(bench, time_tuned, 16 * KB), 0,
          15);
    state(name, "superpipeline over raw from 64 KB on (%)", "less than 5",
          worst_over(bench, time_tuned, 64 * KB), 0, 5);
    state(name, "the same at 16 KB behind a rendezvous (%)", "lower",
          over_at(bench, time_staged, 16 * KB), 0, 7.5);
    state(name, "the same from 64 KB on behind a rendezvous (%)", "lower",
          worst_over(bench, time_staged, 64 * KB), 0, 3);
    state(name, "the same at 16 KB with early data (%)", "not there",
          over_at(bench, time_early, 16 * KB), 0, 11);
    state(name, "the same at 64 KB with early data (%)", "not there",
          over_at(bench, time_early, 64 * KB), 0, 5);
    state(name, "the same at 256 KB with early data (%)", "not there",
          over_at(bench, time_early, 256 * KB), 0, 2);
    state(name, "the same at 64 KB with the schedule for 64 KB (%)", "lower",
          best_over_at(bench, 64 * KB), 0, 2.5);
    state(name, "the same at 64 KB over a cache hit behind a rendezvous (%)", "about the same",
          percent_over(time_staged(bench, 64 * KB), time_cached(bench, 64 * KB)), -20, 0);
    state(name, "with C0 12 KB and q 1.5 over the tuned one at 256 KB (%)", "almost as good",
          percent_over(time_superpipeline(bench, 256 * KB), time_tuned(bench, 256 * KB)), -1, 2);
    state(name, "C0 for messages in memory (bytes)", "8 KB to 16 KB",
          rbuf_equation_first_chunk(machine_of(bench), (double) LARGEST), 8 * KB, 16 * KB);
}

int figures_print_statements(void)
{
    struct bench bench = bench_open("graphene");
    double raw = time_raw(&bench, 64 * KB);

    printf("machine,what,paper,found,verdict\n");
    state("graphene", "speed lost to registration at 64 KB (%)", "as much as 60",
          100 * (1 - raw / time_register(&bench, 64 * KB)), 58, 62);
    state("graphene", "naive copying's part of B_net for long messages (%)", "57",
          percent_of(&bench, LARGEST, time_copy(&bench, LARGEST)), 56, 58);
    state("graphene", "superpipeline as printed over raw at 16 KB (%)", "15",
          over_at(&bench, time_superpipeline, 16 * KB), 0, 15);
    state("graphene", "superpipeline as printed over raw from 64 KB on (%)", "less than 5",
          worst_over(&bench, time_superpipeline, 64 * KB), 0, 5);
    state_headline(&bench);
    bench_close(&bench);

    bench = bench_open("graphene-91");
    state("graphene-91", "naive registration's part of B_net for long messages (%)", "91",
          percent_of(&bench, LARGEST, time_register(&bench, LARGEST)), 90, 92);
    state("graphene-91", "naive copying's part of B_net for long messages (%)", "57",
          percent_of(&bench, LARGEST, time_copy(&bench, LARGEST)), 56, 58);
    bench_close(&bench);

    state("graphene-16k", "naive copying is faster than the best pipeline up to (bytes)", "16 KB",
          pipeline_from(&sim_machine_named("graphene-16k")->machine), 15 * KB, 17 * KB);

    bench = bench_open("infini");
    state_headline(&bench);
    bench_close(&bench);
    expect_all_put_in();
    return failed > 0;
}
