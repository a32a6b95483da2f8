/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the times of many repetitions say.
 *
 * Where only a share of the repetitions used buffers again there are two kinds of times, and a
 * median over both would jump from one to the other at one half. Then median, low and high are
 * those of each kind, weighted by its share.
 */
#ifndef RBUF_BENCH_SUMMARY_H
#define RBUF_BENCH_SUMMARY_H

#include <stdbool.h>

struct bench_summary {
    double first, best, mean, p10, p90;
    double median, low, high; /* low to high holds the median with a probability of 95 % */
};

/*
 * Summarises times[0..count), count > 0, in any unit. reused[i] says of which kind times[i] is.
 * False if there is no memory.
 */
bool bench_summarize(const double *times, const bool *reused, int count,
                     struct bench_summary *summary);

#endif
