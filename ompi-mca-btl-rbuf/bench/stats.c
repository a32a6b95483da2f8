/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double middle_of_sorted(const double *values, int count)
{
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t) count, sizeof *values, compare_doubles);
    return middle_of_sorted(values, count);
}

/*
 * Adds one kind's median and interval to the summary, by its share of all times. The interval
 * goes by rank: how many of `count` times lie below the true median is binomial, with a mean of
 * count / 2 and a standard deviation of sqrt(count) / 2.
 */
static void add_kind(double *values, int count, double share, struct bench_summary *summary)
{
    qsort(values, (size_t) count, sizeof *values, compare_doubles);

    const double half = 1.96 * sqrt(count) / 2;
    const int low = (int) floor(count / 2.0 - half) - 1;
    const int high = (int) ceil(count / 2.0 + half);
    summary->median += share * middle_of_sorted(values, count);
    summary->low += share * values[low < 0 ? 0 : low];
    summary->high += share * values[high >= count ? count - 1 : high];
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
    qsort(values, (size_t) count, sizeof *values, compare_doubles);
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
