/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Post, start, complete and wait (osc_rbuf_sync.c says more). Units and errors are MPI's.
 */
#ifndef OSC_RBUF_SYNC_H
#define OSC_RBUF_SYNC_H

#include "osc_rbuf_window.h"

/* Says what messages of these epochs mean. */
void osc_rbuf_sync_open(void);

/* Waits until the target has opened its window for this process. No lock is held. */
void osc_rbuf_await_post(struct osc_rbuf_window *window, int target);

/* Before the records of an operation, with `bytes` behind them in all, are packed for a target. A
 * message may leave in the middle of an epoch only once its target has opened its window: if they
 * do not fit this waits for that, with the lock given up. So it is not given up between them. */
void osc_rbuf_make_way(struct osc_rbuf_window *window, int target, size_t records, size_t bytes);

int osc_rbuf_post(MPI_Group group, int mode, ompi_win_t *win);
int osc_rbuf_start(MPI_Group group, int mode, ompi_win_t *win);
int osc_rbuf_complete(ompi_win_t *win);
int osc_rbuf_wait_completes(ompi_win_t *win);
int osc_rbuf_test_completes(ompi_win_t *win, int *flag);

#endif
