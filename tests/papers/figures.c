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
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "figures_bench.h"
#include "figures_statements.h"
#include "model/equations.h"
#include "model/staged.h"

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
    for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes = figures_next_length(bytes)) {
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
    for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes = figures_next_length(bytes)) {
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
    for (uint64_t length = SMALLEST; length <= LARGEST; length = figures_next_length(length)) {
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

/* The paper's schedule with another C0, of so many blocks. */
static double time_with_c0(const struct bench *bench, uint16_t blocks, uint64_t bytes)
{
    struct rbuf_plan plan = figures_paper_plan();

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
                 {"statements", figures_print_statements},
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
