/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the checksum takes beside the copy that it comes with: nanoseconds of rbuf_copy() and of
 * rbuf_copy_checksum(), median and least, and the ratio of the first to the second. Runs on one
 * processor.
 *
 *     checksum_time              by size and place, as a process of this machine has it
 *     checksum_time paths        4088 bytes by each set of instructions
 *     checksum_time candidates   4088 bytes by what was not taken
 *     checksum_time --check      fails where 4088 bytes have a ratio below 0.8
 *
 *     near     source and target in the nearest cache, the same each time
 *     staging  a message of 1 MB, block after block, into 64 blocks in turn
 *     cold     a message of 64 MB into them: the source is in no cache
 *     out      64 blocks into a target of 64 MB: what the receiver does
 *
 * Samples of what is compared follow on each other, so that the machine is as busy for one as for
 * the other.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum_candidates.h"
#include "common/clock.h"
#include "common/statistics.h"
#include "core/base/checksum_paths.h"
#include "core/base/copy.h"
#include "side.h"

#define SAMPLES 301u
#define MOST    8u /* that are compared */
#define PAYLOAD 4088u
#define LIMIT   0.8
#define STAGING (64u * 4096u)
#define LARGE   (64u << 20)
#define SLACK   (1u << 17) /* so much may be copied from the last byte on */
#define TURN    (100u * PAYLOAD)

enum place { PLACE_NEAR, PLACE_STAGING, PLACE_COLD, PLACE_OUT, PLACES };

static const struct {
    const char *name;
    size_t from, to; /* bytes after which it begins anew */
} place_of[PLACES] = {
    [PLACE_NEAR] = {"near", 1, 1},
    [PLACE_STAGING] = {"staging", 1u << 20, STAGING},
    [PLACE_COLD] = {"cold", LARGE, STAGING},
    [PLACE_OUT] = {"out", STAGING, LARGE},
};

struct timed {
    checksum_candidate *call;
    double median, least;
};

static unsigned char *source, *target;
static volatile uint64_t sink; /* the compiler must not leave anything out */

static uint64_t copy(void *to, const void *from, size_t bytes)
{
    rbuf_copy(to, from, bytes);
    return 0;
}

static uint64_t portable(void *to, const void *from, size_t bytes)
{
    return rbuf_copy_checksum_by(RBUF_CHECKSUM_PORTABLE, to, from, bytes);
}

static uint64_t sse2(void *to, const void *from, size_t bytes)
{
    return rbuf_copy_checksum_by(RBUF_CHECKSUM_SSE2, to, from, bytes);
}

static uint64_t avx2(void *to, const void *from, size_t bytes)
{
    return rbuf_copy_checksum_by(RBUF_CHECKSUM_AVX2, to, from, bytes);
}

/* One sample: ns a call. Blocks of staging are 8 bytes further apart than their payload. */
static double sample(checksum_candidate *call, enum place place, size_t bytes, size_t *begin)
{
    const unsigned calls = (unsigned) (TURN / bytes < 2000 ? TURN / bytes : 2000);
    size_t from = *begin % place_of[place].from, to = *begin % place_of[place].to;
    double start = clock_ns();

    for (unsigned i = 0; i < calls; i++) {
        sink = call(target + to, source + from, bytes);
        from += place == PLACE_OUT ? bytes + 8 : bytes;
        to += place == PLACE_OUT ? bytes : bytes + 8;
        from = from < place_of[place].from ? from : 0;
        to = to < place_of[place].to ? to : 0;
    }
    *begin += calls * (bytes + 8);
    return (clock_ns() - start) / calls;
}

static void compare(struct timed *timed, unsigned count, enum place place, size_t bytes)
{
    static double samples[MOST][SAMPLES];
    size_t begin = 0;

    for (unsigned i = 0; i < SAMPLES; i++) {
        for (unsigned k = 0; k < count; k++) {
            samples[k][i] = sample(timed[k].call, place, bytes, &begin);
        }
    }
    for (unsigned k = 0; k < count; k++) {
        timed[k].median = stats_median(samples[k], SAMPLES);
        timed[k].least = samples[k][0];
    }
}

static void time_sizes(void)
{
    static const size_t sizes[] = {32, 40, 64, 128, 256, 512, 1024, 4088, 4096, 16384, 65528};

    printf("| place | bytes | copy, ns | least | with the checksum, ns | least | ratio | least |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int place = 0; place < PLACES; place++) {
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct timed timed[] = {{.call = copy}, {.call = rbuf_copy_checksum}};

            compare(timed, 2, (enum place) place, sizes[i]);
            printf("| %s | %zu | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f |\n", place_of[place].name,
                   sizes[i], timed[0].median, timed[0].least, timed[1].median, timed[1].least,
                   timed[0].median / timed[1].median, timed[0].least / timed[1].least);
        }
    }
}

/* A row for each of timed[1..count) against timed[0], a column for each place. */
static void time_each(struct timed *timed, const char *const *name, unsigned count)
{
    double ratio[MOST][PLACES];

    for (int place = 0; place < PLACES; place++) {
        compare(timed, count, (enum place) place, PAYLOAD);
        for (unsigned k = 1; k < count; k++) {
            ratio[k][place] = timed[0].median / timed[k].median;
        }
    }
    for (unsigned k = 1; k < count; k++) {
        printf("| %s |", name[k]);
        for (int place = 0; place < PLACES; place++) {
            printf(" %.2f |", ratio[k][place]);
        }
        printf("\n");
    }
}

static void time_paths(void)
{
    static checksum_candidate *const calls[] = {portable, sse2, avx2};
    const char *name[MOST] = {"rbuf_copy()", "portable", "SSE2", "AVX2"};
    struct timed timed[MOST] = {{.call = copy}};
    unsigned count = 1;

    printf("| instructions | near | staging | cold | out |\n| --- | --- | --- | --- | --- |\n");
    for (int path = 0; path < RBUF_CHECKSUM_PATHS; path++) {
        if (rbuf_checksum_has((enum rbuf_checksum_path) path)) {
            timed[count++].call = calls[path];
        }
    }
    time_each(timed, name, count);
}

static void time_candidates(void)
{
    struct candidate candidate[CANDIDATES];
    struct timed timed[MOST] = {{.call = copy}};
    const char *name[MOST] = {"rbuf_copy()"};
    unsigned count = 1;

    checksum_candidates(candidate);
    printf("| checksum | near | staging | cold | out |\n| --- | --- | --- | --- | --- |\n");
    for (unsigned i = 0; i < CANDIDATES; i++) {
        if (candidate[i].call != NULL) {
            name[count] = candidate[i].name;
            timed[count++].call = candidate[i].call;
        }
    }
    name[count] = "rbuf_copy_checksum()";
    timed[count++].call = rbuf_copy_checksum;
    time_each(timed, name, count);
}

static int check(void)
{
    int status = EXIT_SUCCESS;

    for (int place = 0; place < PLACES; place++) {
        struct timed timed[] = {{.call = copy}, {.call = rbuf_copy_checksum}};
        double ratio;

        compare(timed, 2, (enum place) place, PAYLOAD);
        ratio = timed[0].median / timed[1].median;
        printf("%s: %.2f, limit %.2f\n", place_of[place].name, ratio, LIMIT);
        if (ratio < LIMIT) {
            status = EXIT_FAILURE;
        }
    }
    return status;
}

static void stay_here(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((unsigned) sched_getcpu(), &one);
    (void) sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (argc > 2) {
        what = "?";
    }
    stay_here();
    source = side_allocate(LARGE + SLACK);
    target = side_allocate(LARGE + SLACK);
    if (strcmp(what, "") == 0) {
        time_sizes();
    } else if (strcmp(what, "paths") == 0) {
        time_paths();
    } else if (strcmp(what, "candidates") == 0) {
        time_candidates();
    } else if (strcmp(what, "--check") == 0) {
        return check();
    } else {
        fprintf(stderr, "usage: checksum_time [paths | candidates | --check]\n");
        return 2;
    }
    return EXIT_SUCCESS;
}
