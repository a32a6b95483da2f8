/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-bench says of the times of a case.
 */
#include "unit.h"

#include "bench/summary.h"

START_TEST(one_time_is_everything)
{
    const double times[] = {7};
    const bool reused[] = {true};
    struct bench_summary s;

    ck_assert(bench_summarize(times, reused, 1, &s));
    ck_assert_double_eq(s.first, 7);
    ck_assert_double_eq(s.median, 7);
    ck_assert_double_eq(s.low, 7);
    ck_assert_double_eq(s.high, 7);
    ck_assert_double_eq(s.mean, 7);
    ck_assert_double_eq(s.p90, 7);
}
END_TEST

START_TEST(order_does_not_matter)
{
    double times[100];
    bool reused[100] = {false};
    struct bench_summary s;

    for (int i = 0; i < 100; i++) {
        times[i] = (i * 37 + 11) % 100 + 1; /* 1 to 100, each once */
    }
    ck_assert(bench_summarize(times, reused, 100, &s));
    ck_assert_double_eq(s.first, 12);
    ck_assert_double_eq(s.best, 1);
    ck_assert_double_eq(s.median, 50.5);
    ck_assert_double_eq(s.p10, 10);
    ck_assert_double_eq(s.p90, 90);
    ck_assert_double_eq_tol(s.mean, 50.5, 1e-9);
    /* The known ranks of a 95 % interval for 100 values are the 40th and the 61st. */
    ck_assert_double_eq(s.low, 40);
    ck_assert_double_eq(s.high, 61);
}
END_TEST

START_TEST(two_kinds_are_weighted)
{
    double times[40];
    bool reused[40];
    struct bench_summary s;

    for (int i = 0; i < 40; i++) {
        reused[i] = i % 4 == 0;
        times[i] = reused[i] ? 100 : 200;
    }
    ck_assert(bench_summarize(times, reused, 40, &s));
    ck_assert_double_eq_tol(s.median, 175, 1e-9);
    ck_assert_double_eq_tol(s.low, 175, 1e-9);
    ck_assert_double_eq_tol(s.high, 175, 1e-9);
    ck_assert_double_eq_tol(s.mean, 175, 1e-9);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("summary");

    unit_add(suite, one_time_is_everything);
    unit_add(suite, order_does_not_matter);
    unit_add(suite, two_kinds_are_weighted);
    return unit_run(suite);
}
