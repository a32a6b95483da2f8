/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Summarises the times of a case.
 */
#include "bench/summary.h"

#include "common/statistics.h"

#include <stdlib.h>
#include <string.h>

/* Adds the median and the interval of one kind of times, by its share of all. */
static void add_kind(double *values, int count, double share, struct bench_summary *summary)
{
    const struct stats_median median = stats_median_interval(values, count);

    summary->median += share * median.value;
    summary->low += share * median.low;
    summary->high += share * median.high;
}

bool bench_summarize(const double *times, const bool *reused, int count,
                     struct bench_summary *summary)
{
    double *values = malloc((size_t) count * sizeof *values);
    struct bench_summary result = {.first = times[0]};

    if (values == NULL) {
        return false;
    }
    for (int kind = 0; kind < 2; kind++) {
        int n = 0;
        for (int i = 0; i < count; i++) {
            if (reused[i] == (kind == 1)) {
                values[n++] = times[i];
            }
        }
        if (n > 0) {
            add_kind(values, n, (double) n / count, &result);
        }
    }
    memcpy(values, times, (size_t) count * sizeof *values);
    stats_sort(values, count);
    for (int i = 0; i < count; i++) {
        result.mean += values[i] / count;
    }
    result.best = values[0];
    result.p10 = values[(count - 1) / 10];
    result.p90 = values[(count - 1) * 9 / 10];
    free(values);
    *summary = result;
    return true;
}
