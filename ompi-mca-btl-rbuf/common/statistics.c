/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The one median and the one interval of the tools; median.awk has the same median for scripts.
 */
#include "common/statistics.h"

#include <math.h>
#include <stdlib.h>

#define DEVIATIONS 1.96 /* of a normal distribution: 95 % of it */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

void stats_sort(double *values, int count)
{
    qsort(values, (size_t) count, sizeof *values, compare_doubles);
}

double stats_median(double *values, int count)
{
    stats_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

struct stats_median stats_median_interval(double *values, int count)
{
    const double half = DEVIATIONS * sqrt(count) / 2;
    const int low = (int) floor(count / 2.0 - half) - 1;
    const int high = (int) ceil(count / 2.0 + half);
    const double median = stats_median(values, count);

    return (struct stats_median){.value = median,
                                 .low = values[low < 0 ? 0 : low],
                                 .high = values[high >= count ? count - 1 : high]};
}
