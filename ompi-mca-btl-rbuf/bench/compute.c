/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A chain of multiplications, and how many of them a microsecond holds.
 */
#include "bench/compute.h"
#include "common/clock.h"

enum { CALIBRATIONS = 9, CALIBRATION_WORK = 20000 };

/* A chain of multiplications: each waits for the one before, so the time is a processor's own. */
void bench_compute(double work)
{
    volatile double start = 1.0; /* unknown to the compiler, as is what becomes of the result */
    double x = start;

    for (double i = 0; i < work; i++) {
        x = x * 1.0000001 + 1e-9;
    }
    start = x;
}

/* Work a microsecond: the best of several, since what disturbs only makes it less. */
static double calibrate(void)
{
    double best = 0;

    for (int i = 0; i < CALIBRATIONS; i++) {
        const double start = clock_us();
        bench_compute(CALIBRATION_WORK);
        const double rate = CALIBRATION_WORK / (clock_us() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

double bench_compute_work(double microseconds)
{
    static double rate;

    if (rate == 0) {
        rate = calibrate();
    }
    return rate * microseconds;
}
