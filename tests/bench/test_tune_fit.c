/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * rbuf-tune's quantiles and least squares, on data whose constants are known, with noise.
 */
#include "unit.h"

#include <math.h>

#include "tune/fit.h"

static uint64_t state;

/* 0 to 1, alike in every run. */
static double chance(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double) (state >> 11) / 9007199254740992.0;
}

/* A few per cent up, and now and then an interruption. */
static double disturbed(double ns)
{
    return ns * (1 + 0.03 * chance()) + (chance() < 0.1 ? 50000 * chance() : 0);
}

static void line_of(const void *about, const double *times, double *values)
{
    const int *points = about;
    double x[TUNE_POINTS][TUNE_TERMS] = {{0}};

    for (int i = 0; i < *points; i++) {
        x[i][0] = 1;
        x[i][1] = (double) (1 << 2 * i);
    }
    ck_assert(tune_least_squares(2, *points, x, times, values));
}

START_TEST(exact)
{
    const double x[4][TUNE_TERMS] = {{1, 10, 1}, {1, 10, 5}, {1, 100, 2}, {1, 200, 9}};
    double y[4], factors[TUNE_TERMS];

    for (int i = 0; i < 4; i++) {
        y[i] = 30 + 0.5 * x[i][1] + 7 * x[i][2];
    }
    ck_assert(tune_least_squares(3, 4, x, y, factors));
    ck_assert_double_eq_tol(factors[0], 30, 1e-6);
    ck_assert_double_eq_tol(factors[1], 0.5, 1e-6);
    ck_assert_double_eq_tol(factors[2], 7, 1e-6);
}
END_TEST

START_TEST(undetermined)
{
    const double x[3][TUNE_TERMS] = {{1, 10, 20}, {1, 20, 40}, {1, 30, 60}};
    const double y[3] = {1, 2, 3};
    double factors[TUNE_TERMS] = {-1, -1, -1};

    ck_assert(!tune_least_squares(3, 3, x, y, factors));
    ck_assert_double_eq(factors[0], -1);
    ck_assert(tune_least_squares(2, 3, x, y, factors));
}
END_TEST

/* Single points that were disturbed do not bend a line. */
START_TEST(outliers_are_left_out)
{
    double x[20][TUNE_TERMS], y[20], factors[TUNE_TERMS];

    state = 2;
    for (int i = 0; i < 20; i++) {
        x[i][0] = 1;
        x[i][1] = 10 * (i + 1);
        y[i] = (5 + 2 * x[i][1]) * (1 + 0.001 * chance()) * (i % 7 == 3 ? 1.4 : 1);
    }
    ck_assert(tune_least_squares(2, 20, x, y, factors));
    ck_assert_double_eq_tol(factors[0], 5, 0.1);
    ck_assert_double_eq_tol(factors[1], 2, 0.01);
}
END_TEST

/* A registration of 68 us and 200 ns a page comes out, outliers and all, within its spread. */
START_TEST(line_in_noise)
{
    static struct tune_samples samples = {.points = 7, .rounds = 60};
    struct tune_constant line[2];

    state = 1;
    for (int round = 0; round < samples.rounds; round++) {
        for (int i = 0; i < samples.points; i++) {
            samples.ns[i][round] = disturbed(68000 + 200.0 * (1 << 2 * i));
        }
    }
    tune_constants(&samples, line_of, &samples.points, line, 2);
    ck_assert_double_eq_tol(line[0].value, 68000, 0.04 * 68000);
    ck_assert_double_eq_tol(line[1].value, 200, 0.04 * 200);
    for (int i = 0; i < 2; i++) {
        ck_assert_double_le(line[i].low, line[i].value);
        ck_assert_double_ge(line[i].high, line[i].value);
        ck_assert_double_lt(line[i].high - line[i].low, 0.1 * line[i].value);
    }
}
END_TEST

/* A tenth of the rounds is below; what lasts for few rounds does not count. */
START_TEST(typical)
{
    static struct tune_samples samples = {.points = 2, .rounds = 15};
    double found[2];

    for (int round = 0; round < 15; round++) {
        samples.ns[0][round] = round + 1;
        samples.ns[1][round] = round == 3 ? 1e9 : 7;
    }
    tune_typical(&samples, 1, 0, found);
    ck_assert_double_eq(found[0], 2);
    ck_assert_double_eq(found[1], 7);
    tune_typical(&samples, 2, 1, found);
    ck_assert_double_eq(found[0], 4);
    tune_typical(&samples, 16, 15, found);
    ck_assert_double_eq(found[0], 0);
}
END_TEST

static void first_time(const void *about, const double *found, double *values)
{
    (void) about;
    values[0] = found[0];
}

/* With less than a round a group there is no spread. */
START_TEST(few_rounds)
{
    static struct tune_samples samples = {.points = 1, .rounds = TUNE_GROUPS - 1};
    struct tune_constant constant;

    for (int round = 0; round < samples.rounds; round++) {
        samples.ns[0][round] = 10 + round;
    }
    tune_constants(&samples, first_time, NULL, &constant, 1);
    ck_assert_double_eq(constant.value, 10);
    ck_assert_double_eq(constant.low, 10);
    ck_assert_double_eq(constant.high, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune_fit");

    unit_add(suite, exact);
    unit_add(suite, undetermined);
    unit_add(suite, outliers_are_left_out);
    unit_add(suite, line_in_noise);
    unit_add(suite, typical);
    unit_add(suite, few_rounds);
    return unit_run(suite);
}
