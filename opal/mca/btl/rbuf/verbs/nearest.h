/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How far devices are from the processors that this process may run on.
 *
 * Threads: one that opens ports.
 */
#ifndef RBUF_VERBS_NEAREST_H
#define RBUF_VERBS_NEAREST_H

#include "verbs/selection.h"

/* Sets the levels of each port: how many levels of the machine are to be climbed from the
 * processors that are local to its device until those of this process are covered too. A device
 * whose place is not known (a virtual one, or all of them without hwloc) comes after all others,
 * alike among themselves. */
void rbuf_nearest_levels(struct rbuf_candidate *ports, size_t count);

#endif
