/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The figures of Denis 2011, simulated, and what the paper states about them.
 *
 *     figures MACHINE       times of every protocol by message length on that machine, as CSV
 *     figures machines      what is put in: bandwidth, latency, gap, copy speeds
 *     figures costs         figure 1: what a copy and a registration take on graphene, as CSV
 *     figures equations     figure 4: equations 1 to 9 on cluster graphene-16k, as CSV
 *     figures optimal       section 4: C0 12 KB and q 1.5 beside the best schedule for each length
 *     figures statements    what the paper states, by machine: stated, simulated, predicted
 *     figures crossings     where q falls to 1 and where copying stops paying, by machine
 *     figures plans         the schedules that the model chooses
 *
 * Times are nanoseconds, one way. Without a rendezvous: raw, register, copy, pipeline (the chunk of
 * equation 3), superpipeline (the paper's C0 12 KB and q 1.5), tuned (the model's schedule). With
 * one: staged (tuned, first chunk under the rendezvous), reregister (in place, registered on both
 * sides each time), cached (in place, registered before), early (the model's schedule for
 * that, with early data). Exit status 1 if a statement does not hold.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"
#include "measure.h"
#include "model/choose.h"
#include "model/equations.h"
#include "model/staged.h"
#include "verdict.h"

#define KB       1024ull
#define MB       (1024ull * KB)
#define SMALLEST (1 * KB)
#define FINE     (2 * MB) /* up to here in steps of 5 %, then by doubling */
#define LARGEST  (16 * MB)
#define BLOCK    4096u

/* Lengths: powers of 1.05, as in the paper, and of two. The next one after `bytes`. */
static uint64_t next_length(uint64_t bytes)
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

static struct rbuf_plan paper_plan(void)
{
    return (struct rbuf_plan){.schedule = {.block_bytes = BLOCK,
                                           .growth = RBUF_GROWTH_ONE * 3 / 2,
                                           .first_blocks = 3,
                                           .buffer_blocks = 64,
                                           .buffers = 3},
                              .arrival = RBUF_ARRIVAL_BLOCK};
}

/* A machine with what is simulated on it. */
struct bench {
    const struct sim_machine *on;
    struct rbuf_plan tuned;
    struct rbuf_plan staged;
    struct rbuf_plan early;
    struct sim_measure *plain; /* blocks of BLOCK bytes */
    struct sim_measure *for_tuned;
    struct sim_measure *for_staged;
    struct sim_measure *for_early;
};

static struct bench bench_open(const char *name)
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

static void bench_close(struct bench *bench)
{
    sim_measure_close(bench->for_early);
    sim_measure_close(bench->for_staged);
    sim_measure_close(bench->for_tuned);
    sim_measure_close(bench->plain);
}

static const struct rbuf_machine *machine_of(const struct bench *bench)
{
    return sim_measure_machine(bench->plain);
}

static double time_raw(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_NONE, bytes);
}

static double time_register(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_NONE, bytes);
}

static double time_copy(const struct bench *bench, uint64_t bytes)
{
    struct rbuf_plan plan = rbuf_plan_copy(bytes, BLOCK);

    return sim_measure_staged(bench->plain, &plan, bytes);
}

static double time_pipeline(const struct bench *bench, uint64_t bytes)
{
    struct rbuf_plan plan = rbuf_plan_pipeline(machine_of(bench), bytes, BLOCK);

    return sim_measure_staged(bench->plain, &plan, bytes);
}

static double time_superpipeline(const struct bench *bench, uint64_t bytes)
{
    struct rbuf_plan plan = paper_plan();

    return sim_measure_staged(bench->plain, &plan, bytes);
}

static double time_tuned(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_staged(bench->for_tuned, &bench->tuned, bytes);
}

static double time_staged(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_staged(bench->for_staged, &bench->staged, bytes);
}

static double time_early(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_staged(bench->for_early, &bench->early, bytes);
}

static double time_reregister(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_SERIAL, bytes);
}

static double time_cached(const struct bench *bench, uint64_t bytes)
{
    return sim_measure_in_place(bench->plain, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_SERIAL, bytes);
}

static void print_plan(const char *name, const char *what, const struct rbuf_plan *plan)
{
    const struct rbuf_schedule *schedule = &plan->schedule;

    printf("%s,%s,%u,%u,%.3f,%u,%u\n", name, what, schedule->block_bytes,
           schedule->first_blocks * schedule->block_bytes,
           schedule->growth / (double) RBUF_GROWTH_ONE,
           schedule->buffer_blocks * schedule->block_bytes, schedule->buffers);
}

static int print_machine(const char *name)
{
    struct bench bench = bench_open(name);

    printf("# %s: %s\n# printed: %s\n# inferred: %s\n", name, bench.on->summary, bench.on->printed,
           bench.on->inferred);
    printf("bytes,raw,register,copy,pipeline,superpipeline,tuned,staged,reregister,cached,early\n");
    for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes = next_length(bytes)) {
        printf("%llu,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f\n",
               (unsigned long long) bytes, time_raw(&bench, bytes), time_register(&bench, bytes),
               time_copy(&bench, bytes), time_pipeline(&bench, bytes),
               time_superpipeline(&bench, bytes), time_tuned(&bench, bytes),
               time_staged(&bench, bytes), time_reregister(&bench, bytes),
               time_cached(&bench, bytes), time_early(&bench, bytes));
    }
    bench_close(&bench);
    return 0;
}

/* GB/s and ns; copies of the shortest and of the longest messages. */
static int print_machines(void)
{
    printf("machine,B_net,latency,gap,copy in cache,copy in memory\n");
    for (unsigned i = 0; i < sim_machine_count; i++) {
        const struct rbuf_machine *machine = &sim_machines[i].machine;
        const struct rbuf_copy_speed *copy = &machine->send_copy;

        printf("%s,%.1f,%.0f,%.0f,%.1f,%.1f\n", sim_machines[i].name, machine->bytes_per_ns,
               machine->latency_ns, machine->gap_ns, copy->bytes_per_ns[0],
               copy->bytes_per_ns[copy->count - 1]);
    }
    return 0;
}

/* Figure 1: the machine's own numbers, by length. */
static int print_costs(void)
{
    const struct rbuf_machine *machine = &sim_machine_named("graphene")->machine;

    printf("# figure 1: graphene as it is simulated, one side; network: a write without its "
           "latency\n"
           "bytes,network,copy,registration\n");
    for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes = next_length(bytes)) {
        printf("%llu,%.0f,%.0f,%.0f\n", (unsigned long long) bytes,
               (double) bytes / machine->bytes_per_ns,
               (double) bytes / rbuf_copy_speed_at(&machine->send_copy, bytes),
               rbuf_model_registration(machine, bytes));
    }
    return 0;
}

/* Figure 4 is the model's own: no simulation. With two or more chunks only, as equation 3 needs. */
static int print_equations(void)
{
    const struct rbuf_machine *machine = &sim_machine_named("graphene-16k")->machine;

    printf("# figure 4: the paper's equations on graphene-16k; pipeline: equation 1 with the chunk "
           "of 3;\n"
           "# superpipeline: equation 8, subblocked: equation 9, with C0 12 KB and q 1.5\n"
           "bytes,raw,register,copy,pipeline,superpipeline,subblocked,chunk,growth,gaps\n");
    for (uint64_t length = SMALLEST; length <= LARGEST; length = next_length(length)) {
        double bytes = (double) length;
        double chunk = rbuf_equation_best_chunk(machine, bytes);

        printf("%llu,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.2f,%.2f\n", (unsigned long long) length,
               machine->latency_ns + bytes / machine->bytes_per_ns,
               rbuf_equation_register(machine, bytes), rbuf_equation_copy(machine, bytes),
               rbuf_equation_pipeline(machine, bytes, chunk),
               rbuf_equation_superpipeline(machine, bytes, 12288, 1.5),
               rbuf_equation_subblocked(machine, bytes, 12288, 1.5, BLOCK), chunk,
               rbuf_equation_growth(machine, bytes), rbuf_equation_gaps(bytes, 12288, 1.5));
    }
    return 0;
}

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

    for (uint64_t bytes = least; bytes <= 4 * MB; bytes = next_length(bytes)) {
        double over = percent_over(time(bench, bytes) - before, time_raw(bench, bytes));

        worst = over > worst ? over : worst;
    }
    return worst;
}

/* The length up to which naive copying is faster than the best pipeline, by equations 1 and 3. */
static double pipeline_from(const struct rbuf_machine *machine)
{
    uint64_t from = SMALLEST;

    for (uint64_t bytes = SMALLEST; bytes <= FINE; bytes = next_length(bytes)) {
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

/* A transfer with the schedule that is best for this length. */
static double best_at(const struct bench *bench, enum rbuf_rendezvous rendezvous, uint64_t bytes)
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

static int print_statements(void)
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

/* The paper's schedule with another C0, of so many blocks. */
static double time_with_c0(const struct bench *bench, uint16_t blocks, uint64_t bytes)
{
    struct rbuf_plan plan = paper_plan();

    plan.schedule.first_blocks = blocks;
    return sim_measure_staged(bench->plain, &plan, bytes);
}

/* Section 4: "almost as good as optimal values", and how little C0 matters. The best is the least
 * of these and of what the model chooses for the length. */
static void print_optimal_of(const struct bench *bench, uint64_t bytes)
{
    static const uint16_t blocks[] = {1, 2, 3, 4, 6};
    double best = best_at(bench, RBUF_RENDEZVOUS_NONE, bytes);

    printf("%s,%llu,%.0f,%.0f", bench->on->name, (unsigned long long) bytes, time_raw(bench, bytes),
           time_pipeline(bench, bytes));
    for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        double time = time_with_c0(bench, blocks[i], bytes);

        printf(",%.0f", time);
        best = time < best ? time : best;
    }
    printf(",%.0f\n", best);
}

static int print_optimal(void)
{
    static const char *const names[] = {"graphene", "infini"};

    printf("machine,bytes,raw,pipeline,C0 4 KB,C0 8 KB,C0 12 KB,C0 16 KB,C0 24 KB,best\n");
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct bench bench = bench_open(names[i]);

        for (uint64_t bytes = 16 * KB; bytes <= LARGEST; bytes *= 2) {
            print_optimal_of(&bench, bytes);
        }
        bench_close(&bench);
    }
    return 0;
}

typedef bool condition(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                       uint64_t bytes);

static bool growth_is_one(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                          uint64_t bytes)
{
    (void) plan;
    return rbuf_equation_growth(machine, (double) bytes) <= 1;
}

static bool registering_wins(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                             uint64_t bytes)
{
    return rbuf_model_in_place(machine, bytes, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_SERIAL) <
           rbuf_model_staged(machine, plan, bytes);
}

static bool cache_wins(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                       uint64_t bytes)
{
    return rbuf_model_in_place(machine, bytes, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_SERIAL) <
           rbuf_model_staged(machine, plan, bytes);
}

/* The shortest length, in steps of 5 %, from which on the condition holds up to 64 MB; or "never".
 */
static void print_from(condition *holds, const struct rbuf_machine *machine,
                       const struct rbuf_plan *plan)
{
    uint64_t from = 0;

    for (double bytes = 4 * KB; bytes <= 64 * MB; bytes *= 1.05) {
        if (!holds(machine, plan, (uint64_t) bytes)) {
            from = 0;
        } else if (from == 0) {
            from = (uint64_t) bytes;
        }
    }
    if (from == 0) {
        printf(",never");
    } else {
        printf(",%llu", (unsigned long long) from);
    }
}

/* How often a registration must be used to be amortized, at one length; by the model. */
static void print_uses(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                       uint64_t bytes)
{
    double staged = rbuf_model_staged(machine, plan, bytes);
    double hit = rbuf_model_in_place(machine, bytes, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_SERIAL);
    double miss = rbuf_model_in_place(machine, bytes, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_SERIAL);

    if (hit >= staged) {
        printf(",never");
    } else {
        printf(",%.1f", miss <= staged ? 1.0 : (miss - hit) / (staged - hit));
    }
}

static int print_crossings(void)
{
    printf("# from which length on (bytes), by the model; and from how many uses of a buffer on\n"
           "# keeping its registration is faster\n"
           "machine,q is 1,registering each time wins,a cache hit wins,uses at 64 KB,"
           "uses at 1 MB,uses at 16 MB\n");
    for (unsigned i = 0; i < sim_machine_count; i++) {
        struct bench bench = bench_open(sim_machines[i].name);
        const struct rbuf_machine *machine = machine_of(&bench);

        printf("%s", sim_machines[i].name);
        print_from(growth_is_one, machine, &bench.staged);
        print_from(registering_wins, machine, &bench.staged);
        print_from(cache_wins, machine, &bench.staged);
        print_uses(machine, &bench.staged, 64 * KB);
        print_uses(machine, &bench.staged, 1 * MB);
        print_uses(machine, &bench.staged, 16 * MB);
        printf("\n");
        bench_close(&bench);
    }
    return 0;
}

static int print_plans(void)
{
    printf("machine,for,block,C0,q,largest chunk,buffers\n");
    for (unsigned i = 0; i < sim_machine_count; i++) {
        struct bench bench = bench_open(sim_machines[i].name);

        print_plan(bench.on->name, "tuned", &bench.tuned);
        print_plan(bench.on->name, "staged", &bench.staged);
        print_plan(bench.on->name, "early", &bench.early);
        bench_close(&bench);
    }
    return 0;
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*print)(void);
    } parts[] = {{"machines", print_machines},
                 {"costs", print_costs},
                 {"equations", print_equations},
                 {"optimal", print_optimal},
                 {"statements", print_statements},
                 {"crossings", print_crossings},
                 {"plans", print_plans}};
    const char *what = count == 2 ? arguments[1] : "";

    /* User buffers of all lengths come and go: their pages need not. */
    (void) mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void) mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(what, parts[i].name) == 0) {
            return parts[i].print();
        }
    }
    if (count == 2) {
        return print_machine(what);
    }
    fprintf(stderr,
            "usage: figures MACHINE | machines | costs | equations | optimal | statements | "
            "crossings | plans\n");
    return 2;
}
