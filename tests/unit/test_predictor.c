/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The predictor: what makes a site, its period, and how predictions are judged.
 */
#include "core/helper/predictor.h"
#include "unit.h"

#define MS    1000000ull
#define BASE  0x100000ull
#define BYTES 65536ull
#define GRACE MS

static struct rbuf_predictor predictor;

static void open_it(uint32_t sites, uint32_t window)
{
    ck_assert_int_eq(rbuf_predictor_open(&predictor, sites, window, GRACE), 0);
}

static void see(uint64_t time_ns, uint64_t frames, uint64_t base)
{
    const struct rbuf_use point = {
        .time_ns = time_ns, .frames = frames, .base = base, .bytes = BYTES};

    rbuf_predictor_see(&predictor, &point);
}

static uint64_t next(uint64_t base, uint64_t now_ns)
{
    struct rbuf_prediction prediction;

    return rbuf_predictor_next(&predictor, base, base + BYTES, now_ns, &prediction)
               ? prediction.use_ns
               : 0;
}

START_TEST(shortest_interval)
{
    open_it(64, 0);
    see(100 * MS, 1, BASE);
    ck_assert_uint_eq(next(BASE, 100 * MS), 0); /* the first use says nothing */
    see(150 * MS, 1, BASE);
    ck_assert_uint_eq(next(BASE, 150 * MS), 200 * MS);
    see(190 * MS, 1, BASE);
    see(240 * MS, 1, BASE);
    ck_assert_uint_eq(next(BASE, 240 * MS), 280 * MS);
    ck_assert_uint_eq(next(BASE + BYTES, 240 * MS), 0); /* another buffer */
    rbuf_predictor_close(&predictor);
}
END_TEST

START_TEST(lapses)
{
    open_it(64, 0);
    see(100 * MS, 1, BASE);
    see(200 * MS, 1, BASE);
    ck_assert_uint_eq(next(BASE, 324 * MS), 300 * MS);
    ck_assert_uint_eq(next(BASE, 325 * MS), 0); /* a quarter of the period later */
    see(200 * MS + 1000, 1, BASE);
    ck_assert_uint_eq(next(BASE, 201 * MS), 200 * MS + 2000);
    ck_assert_uint_eq(next(BASE, 201 * MS + 2000), 0); /* the least grace */
    rbuf_predictor_close(&predictor);
}
END_TEST

/* One odd interval spoils a site for RBUF_SITE_LATE uses, not for ever. */
START_TEST(period_grows_again)
{
    uint64_t now = 100 * MS;

    open_it(64, 0);
    see(now, 1, BASE);
    see(now += MS, 1, BASE);
    for (unsigned i = 0; i < RBUF_SITE_LATE; i++) {
        ck_assert_uint_eq(next(BASE, now), now + MS);
        see(now += (100 + i) * MS, 1, BASE);
    }
    ck_assert_uint_eq(next(BASE, now), now + 100 * MS);
    rbuf_predictor_close(&predictor);
}
END_TEST

/* Figure 4 of the paper: two inner loops of 10 turns, each 10 ms a turn. That the other loop's
 * buffer is wanted when this one ends only the points before tell. Behind the first turns, as many
 * as the window has points, the site was used last when the loop ended: its late uses have a period
 * of their own. */
START_TEST(nested_loops)
{
    for (uint32_t window = 0; window <= 2; window++) {
        const struct rbuf_prediction_counters *counters = &predictor.counters;

        open_it(64, window);
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t loop = i / 10 % 2;
            uint64_t now = (i + 1) * 10 * MS;

            see(now, 1 + loop, BASE + loop * BYTES);
            if (i >= 80) { /* the next use, whichever loop's it is */
                ck_assert_uint_eq(next(BASE + (i + 1) / 10 % 2 * BYTES, now), now + 10 * MS);
            }
        }
        ck_assert_uint_eq(counters->predicted, counters->near + counters->missed);
        ck_assert_uint_eq(counters->missed, 4); /* each loop's first two late uses */
        rbuf_predictor_close(&predictor);
    }
}
END_TEST

static uint64_t margin(uint64_t now_ns)
{
    struct rbuf_prediction prediction;

    ck_assert(rbuf_predictor_next(&predictor, BASE, BASE + BYTES, now_ns, &prediction));
    return prediction.use_ns - prediction.ready_ns;
}

/* Twice the deviation seen, smoothed; a sixteenth of the period at most. */
START_TEST(margin_by_deviation)
{
    uint64_t now = 100 * MS;

    open_it(64, 0);
    see(now, 1, BASE);
    see(now += 160 * MS, 1, BASE);
    ck_assert_uint_eq(margin(now), 0);
    see(now += 161 * MS, 1, BASE);
    ck_assert_uint_eq(margin(now), 2 * MS);
    see(now += 160 * MS, 1, BASE);
    ck_assert_uint_eq(margin(now), 3 * MS / 2);
    see(now += 159 * MS, 1, BASE); /* sooner than all so far: that deviates, too */
    ck_assert_uint_eq(margin(now), 3 * MS / 2 - 3 * MS / 8 + MS / 2);
    see(now += 190 * MS, 1, BASE);
    ck_assert_uint_eq(margin(now), 159 * MS / 16);
    for (unsigned i = 0; i < 40; i++) {
        see(now += 159 * MS, 1, BASE);
    }
    ck_assert_uint_lt(margin(now), MS / 100);
    rbuf_predictor_close(&predictor);
}
END_TEST

/* The second of two late intervals that are alike makes a period of them; one that is not ends it.
 */
START_TEST(late_period)
{
    uint64_t now = 100 * MS;

    open_it(64, 0);
    see(now, 1, BASE);
    see(now += 10 * MS, 1, BASE);
    see(now += 100 * MS, 1, BASE);
    see(now += 10 * MS, 1, BASE);
    ck_assert_uint_eq(next(BASE, now + 20 * MS), 0);
    see(now += 101 * MS, 1, BASE);
    ck_assert_uint_eq(next(BASE, now), now + 10 * MS);
    ck_assert_uint_eq(next(BASE, now + 20 * MS), now + 100 * MS);
    ck_assert_uint_eq(next(BASE, now + 125 * MS), 0);
    see(now += 200 * MS, 1, BASE);
    ck_assert_uint_eq(next(BASE, now + 20 * MS), 0);
    rbuf_predictor_close(&predictor);
}
END_TEST

START_TEST(classes)
{
    static const uint64_t after[] = {1000, 1000, 1004, 1040, 900, 1000, 2000};
    uint64_t now = MS;

    open_it(64, 0);
    see(now, 1, BASE);
    for (unsigned i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
        see(now += after[i] * MS, 1, BASE);
    }
    ck_assert_uint_eq(predictor.counters.points, 8);
    ck_assert_uint_eq(predictor.counters.predicted, 6);
    ck_assert_uint_eq(predictor.counters.near, 2);
    ck_assert_uint_eq(predictor.counters.close, 1);
    ck_assert_uint_eq(predictor.counters.early, 1);
    ck_assert_uint_eq(predictor.counters.late, 1);
    ck_assert_uint_eq(predictor.counters.missed, 1);
    rbuf_predictor_close(&predictor);
}
END_TEST

/* One place in the program at two levels of a grid: each has a period of its own. Sizes that vary
 * a little have not. */
START_TEST(levels)
{
    struct rbuf_use point = {.frames = 1, .base = BASE};

    open_it(64, 0);
    for (unsigned i = 0; i < 20; i++) {
        point.time_ns = (i / 2 * 100 + i % 2 * 10 + 1) * MS;
        point.bytes = i % 2 == 0 ? BYTES + i : BYTES / 4 + i;
        rbuf_predictor_see(&predictor, &point);
    }
    ck_assert_uint_eq(predictor.counters.predicted, 16);
    ck_assert_uint_eq(predictor.counters.near, 16);
    rbuf_predictor_close(&predictor);
}
END_TEST

/* Without frames size and peer stand for them. */
START_TEST(without_frames)
{
    struct rbuf_use point = {.base = BASE, .bytes = BYTES};

    open_it(64, 0);
    for (unsigned i = 1; i <= 8; i++) {
        point.time_ns = i * 10 * MS;
        point.peer = i % 2;
        rbuf_predictor_see(&predictor, &point);
    }
    ck_assert_uint_eq(predictor.counters.near, 4); /* each peer every 20 ms */
    ck_assert_uint_eq(next(BASE, 80 * MS), 90 * MS);
    rbuf_predictor_close(&predictor);
}
END_TEST

/* Memory is bounded: the sites that were seen the longest ago go. */
START_TEST(bounded)
{
    open_it(RBUF_SITE_WAYS, 0);
    for (uint64_t i = 1; i <= RBUF_SITE_WAYS + 1; i++) {
        see(i * MS, i, BASE + i * BYTES);
    }
    ck_assert_uint_eq(predictor.counters.replaced, 1);
    see(100 * MS, 1, BASE + BYTES); /* forgotten, and makes room in place of 2 */
    see(101 * MS, 3, BASE + 3 * BYTES);
    ck_assert_uint_eq(next(BASE + BYTES, 101 * MS), 0);
    ck_assert_uint_eq(next(BASE + 3 * BYTES, 101 * MS), 199 * MS);
    rbuf_predictor_close(&predictor);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predictor");

    unit_add(suite, shortest_interval);
    unit_add(suite, lapses);
    unit_add(suite, period_grows_again);
    unit_add(suite, nested_loops);
    unit_add(suite, margin_by_deviation);
    unit_add(suite, late_period);
    unit_add(suite, classes);
    unit_add(suite, levels);
    unit_add(suite, without_frames);
    unit_add(suite, bounded);
    return unit_run(suite);
}
