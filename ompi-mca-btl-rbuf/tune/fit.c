/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Quantiles over rounds, and least squares by the normal equations.
 */
#include "tune/fit.h"

#include "common/statistics.h"

#include <math.h>
#include <string.h>

#define FAR  3.0
#define NEAR 0.002 /* relative: so far off is never out of the ordinary */

static double quantile(double *values, int count)
{
    stats_sort(values, count);
    return values[(int) (TUNE_QUANTILE * (count - 1) + 0.5)];
}

void tune_typical(const struct tune_samples *samples, int groups, int group, double *times)
{
    double values[TUNE_ROUNDS];

    for (int point = 0; point < samples->points; point++) {
        int count = 0;

        for (int round = group; round < samples->rounds; round += groups) {
            values[count++] = samples->ns[point][round];
        }
        times[point] = count > 0 ? quantile(values, count) : 0;
    }
}

void tune_constants(const struct tune_samples *samples, tune_estimate *estimate, const void *about,
                    struct tune_constant *constants, int count)
{
    const int groups = samples->rounds >= TUNE_GROUPS ? TUNE_GROUPS : 0;
    double times[TUNE_POINTS] = {0}, values[TUNE_POINTS] = {0};

    tune_typical(samples, 1, 0, times);
    estimate(about, times, values);
    for (int i = 0; i < count; i++) {
        constants[i] = (struct tune_constant){values[i], values[i], values[i]};
    }
    for (int group = 0; group < groups; group++) {
        tune_typical(samples, groups, group, times);
        estimate(about, times, values);
        for (int i = 0; i < count; i++) {
            constants[i].low = fmin(constants[i].low, values[i]);
            constants[i].high = fmax(constants[i].high, values[i]);
        }
    }
}

/* Swaps rows so that the greatest element of the column is in the diagonal; false if all are 0. */
static bool pivot(double (*matrix)[TUNE_TERMS + 1], int terms, int column, double scale)
{
    int best = column;
    double row[TUNE_TERMS + 1];

    for (int i = column + 1; i < terms; i++) {
        if (fabs(matrix[i][column]) > fabs(matrix[best][column])) {
            best = i;
        }
    }
    memcpy(row, matrix[column], sizeof row);
    memcpy(matrix[column], matrix[best], sizeof row);
    memcpy(matrix[best], row, sizeof row);
    return fabs(matrix[column][column]) > scale * 1e-12;
}

/* Solves the system whose right side is the last column, into that column. */
static bool solve(double (*matrix)[TUNE_TERMS + 1], int terms, const double *scale)
{
    for (int column = 0; column < terms; column++) {
        if (!pivot(matrix, terms, column, scale[column])) {
            return false;
        }
        for (int i = 0; i < terms; i++) {
            const double share = matrix[i][column] / matrix[column][column];

            for (int k = 0; i != column && k <= TUNE_TERMS; k++) {
                matrix[i][k] -= share * matrix[column][k];
            }
        }
    }
    return true;
}

/* Through the points that are kept. */
static bool fit(int terms, int points, const double (*x)[TUNE_TERMS], const double *y,
                const bool *kept, double *factors)
{
    double matrix[TUNE_TERMS][TUNE_TERMS + 1] = {{0}};
    double scale[TUNE_TERMS] = {0};

    for (int point = 0; point < points; point++) {
        const double weight = kept[point] ? 1 / (y[point] * y[point]) : 0;

        for (int i = 0; i < terms; i++) {
            for (int k = 0; k < terms; k++) {
                matrix[i][k] += weight * x[point][i] * x[point][k];
            }
            matrix[i][TUNE_TERMS] += weight * x[point][i] * y[point];
        }
    }
    for (int i = 0; i < terms; i++) {
        scale[i] = matrix[i][i];
    }
    if (!solve(matrix, terms, scale)) {
        return false;
    }
    for (int i = 0; i < terms; i++) {
        factors[i] = matrix[i][TUNE_TERMS] / matrix[i][i];
    }
    return true;
}

/* Keeps the points that are not further above than FAR times what is usual; true if one is dropped
 * by that, and enough are left. */
static bool drop_disturbed(int terms, int points, const double (*x)[TUNE_TERMS], const double *y,
                           const double *factors, bool *kept)
{
    double above[TUNE_POINTS], sizes[TUNE_POINTS], most;
    int count = 0, dropped = 0;

    for (int point = 0; point < points; point++) {
        double expected = 0;

        for (int i = 0; i < terms; i++) {
            expected += factors[i] * x[point][i];
        }
        above[point] = y[point] / expected - 1;
        if (kept[point]) {
            sizes[count++] = fabs(above[point]);
        }
    }
    most = FAR * stats_median(sizes, count) + NEAR;
    for (int point = 0; point < points; point++) {
        if (kept[point] && above[point] > most && count - dropped > terms + 1) {
            kept[point] = false;
            dropped++;
        }
    }
    return dropped > 0;
}

bool tune_least_squares(int terms, int points, const double (*x)[TUNE_TERMS], const double *y,
                        double *factors)
{
    bool kept[TUNE_POINTS];
    double found[TUNE_TERMS];

    for (int point = 0; point < points; point++) {
        kept[point] = true;
    }
    do {
        if (!fit(terms, points, x, y, kept, found)) {
            return false;
        }
    } while (drop_disturbed(terms, points, x, y, found, kept));
    memcpy(factors, found, (size_t) terms * sizeof *found);
    return true;
}
