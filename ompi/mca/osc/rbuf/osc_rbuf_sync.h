/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Post, start, complete and wait (osc_rbuf_sync.c says more). Units are MPI's, errors MPI's or Open
 * MPI's. No lock is held, but for osc_rbuf_make_room().
 */
#ifndef OSC_RBUF_SYNC_H
#define OSC_RBUF_SYNC_H

#include "osc_rbuf_window.h"

/* Tells the inbox what messages of these epochs mean. Once, before there is a window. */
void osc_rbuf_sync_open(void);

/* Waits until the target has opened its window for this process. */
void osc_rbuf_await_post(struct osc_rbuf_window *window, int target);

/* Before the records of an operation, with `bytes` behind them in all, are packed for a target. A
 * message may leave in the middle of an epoch only once its target has opened its window. So if
 * they do not fit this waits for that, and they can be packed with the lock held all the time. The
 * lock is held, and given up while this waits. */
void osc_rbuf_make_room(struct osc_rbuf_window *window, int target, size_t records, size_t bytes);

int osc_rbuf_post(MPI_Group group, int mode, ompi_win_t *win);
int osc_rbuf_start(MPI_Group group, int mode, ompi_win_t *win);
int osc_rbuf_complete(ompi_win_t *win);
int osc_rbuf_wait_completes(ompi_win_t *win);
int osc_rbuf_test_completes(ompi_win_t *win, int *flag);

#endif
