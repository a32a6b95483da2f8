/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which messages use their buffers again: as many as were asked for, spread over the case, and the
 * same ones when a repetition is measured again.
 */
#include "unit.h"

#include "bench/draw.h"

static const struct share {
    int64_t messages;
    int reuse;
    int64_t kept;
} shares[] = {
    {1, 0, 0}, {1, 100, 1}, {40, 0, 0}, {40, 100, 40}, {40, 25, 10}, {7, 50, 4}, {1000, 90, 900},
};

START_TEST(as_many_as_asked_for)
{
    const struct share *share = &shares[_i];
    struct bench_draw draw = bench_draw_of(share->messages, share->reuse);
    int64_t kept = 0;

    for (int64_t m = 0; m < share->messages; m++) {
        kept += bench_draw_kept(&draw);
    }
    ck_assert_int_eq(kept, share->kept);
    ck_assert_int_eq(draw.left, 0);
}
END_TEST

/* Not first all of one kind: each quarter of a long case has about its share. */
START_TEST(spread_over_the_case)
{
    struct bench_draw draw = bench_draw_of(4000, 30);

    for (int quarter = 0; quarter < 4; quarter++) {
        int kept = 0;

        for (int m = 0; m < 1000; m++) {
            kept += bench_draw_kept(&draw);
        }
        ck_assert_int_ge(kept, 240);
        ck_assert_int_le(kept, 360);
    }
}
END_TEST

/* Repetitions of 5 messages, some of them measured again from a copy of the draw. */
START_TEST(again_is_the_same)
{
    struct bench_draw plain = bench_draw_of(100, 40), redone = plain;

    for (int rep = 0; rep < 20; rep++) {
        const struct bench_draw before = redone;

        for (int again = 0; again < rep % 3; again++) {
            for (int m = 0; m < 5; m++) {
                (void) bench_draw_kept(&redone);
            }
            redone = before;
        }
        for (int m = 0; m < 5; m++) {
            ck_assert_int_eq(bench_draw_kept(&redone), bench_draw_kept(&plain));
        }
    }
    ck_assert_int_eq(redone.left, 0);
    ck_assert_int_eq(redone.kept_left, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("draw");

    unit_add_loop(suite, as_many_as_asked_for, (int) (sizeof shares / sizeof shares[0]));
    unit_add(suite, spread_over_the_case);
    unit_add(suite, again_is_the_same);
    return unit_run(suite);
}
