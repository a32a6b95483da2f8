/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "tune_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double quantile(double *values, int count)
{
    qsort(values, (size_t) count, sizeof *values, compare_doubles);
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

bool tune_least_squares(int terms, int points, const double (*x)[TUNE_TERMS], const double *y,
                        double *factors)
{
    double matrix[TUNE_TERMS][TUNE_TERMS + 1] = {{0}};
    double scale[TUNE_TERMS] = {0};

    for (int point = 0; point < points; point++) {
        const double weight = 1 / (y[point] * y[point]);

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
