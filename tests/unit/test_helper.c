/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The helper's decisions: what it registers and deregisters, and when. Time is what the test says.
 */
#include "core/helper/helper.h"
#include "unit.h"

#define MS    1000000ull
#define BASE  0x100000ull
#define BYTES (64ull * RBUF_MR_PAGE)

static struct rbuf_helper helper;
static int handle;
static uint64_t progress; /* calls of it */

static void open_it(void)
{
    struct rbuf_helper_options options = RBUF_HELPER_DEFAULTS;

    options.window = 0;
    progress = 0;
    ck_assert_int_eq(rbuf_helper_open(&helper, &options), 0);
}

/* A message at `now_ns`. True: its memory was registered. */
static bool use(uint64_t base, uint64_t now_ns)
{
    const struct rbuf_use point = {.time_ns = now_ns, .frames = 1, .base = base, .bytes = BYTES};
    struct rbuf_mr *mr;
    enum rbuf_mr_taken taken = rbuf_mr_take(&helper.mrs, base, BYTES, 1, &mr);

    ck_assert_int_ne(taken, RBUF_MR_NO_SLOT);
    if (taken == RBUF_MR_TO_REGISTER) {
        rbuf_mr_publish(mr, &handle, 1);
    }
    ck_assert(rbuf_use_queue_put(&helper.points, &point));
    rbuf_mr_give(&helper.mrs, mr);
    return taken == RBUF_MR_TAKEN;
}

/* What it does at that time, until it waits; returns until when. */
static uint64_t work(uint64_t now_ns, unsigned *registered, unsigned *deregistered)
{
    *registered = *deregistered = 0;
    for (;;) {
        struct rbuf_helper_order order = rbuf_helper_next(&helper, now_ns, progress);

        switch (order.task) {
        case RBUF_HELPER_REGISTER:
            rbuf_helper_registered(&helper, order.mr, &handle, 10000);
            ++*registered;
            break;
        case RBUF_HELPER_DEREGISTER:
            rbuf_helper_deregistered(&helper, order.mr, 5000);
            ++*deregistered;
            break;
        case RBUF_HELPER_WAIT:
            return order.until_ns;
        }
    }
}

static void must_do(uint64_t now_ns, unsigned registrations, unsigned deregistrations)
{
    unsigned registered, deregistered;
    uint64_t until_ns = work(now_ns, &registered, &deregistered);

    ck_assert_uint_eq(registered, registrations);
    ck_assert_uint_eq(deregistered, deregistrations);
    ck_assert_uint_gt(until_ns, now_ns);
}

/* Registers shortly before the use, not before and not behind. */
START_TEST(just_in_time)
{
    unsigned registered, deregistered;
    uint64_t until_ns;

    open_it();
    ck_assert(!use(BASE, 100 * MS));
    ck_assert_uint_eq(work(100 * MS, &registered, &deregistered), UINT64_MAX);
    ck_assert_uint_eq(deregistered, 1); /* after a first use always */
    ck_assert(!use(BASE, 200 * MS));
    until_ns = work(200 * MS, &registered, &deregistered);
    ck_assert_uint_eq(deregistered, 1);
    ck_assert_uint_gt(until_ns, 299 * MS);
    ck_assert_uint_lt(until_ns, 300 * MS);
    must_do(until_ns, 1, 0);
    ck_assert(use(BASE, 300 * MS));
    until_ns = work(300 * MS, &registered, &deregistered);
    ck_assert_uint_eq(deregistered, 1);
    ck_assert_uint_gt(until_ns, 399 * MS);
    ck_assert_uint_lt(until_ns, 400 * MS);
    must_do(until_ns - 1, 0, 0);
    must_do(until_ns, 1, 0);
    ck_assert(use(BASE, 400 * MS));
    must_do(400 * MS, 0, 1);
    ck_assert_uint_eq(helper.counters.ahead, 2);
    rbuf_helper_close(&helper);
}
END_TEST

/* Intervals of 100 ms and 1 % more: it is registered so much earlier that 99 ms find it ready. */
START_TEST(unsteady)
{
    unsigned registered, deregistered;
    uint64_t now = 100 * MS, until_ns;

    open_it();
    for (uint64_t i = 0; i < 10; i++) {
        use(BASE, now += (100 + i % 2) * MS);
        until_ns = work(now, &registered, &deregistered);
        ck_assert_uint_eq(deregistered, 1);
        if (until_ns != UINT64_MAX) {
            must_do(until_ns, 1, 0);
        }
    }
    ck_assert(use(BASE, now + 99 * MS));
    rbuf_helper_close(&helper);
}
END_TEST

/* A use that comes again too soon to deregister before: it stays registered. */
START_TEST(too_near)
{
    open_it();
    use(BASE, 100 * MS);
    must_do(100 * MS, 0, 1);
    use(BASE, 100 * MS + 20000);
    must_do(100 * MS + 20000, 0, 0);
    for (unsigned i = 2; i < 10; i++) {
        ck_assert(use(BASE, 100 * MS + i * 20000));
        must_do(100 * MS + i * 20000, 0, 0);
    }
    must_do(102 * MS, 0, 1); /* it did not come again */
    ck_assert_uint_eq(helper.counters.lapsed, 1);
    rbuf_helper_close(&helper);
}
END_TEST

/* The uses of what stays registered wake nobody. One that is in use when it is looked at wakes
 * again, and when its uses end it goes. */
START_TEST(kept_wakes_nobody)
{
    unsigned registered, deregistered;
    uint64_t now = 100 * MS, until_ns;
    struct rbuf_mr *mr;

    open_it();
    for (unsigned i = 0; i < 2; i++, now += 20000) {
        use(BASE, now);
        until_ns = work(now, &registered, &deregistered);
    }
    ck_assert_uint_eq(until_ns, now - 20000 + MS);
    for (; now < until_ns; now += 20000) {
        ck_assert(use(BASE, now));
        ck_assert(!rbuf_mr_any_returned(&helper.mrs));
    }
    ck_assert_int_eq(rbuf_mr_take(&helper.mrs, BASE, BYTES, 1, &mr), RBUF_MR_TAKEN);
    must_do(until_ns, 0, 0);
    ck_assert(rbuf_mr_give(&helper.mrs, mr));
    until_ns = work(now, &registered, &deregistered);
    ck_assert_uint_eq(deregistered, 0);
    ck_assert_uint_ge(until_ns, now + MS - 20000);
    ck_assert_uint_eq(helper.counters.kept, 2);
    must_do(until_ns + 1, 0, 1);
    ck_assert_uint_eq(helper.counters.lapsed, 1);
    rbuf_helper_close(&helper);
}
END_TEST

/* A rank that loses its helper while a kept region is in use gives it back for good. */
START_TEST(kept_is_drained)
{
    struct rbuf_mr *mr;

    open_it();
    for (unsigned i = 0; i < 2; i++) {
        use(BASE, 100 * MS + i * 20000);
        must_do(100 * MS + i * 20000, 0, i == 0);
    }
    ck_assert_int_eq(rbuf_mr_take(&helper.mrs, BASE, BYTES, 1, &mr), RBUF_MR_TAKEN);
    ck_assert_ptr_null(rbuf_helper_drain(&helper));
    ck_assert(rbuf_mr_give(&helper.mrs, mr));
    ck_assert_ptr_eq(rbuf_helper_drain(&helper), mr);
    rbuf_helper_deregistered(&helper, mr, 5000);
    rbuf_helper_close(&helper);
}
END_TEST

/* Memory that goes while it is kept: nobody takes it again, and the helper's next look deregisters
 * it. */
START_TEST(kept_goes)
{
    struct rbuf_mr *mr;

    open_it();
    for (unsigned i = 0; i < 2; i++) {
        use(BASE, 100 * MS + i * 20000);
        must_do(100 * MS + i * 20000, 0, i == 0);
    }
    ck_assert(!rbuf_mr_stale(&helper.mrs, BASE, BYTES));
    ck_assert_int_eq(rbuf_mr_take(&helper.mrs, BASE, BYTES, 1, &mr), RBUF_MR_TO_REGISTER);
    rbuf_mr_abandon(mr);
    must_do(102 * MS, 0, 1);
    ck_assert_uint_eq(helper.counters.lapsed, 0);
    ck_assert_uint_eq(rbuf_mrs_bytes(&helper.mrs).registered, 0);
    rbuf_helper_close(&helper);
}
END_TEST

/* Who leaves points that the helper is not woken for learns that it should be, before any is lost.
 */
START_TEST(points_half_full)
{
    const struct rbuf_use point = {.time_ns = MS, .frames = 1, .base = BASE, .bytes = BYTES};
    struct rbuf_use seen;

    open_it();
    for (unsigned round = 0; round < 3; round++) {
        unsigned left = 0;

        while (!rbuf_use_queue_half_full(&helper.points)) {
            ck_assert(rbuf_use_queue_put(&helper.points, &point));
            left++;
        }
        ck_assert_uint_eq(left, (helper.points.mask + 1) / 2);
        while (rbuf_use_queue_get(&helper.points, &seen)) {
        }
        ck_assert(!rbuf_use_queue_half_full(&helper.points));
    }
    rbuf_helper_close(&helper);
}
END_TEST

/* What is registered ahead and not used goes when its prediction lapses. */
START_TEST(not_used)
{
    open_it();
    use(BASE, 100 * MS);
    use(BASE, 200 * MS);
    must_do(200 * MS, 0, 1);
    must_do(300 * MS, 1, 0);
    must_do(324 * MS, 0, 0);
    must_do(325 * MS, 0, 1);
    ck_assert_uint_eq(helper.counters.lapsed, 1);
    ck_assert(!use(BASE, 400 * MS));
    rbuf_helper_close(&helper);
}
END_TEST

/* Ten buffers at one time: each is registered by then, spread over the time before. */
START_TEST(deadlines_are_spaced)
{
    const uint64_t count = 10;
    const struct rbuf_queue_item *item, *before = NULL;

    open_it();
    for (uint64_t time = 100 * MS; time <= 300 * MS; time += 100 * MS) {
        for (uint64_t i = 0; i < count; i++) {
            use(BASE + i * BYTES, time);
        }
    }
    must_do(300 * MS, 0, 10);
    TAILQ_FOREACH(item, &helper.queue.order, link)
    {
        ck_assert(before == NULL || before->due_ns + item->cost_ns <= item->due_ns);
        ck_assert_uint_le(item->due_ns, item->deadline_ns);
        before = item;
    }
    ck_assert_ptr_nonnull(before);
    for (uint64_t now = 300 * MS; now < 400 * MS;) { /* 10 us each, one after the other */
        struct rbuf_helper_order order = rbuf_helper_next(&helper, now, progress);

        if (order.task == RBUF_HELPER_WAIT) {
            now = order.until_ns;
        } else {
            ck_assert_int_eq(order.task, RBUF_HELPER_REGISTER);
            ck_assert_uint_gt(now, 399 * MS);
            now += 10000;
            ck_assert_uint_le(now, 400 * MS);
            rbuf_helper_registered(&helper, order.mr, &handle, 10000);
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        ck_assert(use(BASE + i * BYTES, 400 * MS));
    }
    rbuf_helper_close(&helper);
}
END_TEST

/* Equation 2: helpers that share a core begin so much sooner. */
START_TEST(shared_core)
{
    unsigned registered, deregistered;
    uint64_t alone, shared;

    open_it();
    use(BASE, 100 * MS);
    use(BASE, 200 * MS);
    alone = work(200 * MS, &registered, &deregistered);
    helper.sharers = 2;
    helper.slice_ns = 4 * MS;
    shared = work(200 * MS, &registered, &deregistered);
    ck_assert_uint_eq(alone - shared, 8 * MS);
    rbuf_helper_close(&helper);
}
END_TEST

/* Memory that goes while its use is planned is not registered ahead. */
START_TEST(memory_goes)
{
    open_it();
    use(BASE, 100 * MS);
    use(BASE, 200 * MS);
    must_do(200 * MS, 0, 1);
    rbuf_mr_stale(&helper.mrs, BASE, BYTES);
    must_do(300 * MS, 0, 0);
    ck_assert(!use(BASE, 300 * MS));
    must_do(300 * MS, 0, 1);
    must_do(400 * MS, 1, 0); /* it was there again */
    rbuf_mr_stale(&helper.mrs, BASE, BYTES);
    must_do(400 * MS, 0, 1);
    rbuf_helper_close(&helper);
}
END_TEST

#define QUIET RBUF_HELPER_DEFAULTS.quiet_ns
#define DELAY RBUF_HELPER_DEFAULTS.delay_ns

/* What was used is deregistered when the application has left MPI, for so long without progress. */
START_TEST(outside_of_communication)
{
    unsigned registered, deregistered;

    open_it();
    use(BASE, 100 * MS);
    progress++;
    ck_assert_uint_eq(work(100 * MS, &registered, &deregistered), 100 * MS + QUIET);
    ck_assert_uint_eq(deregistered, 0);
    progress++;
    ck_assert_uint_eq(work(100 * MS + QUIET, &registered, &deregistered), 100 * MS + 2 * QUIET);
    ck_assert_uint_eq(deregistered, 0);
    must_do(100 * MS + 2 * QUIET - 1, 0, 0);
    must_do(100 * MS + 2 * QUIET, 0, 1);
    rbuf_helper_close(&helper);
}
END_TEST

/* The application stays in MPI: it waits for the delay at most. What comes next waits anew. */
START_TEST(waits_no_longer)
{
    open_it();
    for (uint64_t i = 1; i <= 2; i++) {
        use(BASE + i * BYTES, 100 * i * MS);
        for (uint64_t waited = 0; waited < DELAY; waited += QUIET) {
            progress++;
            must_do(100 * i * MS + waited, 0, 0);
        }
        progress++;
        must_do(100 * i * MS + DELAY, 0, 1);
    }
    rbuf_helper_close(&helper);
}
END_TEST

/* What is used again while it waits is not deregistered, nor has it lapsed. */
START_TEST(used_while_it_waits)
{
    open_it();
    for (uint64_t waited = 0; waited < 4 * DELAY; waited += QUIET / 10) {
        ck_assert(use(BASE, 100 * MS + waited) == (waited > 0));
        progress++;
        must_do(100 * MS + waited, 0, 0);
    }
    ck_assert_uint_eq(helper.counters.lapsed, 0);
    rbuf_helper_close(&helper);
}
END_TEST

/* Waiting takes no more memory than was in use at once before. */
START_TEST(waits_within_peak)
{
    open_it();
    use(BASE, 100 * MS);
    progress++;
    must_do(100 * MS, 0, 0);
    use(BASE + BYTES, 101 * MS);
    progress++;
    must_do(101 * MS, 0, 1); /* the first one */
    must_do(102 * MS, 0, 1);
    use(BASE, 200 * MS);
    use(BASE + BYTES, 200 * MS); /* two at once */
    progress++;
    must_do(200 * MS, 0, 0);
    must_do(201 * MS, 0, 2);
    rbuf_helper_close(&helper);
}
END_TEST

START_TEST(scarce_memory_does_not_wait)
{
    open_it();
    rbuf_helper_scarce(&helper);
    use(BASE, 100 * MS);
    progress++;
    must_do(100 * MS, 0, 1);
    rbuf_helper_close(&helper);
}
END_TEST

START_TEST(refused)
{
    struct rbuf_helper_order order;

    open_it();
    use(BASE, 100 * MS);
    use(BASE, 200 * MS);
    must_do(200 * MS, 0, 1);
    order = rbuf_helper_next(&helper, 300 * MS, progress);
    ck_assert_int_eq(order.task, RBUF_HELPER_REGISTER);
    rbuf_helper_refused(&helper, order.mr);
    must_do(300 * MS, 0, 0);
    ck_assert_int_eq(rbuf_mr_state(order.mr), RBUF_MR_ABSENT);
    rbuf_helper_close(&helper);
}
END_TEST

START_TEST(drain)
{
    struct rbuf_mr *mr;
    unsigned count = 0;

    open_it();
    use(BASE, 100 * MS);
    use(BASE, 200 * MS);
    must_do(200 * MS, 0, 1);
    use(BASE + BYTES, 200 * MS);
    while ((mr = rbuf_helper_drain(&helper)) != NULL) {
        rbuf_helper_deregistered(&helper, mr, 5000);
        count++;
    }
    ck_assert_uint_eq(count, 1);
    must_do(300 * MS, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(rbuf_mr_state(&helper.mrs.mr[i]), RBUF_MR_ABSENT);
    }
    rbuf_helper_close(&helper);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("helper");

    unit_add(suite, just_in_time);
    unit_add(suite, unsteady);
    unit_add(suite, too_near);
    unit_add(suite, kept_wakes_nobody);
    unit_add(suite, kept_is_drained);
    unit_add(suite, kept_goes);
    unit_add(suite, points_half_full);
    unit_add(suite, not_used);
    unit_add(suite, deadlines_are_spaced);
    unit_add(suite, shared_core);
    unit_add(suite, memory_goes);
    unit_add(suite, outside_of_communication);
    unit_add(suite, waits_no_longer);
    unit_add(suite, used_while_it_waits);
    unit_add(suite, waits_within_peak);
    unit_add(suite, scarce_memory_does_not_wait);
    unit_add(suite, refused);
    unit_add(suite, drain);
    return unit_run(suite);
}
