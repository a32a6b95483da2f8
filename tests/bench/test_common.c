/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What all tools share: values on command lines, and medians with their intervals.
 */
#include "unit.h"

#include "common/statistics.h"
#include "common/values.h"

#include <math.h>

/* Sizes as all tools and all parameters take them. */
static const struct size {
    const char *text;
    bool read;
    uint64_t bytes;
} sizes[] = {
    {"0", true, 0},
    {"4096", true, 4096},
    {"12k", true, 12288},
    {"12K", true, 12288},
    {"12kB", true, 12288},
    {"12KiB", true, 12288},
    {"3m", true, 3 << 20},
    {"3M", true, 3 << 20},
    {"2g", true, UINT64_C(2) << 30},
    {"17179869183G", true, UINT64_C(17179869183) << 30},
    {"17179869184G", false, 0},
    {"18446744073709551615", true, UINT64_MAX},
    {"18446744073709551616", false, 0},
    {"", false, 0},
    {"k", false, 0},
    {"1x", false, 0},
    {"1.5k", false, 0},
    {"-1", false, 0},
    {" 1", false, 0},
    {"1 k", false, 0},
};

START_TEST(size_values)
{
    const struct size *size = &sizes[_i];
    uint64_t bytes = 7;

    ck_assert_msg(mca_btl_rbuf_read_size(size->text, &bytes) == size->read, "'%s'", size->text);
    ck_assert_uint_eq(bytes, size->read ? size->bytes : 7);
}
END_TEST

START_TEST(number_values)
{
    double number = 7;
    int whole = 7;

    ck_assert(value_number("12.5", 0, 13, &number));
    ck_assert_double_eq(number, 12.5);
    ck_assert(!value_number("13.5", 0, 13, &number) && !value_number("nan", 0, 13, &number));
    ck_assert(!value_number("", 0, 13, &number) && !value_number("1x", 0, 13, &number));
    ck_assert_double_eq(number, 12.5);
    ck_assert(value_whole("13", 0, 13, &whole));
    ck_assert_int_eq(whole, 13);
    ck_assert(!value_whole("1.5", 0, 13, &whole) && !value_whole("14", 0, 13, &whole));
    ck_assert_int_eq(whole, 13);
}
END_TEST

START_TEST(percent_values)
{
    static const char *const refused[] = {"", "%", "5", "101%", "1000%", "-1%", "5%%", "5% "};
    int percent = 7;

    ck_assert(value_percent("0%", &percent) && percent == 0);
    ck_assert(value_percent("25%", &percent) && percent == 25);
    ck_assert(value_percent("100%", &percent) && percent == 100);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_msg(!value_percent(refused[i], &percent), "'%s'", refused[i]);
    }
    ck_assert_int_eq(percent, 100);
}
END_TEST

START_TEST(lists)
{
    const char *rest = "a,,bc";
    char item[VALUE_ITEM_MAX];
    char longest[VALUE_ITEM_MAX + 1];

    ck_assert(value_next(&rest, item) && rest != NULL);
    ck_assert_str_eq(item, "a");
    ck_assert(value_next(&rest, item) && rest != NULL);
    ck_assert_str_eq(item, "");
    ck_assert(value_next(&rest, item) && rest == NULL);
    ck_assert_str_eq(item, "bc");

    memset(longest, 'x', VALUE_ITEM_MAX);
    longest[VALUE_ITEM_MAX] = '\0';
    rest = longest;
    ck_assert(!value_next(&rest, item) && rest == longest);
    rest = longest + 1;
    ck_assert(value_next(&rest, item) && rest == NULL);
    ck_assert_str_eq(item, longest + 1);
}
END_TEST

START_TEST(medians)
{
    double even[] = {9, 1, 5, 3}, odd[] = {9, 1, 5}, one[] = {7};

    ck_assert_double_eq(stats_median(even, 4), 4);
    ck_assert_double_eq(stats_median(odd, 3), 5);
    ck_assert_double_eq(stats_median(one, 1), 7);
}
END_TEST

/* Draws from a known distribution: its median must lie in the interval in about 95 of 100 cases. */
START_TEST(interval_holds_the_median)
{
    enum { CASES = 4000, TIMES = 40 };
    unsigned short state[3] = {1, 2, 3};
    int held = 0;

    for (int c = 0; c < CASES; c++) {
        double times[TIMES];
        struct stats_median median;

        for (int i = 0; i < TIMES; i++) {
            times[i] = -log(1 - erand48(state));
        }
        median = stats_median_interval(times, TIMES);
        held += median.low <= log(2) && log(2) <= median.high;
    }
    ck_assert_int_ge(held, CASES * 94 / 100);
    ck_assert_int_le(held, CASES * 99 / 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("common");

    unit_add_loop(suite, size_values, (int) (sizeof sizes / sizeof sizes[0]));
    unit_add(suite, number_values);
    unit_add(suite, percent_values);
    unit_add(suite, lists);
    unit_add(suite, medians);
    unit_add(suite, interval_holds_the_median);
    return unit_run(suite);
}
