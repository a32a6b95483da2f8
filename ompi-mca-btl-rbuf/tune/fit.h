/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What repeated measurements say: one time a point, and least squares through them.
 *
 * A round measures every point once, so that a disturbance that lasts hits all points alike. What
 * else a machine does only ever adds time, so that of the rounds it is not the middle that counts
 * but the TUNE_QUANTILE: a machine that is busy for most of the time is still measured. A constant
 * is estimated from these; its spread is that of the estimates from each of TUNE_GROUPS shares of
 * the rounds.
 */
#ifndef RBUF_TUNE_FIT_H
#define RBUF_TUNE_FIT_H

#include <stdbool.h>

enum { TUNE_POINTS = 32, TUNE_ROUNDS = 256, TUNE_GROUPS = 4, TUNE_TERMS = 3 };

#define TUNE_QUANTILE 0.1

/* Times of `rounds` rounds, in ns. */
struct tune_samples {
    int points; /* at most TUNE_POINTS */
    int rounds; /* at most TUNE_ROUNDS */
    double ns[TUNE_POINTS][TUNE_ROUNDS];
};

struct tune_constant {
    double value;
    double low, high; /* of the estimates from a share of the rounds */
};

/* The quantile over the rounds r with r % groups == group, of each point; 0 where there is none. */
void tune_typical(const struct tune_samples *samples, int groups, int group, double *times);

/* Works out constants from one time a point; `about` is what else it has to know. */
typedef void tune_estimate(const void *about, const double *times, double *values);

/* `count` <= TUNE_POINTS constants with their spread. There must be TUNE_GROUPS rounds or more, or
 * the spread is that of the value itself. */
void tune_constants(const struct tune_samples *samples, tune_estimate *estimate, const void *about,
                    struct tune_constant *constants, int count);

/*
 * Least squares: the factors of y[i] = sum over t of factors[t] * x[i][t], for `terms` <=
 * TUNE_TERMS terms and `points` <= TUNE_POINTS. Relative errors count, not absolute ones: every y
 * must be above 0. Points that lie far above the rest were disturbed and are left out. False, and
 * factors unchanged, if the points do not determine them.
 */
bool tune_least_squares(int terms, int points, const double (*x)[TUNE_TERMS], const double *y,
                        double *factors);

#endif
