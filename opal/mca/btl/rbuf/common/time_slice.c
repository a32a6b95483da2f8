/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Asks Linux for the time slice of the calling thread, and computes the longest one from the answer
 * (time_slice.h).
 */
#include "common/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLOWEST_TICK_NS 10000000u /* of a kernel with CONFIG_HZ=100 */

/* The first version of what sched_getattr(2) fills, which all later ones begin with: the C
 * libraries of before 2.41 do not declare it. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t) time->tv_sec * 1000000000u + (uint64_t) time->tv_nsec;
}

struct rbuf_time_slice rbuf_time_slice_ask(void)
{
    struct rbuf_time_slice slice = {.tick_ns = SLOWEST_TICK_NS};
    struct attributes attributes = {.size = sizeof(attributes)};
    struct timespec time;

    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) == 0) {
        slice.runtime_ns = attributes.runtime_ns;
    }
    if (sched_rr_get_interval(0, &time) == 0) {
        slice.interval_ns = ns_of(&time);
    }
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &time) == 0 && ns_of(&time) > 0) {
        slice.tick_ns = ns_of(&time);
    }
    return slice;
}

uint64_t rbuf_time_slice_most_ns(const struct rbuf_time_slice *slice)
{
    const uint64_t length =
        slice->runtime_ns > 0 ? slice->runtime_ns : slice->interval_ns + slice->tick_ns;

    return length + slice->tick_ns;
}
