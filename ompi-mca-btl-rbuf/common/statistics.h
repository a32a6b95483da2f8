/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Order statistics of repeated measurements, in any unit. Every function sorts the values that it
 * is given and keeps nothing. Any thread.
 */
#ifndef RBUF_COMMON_STATISTICS_H
#define RBUF_COMMON_STATISTICS_H

/* A median, and the interval that holds the true one with a probability of 95 %. */
struct stats_median {
    double value;
    double low, high;
};

/* Sorts values[0..count) upwards. */
void stats_sort(double *values, int count);

/* The median of values[0..count), count > 0; of an even number the mean of the middle two. */
double stats_median(double *values, int count);

/*
 * The same with its interval, which goes by rank: how many of `count` values lie below the true
 * median is binomial, with a mean of count / 2 and a standard deviation of sqrt(count) / 2. Of few
 * values the interval is all there are.
 */
struct stats_median stats_median_interval(double *values, int count);

#endif
