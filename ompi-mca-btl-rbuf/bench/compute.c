/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A chain of multiplications, and how many of them a microsecond holds.
 */
#define _GNU_SOURCE
#include "bench/compute.h"
#include "common/clock.h"

#include <stdlib.h>

enum { CALIBRATIONS = 9, CALIBRATION_WORK = 20000, LINE = 64, STRIDE = 37 /* in lines */ };

/* Kept to the end; NULL also where there is no memory. */
static char *working_set(size_t bytes)
{
    static char *memory;

    if (memory == NULL && bytes >= LINE) {
        memory = calloc(bytes / LINE, LINE);
    }
    return bytes >= LINE ? memory : NULL;
}

/* A chain of multiplications: each waits for the one before, so the time is a processor's own. On
 * memory each changes a line, in an order that no prefetcher follows; a call goes on where the last
 * one ended. */
void bench_compute(size_t bytes, double work)
{
    static size_t at;
    char *memory = working_set(bytes);
    const size_t lines = bytes / LINE;
    volatile double start = 1.0; /* unknown to the compiler, as is what becomes of the result */
    double x = start;

    for (double i = 0; i < work; i++) {
        x = x * 1.0000001 + 1e-9;
        if (memory != NULL) {
            double *line = (double *) (void *) (memory + at * LINE);

            x += *line * 1e-9;
            *line = x;
            at = (at + STRIDE) % lines;
        }
    }
    start = x;
}

/* Work a microsecond: the best of several, since what disturbs only makes it less. */
static double calibrate(size_t bytes)
{
    double best = 0;

    for (int i = 0; i < CALIBRATIONS; i++) {
        const double start = clock_us();
        bench_compute(bytes, CALIBRATION_WORK);
        const double rate = CALIBRATION_WORK / (clock_us() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

double bench_compute_work(size_t bytes, double microseconds)
{
    static double rate[2]; /* without memory, and on it */
    double *known = &rate[bytes > 0];

    if (*known == 0) {
        *known = calibrate(bytes);
    }
    return *known * microseconds;
}
