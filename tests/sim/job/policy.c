/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Attacks the policy of the polling set: who comes into it, who leaves it, how soon and how often.
 *
 *     policy [SEEDS [FIRST]]    prints a line for each attack; exit status 1 if one succeeded
 *
 * In all but the last ones many processes send to process 0. A round is some messages from each of
 * them: as many as its rate says, half of that more or less, by chance. So those with the same rate
 * are alike, but never equal for long.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../random.h"
#include "inspect/eager.h"
#include "job.h"

#define EPOCH 1024u
#define MANY  64u

static const char *attack;
static bool failed;
static struct job *job;
static struct sim_random numbers;

static void __attribute__((format(printf, 2, 3))) require(bool holds, const char *format, ...)
{
    va_list arguments;

    if (holds) {
        return;
    }
    printf("FAIL: %s, seed %llu: ", attack, (unsigned long long) numbers.state);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    failed = true;
}

static void open_job(const struct job_options *options)
{
    job = job_open(options);
    (void) job_process(job, 0);
}

static void close_job(void)
{
    const char *wrong = job_wrong(job);

    require(wrong == NULL, "%s", wrong);
    job_close(job);
}

static struct rbuf_core *core(void)
{
    return &job_process(job, 0)->core;
}

/* `rounds` rounds with about `rate[i]` messages from each process i + 1 to process 0. Returns the
 * share that came by rings, per cent. */
static unsigned many_to_one(const unsigned *rate, unsigned senders, unsigned rounds)
{
    struct job_counts *counts = &job_process(job, 0)->counts;

    *counts = (struct job_counts){.sent = counts->sent};
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < senders; i++) {
            uint64_t messages = (rate[i] + 1) / 2 + sim_random_below(&numbers, rate[i] + 1);

            while (messages-- > 0) {
                job_send(job, i + 1, 0, 8);
            }
        }
        job_run(job);
    }
    return counts->received > 0 ? (unsigned) (100 * counts->by_ring / counts->received) : 0;
}

static void fill(unsigned *rate, unsigned from, unsigned to, unsigned value)
{
    for (unsigned i = from; i < to; i++) {
        rate[i] = value;
    }
}

/* ---- attacks ---- */

/* One more partner than there are places, all alike: who is in stays in. */
static void alike_at_the_edge(void)
{
    static const unsigned sets[] = {1, 2, 4, 8, 10, 15};
    unsigned rate[16];

    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct job_options options = job_defaults(MANY);

        options.ring.set = sets[i];
        options.ring.threshold = i % 2 == 0 ? 16 : 1;
        open_job(&options);
        fill(rate, 0, sets[i] + 1, 4);
        (void) many_to_one(rate, sets[i] + 1, 100 * EPOCH / (4 * (sets[i] + 1)));
        require(core()->stats.ring_recalled == 0, "%llu left a set of %u in 100 epochs",
                (unsigned long long) core()->stats.ring_recalled, sets[i]);
        close_job();
    }
}

/* The same in bursts that few of fit into a ring: who is in is as warm as who is out. */
static void alike_with_full_rings(void)
{
    unsigned rate[5];

    for (uint32_t slots = 2; slots <= 32; slots *= 2) {
        struct job_options options = job_defaults(MANY);

        options.ring.set = 4;
        options.ring.slots = slots;
        open_job(&options);
        fill(rate, 0, 5, 64);
        (void) many_to_one(rate, 5, 100 * EPOCH / (5 * 64));
        require(core()->stats.ring_recalled == 0, "%llu left, with rings of %u slots",
                (unsigned long long) core()->stats.ring_recalled, slots);
        close_job();
    }
}

/* Eleven partners and fewer places: the places are used, and nobody is chased. */
static void fewer_places_than_partners(void)
{
    unsigned rate[11];

    for (unsigned places = 1; places <= 11; places++) {
        struct job_options options = job_defaults(MANY);
        unsigned share;

        options.ring.set = places;
        open_job(&options);
        fill(rate, 0, 11, 2);
        (void) many_to_one(rate, 11, 4 * EPOCH / 22);
        share = many_to_one(rate, 11, 100 * EPOCH / 22);
        require(share + 2 >= 100 * places / 11, "%u places take %u %%", places, share);
        require(core()->stats.ring_recalled == 0, "%llu left a set of %u",
                (unsigned long long) core()->stats.ring_recalled, places);
        close_job();
    }
}

/* One place, and one of eleven partners sends four times as much: the place becomes its own. */
static void one_place_for_the_warmest(void)
{
    struct job_options options = job_defaults(MANY);
    unsigned rate[11];

    options.ring.set = 1;
    open_job(&options);
    for (unsigned turn = 0; turn < 11; turn++) {
        fill(rate, 0, 11, 2);
        rate[turn] = 8;
        (void) many_to_one(rate, 11, 5 * EPOCH / 28);
        require(inspect_is_polled(job_know(job_process(job, 0), turn + 1)->peer),
                "the busiest, %u, is not in after five epochs", turn + 1);
    }
    require(core()->stats.ring_recalled <= 11, "%llu changes for 11",
            (unsigned long long) core()->stats.ring_recalled);
    close_job();
}

/* All partners change: four epochs later the new ones have the rings, and after eight more the
 * set is as small as it was. */
static void partners_change(void)
{
    struct job_options options = job_defaults(MANY);
    unsigned rate[33], share;

    open_job(&options);
    for (unsigned turn = 0; turn < 6; turn++) {
        fill(rate, 0, 33, 0);
        fill(rate, turn % 3 * 11, turn % 3 * 11 + 11, 4);
        (void) many_to_one(rate, 33, 4 * EPOCH / 44);
        share = many_to_one(rate, 33, 8 * EPOCH / 44);
        require(share >= 99, "%u %% after the change", share);
        (void) many_to_one(rate, 33, 2 * EPOCH / 44);
        require(inspect_polled(core()) == 11, "%u are polled", inspect_polled(core()));
    }
    require(core()->stats.ring_recalled <= 5 * 11, "%llu left",
            (unsigned long long) core()->stats.ring_recalled);
    close_job();
}

/* Partners change at every epoch: the set cannot follow, and does not run after them either. */
static void partners_never_stay(void)
{
    struct job_options options = job_defaults(MANY);
    unsigned rate[33];

    options.ring.set = 11;
    open_job(&options);
    for (unsigned turn = 0; turn < 200; turn++) {
        fill(rate, 0, 33, 0);
        fill(rate, turn % 3 * 11, turn % 3 * 11 + 11, 4);
        (void) many_to_one(rate, 33, EPOCH / 44);
    }
    require(core()->stats.ring_recalled <= inspect_epochs(core()) * 11ull / 2,
            "%llu left in %u epochs", (unsigned long long) core()->stats.ring_recalled,
            inspect_epochs(core()));
    close_job();
}

/* A member that is asked to leave computes: the others are not kept waiting. */
static void member_that_computes(void)
{
    struct job_options options = job_defaults(MANY);
    unsigned rate[8] = {0}, share;

    options.ring.set = 4;
    open_job(&options);
    fill(rate, 0, 4, 4);
    (void) many_to_one(rate, 8, 4 * EPOCH / 16);
    job_hold(job_process(job, 1));
    fill(rate, 0, 4, 0);
    fill(rate, 4, 8, 4);
    (void) many_to_one(rate, 8, 5 * EPOCH / 16);
    share = many_to_one(rate, 8, 4 * EPOCH / 16);
    require(share >= 73, "three of four places take %u %%", share);
    job_release(job_process(job, 1));
    job_run(job);
    (void) many_to_one(rate, 8, EPOCH / 16);
    share = many_to_one(rate, 8, 4 * EPOCH / 16);
    require(share == 100, "four of four take %u %%", share);
    close_job();
}

/* Some peers have no memory for rings: they are asked ever less often. */
static void peers_without_memory(void)
{
    struct job_options options = job_defaults(MANY);
    unsigned rate[8];

    open_job(&options);
    for (uint32_t rank = 1; rank <= 4; rank++) {
        rbuf_ring_memory_give(&job_process(job, rank)->core, NULL);
    }
    fill(rate, 0, 8, 4);
    (void) many_to_one(rate, 8, 500 * EPOCH / 32);
    require(core()->stats.ring_admitted <= 4 + 4 * 10, "%llu were invited",
            (unsigned long long) core()->stats.ring_admitted);
    require(inspect_polled(core()) == 4, "%u are polled", inspect_polled(core()));
    close_job();
}

/* Memory for fewer rings than there are places: it goes to the busiest. */
static void memory_for_few(void)
{
    struct job_options options = job_defaults(MANY);
    unsigned rate[8], share;

    options.ring_memory = 2;
    open_job(&options);
    fill(rate, 0, 8, 2);
    (void) many_to_one(rate, 8, 4 * EPOCH / 16);
    rate[6] = rate[7] = 12;
    (void) many_to_one(rate, 8, 6 * EPOCH / 36);
    share = many_to_one(rate, 8, 10 * EPOCH / 36);
    require(share >= 64, "two rings take %u %%", share);
    close_job();
}

/* Process 0 sends to sixteen others, then to others, then to others, and hears nothing: those of
 * before, who hear nothing more from anybody, do not keep its rings. */
static void old_receivers_are_idle(void)
{
    struct job_options options = job_defaults(128);
    const uint32_t most = rbuf_rings_out_most(&options.ring);

    open_job(&options);
    for (uint32_t turn = 0; turn < 6; turn++) {
        uint64_t before = 0, by_ring = 0;

        for (unsigned round = 0; round < 12 * EPOCH; round++) {
            for (uint32_t i = 1; i <= 16; i++) {
                struct job_counts *counts = &job_process(job, 16 * turn + i)->counts;

                job_send(job, 0, 16 * turn + i, 8);
                before = round == 8 * EPOCH ? before + counts->by_ring : before;
                by_ring = round == 12 * EPOCH - 1 ? by_ring + counts->by_ring : by_ring;
            }
            job_run(job);
        }
        by_ring -= before;
        require(by_ring >= 4 * EPOCH * 16 * 95 / 100, "%llu by rings in turn %u",
                (unsigned long long) by_ring, turn);
        require(inspect_rings_out(core()) <= most, "%u rings", inspect_rings_out(core()));
    }
    close_job();
}

/* ---- random jobs ---- */

#define JOB_RANKS 20u

/* Anybody to anybody: each has partners of its own, some warmer than others, and changes them. */
static void play(uint32_t phases)
{
    uint32_t partner[JOB_RANKS][6];

    for (uint32_t phase = 0; phase < phases; phase++) {
        uint64_t rounds = 1 + sim_random_below(&numbers, 200);
        uint64_t burst = sim_random_size(&numbers, 80);

        for (uint32_t i = 0; i < JOB_RANKS * 6; i++) {
            partner[i / 6][i % 6] = (uint32_t) sim_random_below(&numbers, JOB_RANKS);
        }
        while (rounds-- > 0) {
            uint32_t held = (uint32_t) sim_random_below(&numbers, 4 * JOB_RANKS);

            if (held < JOB_RANKS) {
                job_hold(job_process(job, held));
            }
            for (uint32_t i = 0; i < JOB_RANKS; i++) {
                uint64_t which = sim_random_size(&numbers, 6) - 1;

                for (uint64_t j = sim_random_below(&numbers, burst + 1); j > 0; j--) {
                    if (partner[i][which] != i) {
                        job_send(job, i, partner[i][which],
                                 8 + (uint32_t) sim_random_size(&numbers, 700));
                    }
                }
            }
            job_run(job);
            if (held < JOB_RANKS && rounds % 3 == 0) {
                job_release(job_process(job, held));
            }
        }
        for (uint32_t i = 0; i < JOB_RANKS; i++) {
            job_release(job_process(job, i));
        }
        job_run(job);
    }
}

/* Whatever happens: all arrives in order, and the set changes by no more than it promises. */
static void random_jobs(void)
{
    struct job_options options = job_defaults(JOB_RANKS);

    options.ring.set = (uint32_t) sim_random_size(&numbers, 12);
    options.ring.slots = 2 + (uint32_t) sim_random_size(&numbers, 30);
    options.ring.slot_bytes = 64 * (2 + (uint32_t) sim_random_below(&numbers, 14));
    options.ring.threshold = (uint32_t) sim_random_size(&numbers, 32);
    options.window = (uint16_t) sim_random_size(&numbers, 64);
    if (sim_random_below(&numbers, 4) == 0) {
        options.ring_memory = (uint32_t) sim_random_below(&numbers, 2 * options.ring.set);
    }
    open_job(&options);
    play(12);
    for (uint32_t i = 0; i < JOB_RANKS; i++) {
        const struct rbuf_core *one = &job_process(job, i)->core;
        uint64_t bound = (uint64_t) options.ring.set * (inspect_epochs(one) + 1) / 2;

        require(one->stats.ring_recalled <= bound, "%llu left %u places in %u epochs",
                (unsigned long long) one->stats.ring_recalled, options.ring.set,
                inspect_epochs(one));
    }
    close_job();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } attacks[] = {{"alike at the edge", alike_at_the_edge},
                   {"alike with full rings", alike_with_full_rings},
                   {"fewer places than partners", fewer_places_than_partners},
                   {"one place for the busiest", one_place_for_the_warmest},
                   {"partners change", partners_change},
                   {"partners never stay", partners_never_stay},
                   {"a member that computes", member_that_computes},
                   {"peers without memory", peers_without_memory},
                   {"memory for few", memory_for_few},
                   {"old receivers are idle", old_receivers_are_idle},
                   {"random jobs", random_jobs}};
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 5;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        bool before = failed;

        attack = attacks[i].name;
        failed = false;
        for (uint64_t seed = first; seed < first + seeds; seed++) {
            numbers.state = seed;
            attacks[i].run();
        }
        printf("%s: %s\n", attack, failed ? "failed" : "held");
        failed = failed || before;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
