/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What eager rings cost one process, in jobs from 8 to 65536 ranks.
 *
 *     scale [--set N] [--ranks N] [--partners N] [--whole N]
 *
 * prints the table, or those lines of it, for a polling set of 16 or N.
 *
 * Every process has as many partners as the applications of Liu, Wu and Panda 2004 have (table 1: 4
 * to 11 distinct sources), to each of which it sends two small messages in an iteration. Every
 * fourth iteration ends with an allreduce by recursive doubling, so there are up to log2(ranks)
 * partners more, seldom used. In every sixteenth iteration of a process a rank at random sends it
 * one message. In the middle of the run all have new partners.
 *
 * To 256 ranks every process is simulated. Above, 64 are, with whom they talk to, since what a
 * process has depends on those alone: with --whole 1024 the lines for 1024 ranks come out the same.
 * Two processes have a struct rbuf_peer for every rank of the job.
 *
 * Rings have the slots of the defaults, but small ones: what is counted does not depend on their
 * size, and memory is given for the default.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "core/eager/ring_long.h"
#include "inspect/eager.h"
#include "job.h"

#define LIVE       64u /* processes that are simulated of a larger one */
#define KNOW_ALL   2u
#define BURST      2u  /* messages to a partner in an iteration */
#define COLLECT    4u  /* iterations from one allreduce to the next */
#define AT_RANDOM  16u /* likewise of a process from one message of a rank at random to the next */
#define EPOCH      1024u
#define DEGREES    32u
#define SLOT_BYTES 256u /* no message is longer */

enum part { START, RUN, CHANGE, RUN_ON, PARTS };

/* Messages to a process in each, in epochs. Before CHANGE all have new partners. */
static const uint32_t epochs[PARTS] = {[START] = 2, [RUN] = 3, [CHANGE] = 3, [RUN_ON] = 8};

struct load {
    uint32_t ranks;
    uint32_t partners;
    uint32_t live;  /* processes that are simulated */
    uint32_t steps; /* of an allreduce */
    struct job *job;
    struct sim_random random;
};

/* Sums over the live processes, of one part of the run. */
struct result {
    struct job_counts counts;
    uint64_t admitted;
    uint64_t recalled;
    uint64_t credits;
    uint32_t rings;   /* most that any process has memory for */
    uint32_t members; /* most in any polling set, at the end */
};

static uint32_t rank_of(const struct load *load, uint32_t live)
{
    return live * (load->ranks / load->live);
}

/* Distances of the partners among the live processes: both neighbours at 1, 2, 3 ..., or, when they
 * have changed, at distances that were not partners before, where there are such. */
static uint32_t distances(const struct load *load, bool changed, uint32_t distance[DEGREES])
{
    uint32_t first = changed ? load->partners / 2 + 1 : 1;
    uint32_t count = 0;

    for (uint32_t i = 0; count < load->partners && i < load->live; i++) {
        uint32_t next = (i % 2 == 0 ? first + i / 2 : load->live - first - i / 2) % load->live;
        bool known = next == 0;

        for (uint32_t j = 0; j < count; j++) {
            known = known || distance[j] == next;
        }
        if (!known) {
            distance[count++] = next;
        }
    }
    return count;
}

/* Whom the process meets in a step of an allreduce; another one in each, however few are live, and
 * beyond the first steps nobody near. */
static uint32_t mate(const struct load *load, uint32_t live, uint32_t step)
{
    static const uint32_t masks[] = {1, 2, 4, 8, 16, 32, 48, 40, 36, 52, 44, 34, 50, 42, 38, 46};

    return live ^ (load->ranks == load->live ? 1u << step : masks[step]);
}

static void iterate(struct load *load, const uint32_t *distance, uint32_t degree,
                    uint32_t iteration)
{
    for (uint32_t i = 0; i < load->live; i++) {
        for (uint32_t j = 0; j < degree * BURST; j++) {
            job_send(load->job, rank_of(load, i),
                     rank_of(load, (i + distance[j % degree]) % load->live),
                     8u << sim_random_below(&load->random, 5));
        }
    }
    job_run(load->job);
    for (uint32_t step = 0; iteration % COLLECT == 0 && step < load->steps; step++) {
        for (uint32_t i = 0; i < load->live; i++) {
            job_send(load->job, rank_of(load, i), rank_of(load, mate(load, i, step)), 8);
        }
        job_run(load->job);
    }
    for (uint32_t i = 0; i < load->live; i++) {
        uint32_t other = (uint32_t) sim_random_below(&load->random, load->ranks);

        if ((iteration + i) % AT_RANDOM == 0 && other != rank_of(load, i)) {
            job_send(load->job, other, rank_of(load, i), 8);
        }
    }
    job_run(load->job);
}

/* Adds up what the live processes have counted, and lets them count anew. */
static struct result harvest(struct load *load)
{
    struct result sum = {.members = 0};

    for (uint32_t i = 0; i < load->live; i++) {
        struct job_process *process = job_process(load->job, rank_of(load, i));
        struct rbuf_stats *stats = &process->core.stats;
        uint32_t members = inspect_polled(&process->core);

        sum.counts.received += process->counts.received;
        sum.counts.by_ring += process->counts.by_ring;
        sum.counts.passes += process->counts.passes;
        sum.counts.looked += process->counts.looked;
        sum.admitted += stats->ring_admitted;
        sum.recalled += stats->ring_recalled;
        sum.credits += stats->credits_written;
        sum.rings = process->ring_count > sum.rings ? process->ring_count : sum.rings;
        sum.members = members > sum.members ? members : sum.members;
        process->counts = (struct job_counts){0};
        stats->ring_admitted = stats->ring_recalled = stats->credits_written = 0;
    }
    return sum;
}

static double per(uint64_t part, uint64_t whole, double unit)
{
    return whole > 0 ? unit * (double) part / (double) whole : 0;
}

static void print(const struct load *load, const struct result result[PARTS])
{
    const struct rbuf_ring_options ring = job_defaults(1).ring;
    const struct result *end = &result[RUN_ON];
    uint64_t received = 0, admitted = 0, recalled = 0, credits = 0;

    for (int i = 0; i < PARTS; i++) {
        received += result[i].counts.received;
        admitted += result[i].admitted;
        recalled += result[i].recalled;
        credits += result[i].credits;
    }
    printf("| %5u | %2u + %2u | %4.2f | %2u | %4.1f |", load->ranks, load->partners, load->steps,
           (double) end->rings * (double) rbuf_ring_memory_bytes(&ring) / (1u << 20), end->members,
           per(end->counts.looked, end->counts.passes, 1));
    for (int i = 0; i < PARTS; i++) {
        printf(" %5.1f |", per(result[i].counts.by_ring, result[i].counts.received, 100));
    }
    printf(" %4.2f | %4.2f | %4.2f |\n", per(admitted, received, 1000),
           per(recalled, received, 1000), per(credits, received, 100));
}

/* Runs all parts and prints a line. */
static bool play(struct load *load)
{
    struct result result[PARTS];
    uint32_t distance[DEGREES];
    uint32_t iteration = 0;
    const char *wrong;

    for (int i = 0; i < PARTS; i++) {
        uint32_t degree = distances(load, i >= CHANGE, distance);
        uint32_t iterations = epochs[i] * EPOCH / (degree * BURST + load->steps / COLLECT);

        for (uint32_t j = 0; j < iterations; j++) {
            iterate(load, distance, degree, iteration++);
        }
        result[i] = harvest(load);
    }
    print(load, result);
    wrong = job_wrong(load->job);
    if (wrong != NULL) {
        fprintf(stderr, "scale: %u ranks, %u partners: %s\n", load->ranks, load->partners, wrong);
    }
    return wrong == NULL;
}

static bool run(uint32_t ranks, uint32_t partners, uint32_t set, uint32_t whole)
{
    struct job_options options = job_defaults(ranks);
    struct load load = {.ranks = ranks,
                        .partners = partners < ranks ? partners : ranks - 1,
                        .live = ranks <= whole ? ranks : LIVE,
                        .random = {ranks + partners}};
    bool right;

    while (1u << load.steps < ranks) {
        load.steps++;
    }
    options.ring.set = set;
    options.ring.slot_bytes = SLOT_BYTES;
    options.ring.longest = 0;
    load.job = job_open(&options);
    for (uint32_t i = 0; i < KNOW_ALL; i++) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            if (rank != rank_of(&load, i)) {
                (void) job_know(job_process(load.job, rank_of(&load, i)), rank);
            }
        }
    }
    right = play(&load);
    job_close(load.job);
    return right;
}

int main(int argc, char **argv)
{
    static const uint32_t ranks[] = {8, 64, 256, 1024, 4096, 16384, 65536};
    static const uint32_t partners[] = {4, 6, 8, 11};
    static const char *const names[] = {"--set", "--ranks", "--partners", "--whole"};
    uint32_t wanted[4] = {job_defaults(1).ring.set, 0, 0, 256};
    bool right = true;

    for (int i = 1; i + 1 < argc; i += 2) {
        for (int j = 0; j < 4; j++) {
            if (strcmp(argv[i], names[j]) == 0) {
                wanted[j] = (uint32_t) strtoul(argv[i + 1], NULL, 10);
            }
        }
    }
    printf(
        "| ranks | partners | MB | set | polled | start | then | change | then | in | out | "
        "credits |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        for (size_t j = 0; j < sizeof(partners) / sizeof(partners[0]); j++) {
            if ((wanted[1] == 0 || wanted[1] == ranks[i]) && partners[j] < ranks[i] &&
                (wanted[2] == 0 || wanted[2] == partners[j])) {
                right = run(ranks[i], partners[j], wanted[0], wanted[3]) && right;
            }
        }
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
