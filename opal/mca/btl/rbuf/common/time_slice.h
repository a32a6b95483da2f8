/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How long a thread may keep a core that another thread waits for: the time slice of Linux'
 * scheduler, from what it tells every process.
 *
 * - sched_getattr(2), from 6.12 on: the slice that the thread has asked for, or the default one,
 * ns.
 * - sched_rr_get_interval(2), before that: the slice in whole ticks, rounded down. CFS (up to 6.5)
 *   divides its period among the threads that want the core at the moment; EEVDF (from 6.6 on) has
 *   one length. Of SCHED_RR it is the quantum, with every kernel.
 * - clock_getres(2) of CLOCK_MONOTONIC_COARSE: the tick.
 *
 * (/sys/kernel/debug/sched has the default slice, for root alone.) The scheduler looks at a running
 * thread once a tick, so a slice ends up to a tick late.
 *
 * A thread of SCHED_FIFO has no slice: it keeps its core until it sleeps, which this cannot bound.
 *
 * Threads: any.
 */
#ifndef RBUF_COMMON_TIME_SLICE_H
#define RBUF_COMMON_TIME_SLICE_H

#include <stdint.h>

struct rbuf_time_slice {
    uint64_t runtime_ns;  /* of sched_getattr(); 0: the kernel does not say */
    uint64_t interval_ns; /* of sched_rr_get_interval(); 0: less than a tick, or not known */
    uint64_t tick_ns;
};

/* Of the calling thread. Never fails: what cannot be learned is 0, and the tick then that of the
 * slowest kernels. */
struct rbuf_time_slice rbuf_time_slice_ask(void);

/* The longest that a thread of this slice keeps a core for which others wait, ns. */
uint64_t rbuf_time_slice_most_ns(const struct rbuf_time_slice *slice);

#endif
