/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol default beside each static one (protocols.h), on today's networks: programs of messages
 * of one length, so many of a hundred of which go between buffers that were used before.
 *
 *     choice cells     the mean time of a message by protocol, ns, and how much longer default's is
 *                      than the best static protocol's, %: of the messages after the first LEARNING
 *
 * Each machine twice: with the schedules of the model (`tuned`) and those that the component has by
 * default (`installed`). Exit status 1 if default is behind by more than most_behind, or by more
 * than MOST_LEARNING over the first LEARNING messages.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "machines.h"
#include "protocols.h"

#define KB            1024ull
#define MB            (1024ull * KB)
#define SMALLEST      (64 * KB)
#define LARGEST       (16 * MB)
#define LEARNING      1000u
#define MESSAGES      4000u
#define MOST_LEARNING 15.0 /* % */

static const char *const machines[] = {"edr", "hdr", "ndr", "xdr"};
static const unsigned shares[] = {0, 25, 50, 75, 90, 100};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum parameters { TUNED, INSTALLED, PARAMETERS };

static const char *const parameters_name[] = {"tuned", "installed"};
/* %; as installed the chunks grow, also where a network outruns the copy and small ones are better.
 */
static const double most_behind[] = {5, 7};

static struct rbuf_plan plan_of(const struct rbuf_machine *machine, enum parameters parameters)
{
    if (parameters == TUNED) {
        return sim_tuned_plan(machine, RBUF_RENDEZVOUS_EARLY);
    }
    return (struct rbuf_plan){.schedule = {.block_bytes = 4 * KB,
                                           .growth = RBUF_GROWTH_ONE * 3 / 2,
                                           .first_blocks = 3,
                                           .buffer_blocks = 64,
                                           .buffers = 3},
                              .arrival = RBUF_ARRIVAL_BLOCK,
                              .rendezvous = RBUF_RENDEZVOUS_EARLY,
                              .early_blocks = SIM_EARLY_BYTES / (4 * KB)};
}

/* ---- parts ---- */

static bool all_hold = true;

static double percent_over(double time, double best)
{
    return 100 * (time / best - 1);
}

static enum sim_protocol default_on(const struct rbuf_machine *machine)
{
    return sim_default_is_auto(machine) ? SIM_AUTO : SIM_SUPERPIPELINE;
}

/* How much longer default took than the best static protocol, %. */
static double default_over(const struct rbuf_machine *machine, const struct sim_program *program)
{
    return percent_over(program->took[default_on(machine)],
                        program->took[sim_program_best(program)]);
}

static void play(struct sim_program *program, unsigned percent, unsigned messages)
{
    for (unsigned i = 0; i < messages; i++) {
        sim_program_message(program, percent);
    }
}

static void print_cell(const struct rbuf_machine *machine, const struct sim_protocol_times *times,
                       enum parameters parameters, unsigned percent)
{
    struct sim_program *program = sim_program_open(times, 1);
    double learning, over;
    bool holds;

    play(program, percent, LEARNING);
    learning = default_over(machine, program);
    sim_program_restart(program);
    play(program, percent, MESSAGES);
    over = default_over(machine, program);
    holds = over <= most_behind[parameters] && learning <= MOST_LEARNING;
    all_hold = all_hold && holds;
    for (enum sim_protocol i = 0; i < SIM_PROTOCOLS; i++) {
        printf(",%.0f", program->took[i] / MESSAGES);
    }
    printf(",%s,%s,%.1f,%.1f,%s\n", sim_protocol_name(default_on(machine)),
           sim_protocol_name(sim_program_best(program)), over, learning, holds ? "holds" : "FAILS");
    sim_program_close(program);
}

static void print_cells(const char *name, const struct rbuf_machine *machine,
                        enum parameters parameters)
{
    const struct rbuf_plan plan = plan_of(machine, parameters);
    struct rbuf_plan pipeline = plan;
    struct sim_protocol_bench *bench;

    pipeline.schedule.growth = RBUF_GROWTH_ONE; /* btl_rbuf_pipeline_chunk is c0 */
    bench = sim_protocol_open(machine, &plan, parameters == TUNED ? NULL : &pipeline, LARGEST);
    for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 2) {
        const struct sim_protocol_times times = sim_protocol_times(bench, bytes);

        for (size_t i = 0; i < COUNT(shares); i++) {
            printf("%s,%s,%llu,%u", name, parameters_name[parameters], (unsigned long long) bytes,
                   shares[i]);
            print_cell(machine, &times, parameters, shares[i]);
        }
    }
    sim_protocol_close(bench);
}

int main(int count, char **arguments)
{
    if (count != 2 || strcmp(arguments[1], "cells") != 0) {
        fprintf(stderr, "usage: choice cells\n");
        return 2;
    }
    /* User buffers of all lengths come and go: their pages need not. */
    (void) mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void) mallopt(M_TRIM_THRESHOLD, 1 << 30);
    printf("machine,parameters,bytes,again");
    for (enum sim_protocol i = 0; i < SIM_PROTOCOLS; i++) {
        printf(",%s", sim_protocol_name(i));
    }
    printf(",default is,best,over,learning over,verdict\n");
    for (size_t i = 0; i < COUNT(machines); i++) {
        for (enum parameters k = TUNED; k < PARAMETERS; k++) {
            print_cells(machines[i], &sim_machine_named(machines[i])->machine, k);
        }
    }
    return !all_hold;
}
