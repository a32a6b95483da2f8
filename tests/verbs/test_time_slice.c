/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The time slice of Linux' scheduler: what is made of what it says, and that it says so. */
#include "unit.h"

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/time_slice.h"

#define MS 1000000ull

START_TEST(a_slice_ends_at_a_tick)
{
    /* EEVDF says its slice; EEVDF and CFS said whole ticks of it before; a slice below a tick;
     * SCHED_RR. */
    static const struct {
        struct rbuf_time_slice slice;
        uint64_t most_ns;
    } cases[] = {{{.runtime_ns = 2800000, .tick_ns = 4 * MS}, 6800000},
                 {{.runtime_ns = 2800000, .interval_ns = 2 * MS, .tick_ns = MS}, 3800000},
                 {{.interval_ns = 2 * MS, .tick_ns = MS}, 4 * MS},
                 {{.tick_ns = 4 * MS}, 8 * MS},
                 {{.interval_ns = 100 * MS, .tick_ns = 4 * MS}, 108 * MS}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_uint_eq(rbuf_time_slice_most_ns(&cases[i].slice), cases[i].most_ns);
    }
}
END_TEST

START_TEST(every_system_says_something)
{
    const struct rbuf_time_slice slice = rbuf_time_slice_ask();

    ck_assert_uint_ge(slice.tick_ns, MS);
    ck_assert_uint_le(slice.tick_ns, 10 * MS);
    ck_assert_uint_ge(rbuf_time_slice_most_ns(&slice), slice.tick_ns);
    ck_assert_uint_lt(rbuf_time_slice_most_ns(&slice), 1000 * MS);
}
END_TEST

/* From 6.12 on a thread may ask for a slice of its own: what it got is what is said. */
START_TEST(a_slice_of_its_own)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } own = {.size = sizeof(own), .runtime_ns = 7 * MS};
    const struct rbuf_time_slice before = rbuf_time_slice_ask();

    if (before.runtime_ns == 0) {
        return; /* an older kernel, or another policy */
    }
    ck_assert_uint_ne(before.runtime_ns, 7 * MS);
    ck_assert_int_eq(syscall(SYS_sched_setattr, 0, &own, 0), 0);
    ck_assert_uint_eq(rbuf_time_slice_ask().runtime_ns, 7 * MS);
}
END_TEST

/* Where this may be asked for, as root: the quantum that the system has for it. */
START_TEST(round_robin)
{
    const struct sched_param lowest = {.sched_priority = 1};
    FILE *file = fopen("/proc/sys/kernel/sched_rr_timeslice_ms", "r");
    struct rbuf_time_slice slice;
    unsigned ms;

    if (file == NULL) {
        return;
    }
    ck_assert_int_eq(fscanf(file, "%u", &ms), 1);
    fclose(file);
    if (sched_setscheduler(0, SCHED_RR, &lowest) != 0) {
        return;
    }
    slice = rbuf_time_slice_ask();
    ck_assert_uint_eq(slice.runtime_ns, 0);
    ck_assert_uint_le(slice.interval_ns, ms * MS);
    ck_assert_uint_gt(slice.interval_ns + slice.tick_ns, ms * MS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("time slice");

    unit_add(suite, a_slice_ends_at_a_tick);
    unit_add(suite, every_system_says_something);
    unit_add(suite, a_slice_of_its_own);
    unit_add(suite, round_robin);
    return unit_run(suite);
}
