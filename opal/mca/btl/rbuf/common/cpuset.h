/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Sets of processors, as the kernel numbers and lists them: "0-3,8". Numbers rise, ranges do not
 * touch.
 *
 * Pure but for the calling thread's own set; any thread.
 */
#ifndef RBUF_COMMON_CPUSET_H
#define RBUF_COMMON_CPUSET_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RBUF_CPUSET_PROCESSORS 8192u /* the most that Linux has on any machine (NR_CPUS) */

struct rbuf_cpuset {
    cpu_set_t cpus[RBUF_CPUSET_PROCESSORS / CPU_SETSIZE];
};

/* Where the calling thread may run. False: the kernel does not say; the set is empty then. */
bool rbuf_cpuset_own(struct rbuf_cpuset *set);

/* False: it is no such list, or has a number that is too high. An empty text is an empty set. */
bool rbuf_cpuset_read(struct rbuf_cpuset *set, const char *list);

void rbuf_cpuset_print(const struct rbuf_cpuset *set, FILE *stream);

uint32_t rbuf_cpuset_count(const struct rbuf_cpuset *set);

/* Whether `all` has every processor of `set`. */
bool rbuf_cpuset_within(const struct rbuf_cpuset *set, const struct rbuf_cpuset *all);

#endif
