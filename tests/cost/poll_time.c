/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How long one pass over idle rings takes, in nanoseconds: median, and 10th to 90th percentile.
 *
 *     poll_time [RINGS...]    16, 128 and 1024 by default; runs on one processor
 *
 *     warm      pass after pass, as in a wait with nothing else to do
 *     after L2  between two passes 4 MB are read: what was near the processor is not any more
 *     after L3  likewise 128 MB: nothing is in any cache
 *
 * A warm sample is the mean of as many passes as take some microseconds; the others are one pass
 * each, less what it takes to read the clock twice. Beside it stands what Liu, Wu and Panda 2004
 * (section 6.5) found for 16 and 128 connections on its cluster of 2002.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/statistics.h"
#include "side.h"

#define SAMPLES    401u
#define WARM_POLLS 16384u /* rings looked at in a sample, about */
#define LINE       64u

struct spread {
    double low, median, high;
};

static struct spread spread_of(double *sample, unsigned count)
{
    const double median = stats_median(sample, (int) count);

    return (struct spread){sample[count / 10], median, sample[count - 1 - count / 10]};
}

static void poll_once(struct rbuf_core *core)
{
    if (rbuf_core_poll(core) != 0) {
        side_die("poll_time: a message out of nowhere");
    }
}

static struct spread warm(struct rbuf_core *core, uint32_t rings)
{
    unsigned passes = WARM_POLLS / rings;
    double sample[SAMPLES];

    for (unsigned i = 0; i < SAMPLES; i++) {
        double start = clock_ns();

        for (unsigned j = 0; j < passes; j++) {
            poll_once(core);
        }
        sample[i] = (clock_ns() - start) / passes;
    }
    return spread_of(sample, SAMPLES);
}

static double clock_cost(void)
{
    double sample[SAMPLES];

    for (unsigned i = 0; i < SAMPLES; i++) {
        double start = clock_ns();

        sample[i] = clock_ns() - start;
    }
    return spread_of(sample, SAMPLES).median;
}

/* Reads so many bytes between two passes. */
static struct spread after_other_work(struct rbuf_core *core, size_t bytes, unsigned samples)
{
    const volatile unsigned char *work = side_allocate(bytes);
    double sample[SAMPLES], clock = clock_cost();

    for (unsigned i = 0; i < samples; i++) {
        double start;

        for (size_t at = 0; at < bytes; at += LINE) {
            (void) work[at];
        }
        start = clock_ns();
        poll_once(core);
        sample[i] = clock_ns() - start - clock;
    }
    free((void *) (uintptr_t) work);
    return spread_of(sample, samples);
}

static void print(struct spread spread)
{
    printf(" %.0f (%.0f - %.0f) |", spread.median, spread.low, spread.high);
}

static const char *of_paper(uint32_t rings)
{
    return rings == 16 ? "140" : rings == 128 ? "1300" : "";
}

static void measure(uint32_t rings)
{
    struct rbuf_core *core = side_idle_rings(rings);

    printf("| %u |", rings);
    (void) warm(core, rings); /* whatever comes first is slow */
    print(warm(core, rings));
    print(after_other_work(core, 4u << 20, SAMPLES));
    print(after_other_work(core, 128u << 20, SAMPLES / 4));
    printf(" %s |\n", of_paper(rings));
}

/* Where it is now is as good as anywhere. */
static void stay_here(void)
{
    cpu_set_t here;
    int processor = sched_getcpu();

    CPU_ZERO(&here);
    CPU_SET(processor < 0 ? 0 : processor, &here);
    if (sched_setaffinity(0, sizeof(here), &here) != 0) {
        perror("poll_time: not pinned");
    }
}

int main(int argc, char **argv)
{
    static const uint32_t usual[] = {16, 128, 1024};

    stay_here();
    printf("| rings | warm, ns | after L2, ns | after L3, ns | Liu et al., ns |\n"
           "| --- | --- | --- | --- | --- |\n");
    for (int i = 1; i < argc; i++) {
        uint32_t rings = (uint32_t) strtoul(argv[i], NULL, 10);

        if (rings == 0 || rings > WARM_POLLS) {
            fprintf(stderr, "usage: poll_time [RINGS...], 1 to %u each\n", WARM_POLLS);
            return 2;
        }
        measure(rings);
    }
    for (size_t i = 0; argc == 1 && i < sizeof(usual) / sizeof(usual[0]); i++) {
        measure(usual[i]);
    }
    return EXIT_SUCCESS;
}
