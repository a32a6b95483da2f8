/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * When something may be measured: what the probe is to say of the machine, and how long may be
 * waited for it in the whole run. Everything here is collective over both ranks, says the same to
 * both, and wants the ranks to have a probe.
 */
#ifndef RBUF_BENCH_QUIET_H
#define RBUF_BENCH_QUIET_H

#include "bench/probe.h"

#include <stdbool.h>

struct bench_quiet {
    struct bench_probe *probe;            /* NULL: nothing is probed */
    double rate;                          /* bytes/s, at least */
    double handover_least, handover_most; /* ns; the most is infinite where any will do */
    double wait_left_s;                   /* what is left of the time to wait */
    double handover;                      /* ns, as last probed */
    int rank;
};

/* Whether a cache line's way from core to core is now as wanted. Takes about 0.1 ms. */
bool bench_quiet_handover(struct bench_quiet *quiet);

/* The same, and whether memory of the other core is written fast enough. About 1 ms. */
bool bench_quiet_all(struct bench_quiet *quiet);

/* Whether a repetition is judged by itself. Processors wander several times a second, and a case
 * of many repetitions takes longer than that. */
bool bench_quiet_each(const struct bench_quiet *quiet);

/* Waits until `fits`, one of the two above, is true, or there is no time left; true if it is. */
bool bench_quiet_wait(struct bench_quiet *quiet, bool (*fits)(struct bench_quiet *));

/* The time since `start_us` (clock_us()) is taken off what may be waited: what was measured
 * then does not count. */
void bench_quiet_use_up(struct bench_quiet *quiet, double start_us);

#endif
