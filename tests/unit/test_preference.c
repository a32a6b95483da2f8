/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Which of two paths is preferred by their times (core/choice/preference.h). */
#include "core/choice/preference.h"

#include "unit.h"

static struct rbuf_preference paths;

static void add(enum rbuf_path path, unsigned count, uint64_t ns)
{
    for (unsigned i = 0; i < count; i++) {
        rbuf_preference_add(&paths, RBUF_SAMPLES, path, ns);
    }
}

/* Both paths have full windows of these times, and in place was preferred until now, or copies. */
static void settle(enum rbuf_path before, uint64_t copy_ns, uint64_t in_place_ns)
{
    paths = (struct rbuf_preference){0};
    add(rbuf_path_other(before), RBUF_SAMPLES_MIN, 2000000);
    add(before, RBUF_SAMPLES_MIN, 1000000);
    ck_assert(rbuf_preference_is(&paths, before));
    add(rbuf_path_other(before), RBUF_SAMPLES, before == RBUF_PATH_COPY ? in_place_ns : copy_ns);
    add(before, 2 * RBUF_SAMPLES, before == RBUF_PATH_COPY ? copy_ns : in_place_ns);
    add(rbuf_path_other(before), 2 * RBUF_SAMPLES,
        before == RBUF_PATH_COPY ? in_place_ns : copy_ns);
}

START_TEST(unknown_until_both_are_timed)
{
    paths = (struct rbuf_preference){0};
    add(RBUF_PATH_COPY, RBUF_SAMPLES, 1000);
    add(RBUF_PATH_IN_PLACE, RBUF_SAMPLES_MIN - 1, 10);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_UNKNOWN);
    ck_assert(!rbuf_preference_is(&paths, RBUF_PATH_COPY));
    ck_assert(!rbuf_preference_is(&paths, RBUF_PATH_IN_PLACE));
    ck_assert(paths.usual_ns[RBUF_PATH_IN_PLACE] == 0);
    add(RBUF_PATH_IN_PLACE, 1, 10);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_IN_PLACE);
    rbuf_preference_forget_in_place(&paths);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_UNKNOWN);
    add(RBUF_PATH_IN_PLACE, RBUF_SAMPLES_MIN - 1, 2000);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_UNKNOWN);
    add(RBUF_PATH_IN_PLACE, 1, 2000);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_COPY);
}
END_TEST

/* Fewer than half of the times may be any: also of the first few. */
START_TEST(outliers_do_not_count)
{
    for (unsigned count = RBUF_SAMPLES_MIN; count <= RBUF_SAMPLES; count++) {
        for (unsigned outlier = 0; outlier < 2; outlier++) {
            paths = (struct rbuf_preference){0};
            for (unsigned i = 0; i < count; i++) {
                add(RBUF_PATH_COPY, 1, i < (count - 1) / 2 ? outlier * 1000000 : 500);
            }
            ck_assert_msg(paths.usual_ns[RBUF_PATH_COPY] == 500, "%u times", count);
        }
    }
}
END_TEST

/* In place is left and preferred again at different times; a tie is in place's. */
START_TEST(hysteresis)
{
    settle(RBUF_PATH_IN_PLACE, 1000000, 1015000);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_IN_PLACE);
    settle(RBUF_PATH_IN_PLACE, 1000000, 1016000);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_COPY);
    settle(RBUF_PATH_COPY, 1000000, 1004500);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_COPY);
    settle(RBUF_PATH_COPY, 1000000, 1003500);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_IN_PLACE);
    settle(RBUF_PATH_COPY, 1000000, 1000000);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_IN_PLACE);
}
END_TEST

/* The window is of the newest times: half of it, and one more, change the usual time. */
START_TEST(changes_are_noticed)
{
    paths = (struct rbuf_preference){0};
    add(RBUF_PATH_COPY, 10 * RBUF_SAMPLES, 1000);
    add(RBUF_PATH_IN_PLACE, RBUF_SAMPLES, 2000);
    add(RBUF_PATH_IN_PLACE, RBUF_SAMPLES / 2 - 1, 500);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_COPY);
    add(RBUF_PATH_IN_PLACE, 2, 500);
    ck_assert_int_eq(paths.preferred, RBUF_PREFER_IN_PLACE);
}
END_TEST

/* A shorter window notices it sooner. */
START_TEST(windows_as_asked_for)
{
    for (unsigned window = RBUF_SAMPLES_MIN; window <= RBUF_SAMPLES; window++) {
        unsigned units = 0;

        paths = (struct rbuf_preference){0};
        for (unsigned i = 0; i < 2 * window; i++) {
            rbuf_preference_add(&paths, window, RBUF_PATH_COPY, 1000);
            rbuf_preference_add(&paths, window, RBUF_PATH_IN_PLACE, 2000);
        }
        while (!rbuf_preference_is(&paths, RBUF_PATH_IN_PLACE)) {
            rbuf_preference_add(&paths, window, RBUF_PATH_IN_PLACE, 500);
            units++;
        }
        ck_assert_uint_eq(units, window / 2 + 1);
    }
}
END_TEST

/* The preferred path, which has a time with each message, is sorted at some of them only once its
 * window is full; the other one at each. */
START_TEST(sorted_now_and_then)
{
    unsigned changes[RBUF_PATHS] = {0};

    paths = (struct rbuf_preference){0};
    add(RBUF_PATH_IN_PLACE, RBUF_SAMPLES, 20000);
    for (unsigned i = 0; i < RBUF_SAMPLES; i++) {
        const double before = paths.usual_ns[RBUF_PATH_COPY];

        add(RBUF_PATH_COPY, 1, 10000 + i);
        ck_assert(i + 1 < RBUF_SAMPLES_MIN || paths.usual_ns[RBUF_PATH_COPY] > before);
    }
    for (unsigned i = 0; i < 4 * RBUF_SAMPLES; i++) {
        for (unsigned path = 0; path < RBUF_PATHS; path++) {
            const double before = paths.usual_ns[path];

            add((enum rbuf_path) path, 1, 9000 - 10 * i + 10000 * path);
            changes[path] += paths.usual_ns[path] < before;
        }
    }
    ck_assert_uint_ge(changes[RBUF_PATH_IN_PLACE], 4 * RBUF_SAMPLES - RBUF_SAMPLES / 2);
    ck_assert_uint_le(changes[RBUF_PATH_COPY], 4 * RBUF_SAMPLES / RBUF_SAMPLES_STEP);
    ck_assert_uint_ge(changes[RBUF_PATH_COPY], 3 * RBUF_SAMPLES / RBUF_SAMPLES_STEP);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("preference");

    unit_add(suite, unknown_until_both_are_timed);
    unit_add(suite, outliers_do_not_count);
    unit_add(suite, hysteresis);
    unit_add(suite, changes_are_noticed);
    unit_add(suite, windows_as_asked_for);
    unit_add(suite, sorted_now_and_then);
    return unit_run(suite);
}
