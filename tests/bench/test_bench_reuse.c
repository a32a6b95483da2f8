/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which messages use their buffers again: as many as were asked for, spread over the case, and the
 * same ones when a repetition is measured again.
 */
#include "unit.h"

#include "bench/reuse.h"

static const struct share {
    int64_t messages;
    int reuse;
    int64_t reused;
} shares[] = {
    {1, 0, 0}, {1, 100, 1}, {40, 0, 0}, {40, 100, 40}, {40, 25, 10}, {7, 50, 4}, {1000, 90, 900},
};

START_TEST(as_many_as_asked_for)
{
    const struct share *share = &shares[_i];
    struct bench_reuse draws = bench_reuse_start(share->messages, share->reuse);
    int64_t reused = 0;

    for (int64_t m = 0; m < share->messages; m++) {
        reused += bench_reuse_next(&draws);
    }
    ck_assert_int_eq(reused, share->reused);
    ck_assert_int_eq(draws.left, 0);
}
END_TEST

/* Not first all of one kind: each quarter of a long case has about its share. */
START_TEST(spread_over_the_case)
{
    struct bench_reuse draws = bench_reuse_start(4000, 30);

    for (int quarter = 0; quarter < 4; quarter++) {
        int reused = 0;

        for (int m = 0; m < 1000; m++) {
            reused += bench_reuse_next(&draws);
        }
        ck_assert_int_ge(reused, 240);
        ck_assert_int_le(reused, 360);
    }
}
END_TEST

/* Repetitions of 5 messages, some of them measured again from a copy of the state. */
START_TEST(again_is_the_same)
{
    struct bench_reuse plain = bench_reuse_start(100, 40), redone = plain;

    for (int rep = 0; rep < 20; rep++) {
        const struct bench_reuse before = redone;

        for (int again = 0; again < rep % 3; again++) {
            for (int m = 0; m < 5; m++) {
                (void) bench_reuse_next(&redone);
            }
            redone = before;
        }
        for (int m = 0; m < 5; m++) {
            ck_assert_int_eq(bench_reuse_next(&redone), bench_reuse_next(&plain));
        }
    }
    ck_assert_int_eq(redone.left, 0);
    ck_assert_int_eq(redone.reused_left, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reuse");

    unit_add_loop(suite, as_many_as_asked_for, (int) (sizeof shares / sizeof shares[0]));
    unit_add(suite, spread_over_the_case);
    unit_add(suite, again_is_the_same);
    return unit_run(suite);
}
