/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Fences (osc_rbuf_fence.c says more). Units are MPI's, errors MPI's or Open MPI's. No lock is
 * held.
 */
#ifndef OSC_RBUF_FENCE_H
#define OSC_RBUF_FENCE_H

#include "osc_rbuf_window.h"

/* Tells the inbox what messages of fences mean. Once, before there is a window. */
void osc_rbuf_fence_open(void);

int osc_rbuf_fence(int mode, ompi_win_t *win);

/* Waits until the target, or each process (OSC_RBUF_ALL), has ended as many fences as this one:
 * what goes below must not overtake operations that it has yet to scatter. */
int osc_rbuf_settle(struct osc_rbuf_window *window, int target);

#endif
