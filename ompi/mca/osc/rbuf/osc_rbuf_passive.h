/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Passive target epochs (osc_rbuf_passive.c says more). A target may be OSC_RBUF_ALL, as it is in
 * the functions for all. Units are MPI's, errors MPI's or Open MPI's. No lock is held, but for
 * osc_rbuf_passive_ask() and osc_rbuf_passive_await().
 */
#ifndef OSC_RBUF_PASSIVE_H
#define OSC_RBUF_PASSIVE_H

#include "osc_rbuf_window.h"

/* Tells the inbox what the answers of flushes mean. Once, before there is a window. */
void osc_rbuf_passive_open(void);

int osc_rbuf_passive_lock(int type, int target, int mode, ompi_win_t *win);
int osc_rbuf_passive_unlock(int target, ompi_win_t *win);
int osc_rbuf_passive_lock_all(int mode, ompi_win_t *win);
int osc_rbuf_passive_unlock_all(ompi_win_t *win);

/* Asks the target for an answer to all operations so far, if there is anything to answer for, and
 * does not wait for it. The lock is held, and may be given up meanwhile. */
int osc_rbuf_passive_ask(struct osc_rbuf_window *window, int target);

/* Waits for the answers to the flushes so far, of a target or of OSC_RBUF_ALL. The lock is held,
 * and given up meanwhile. */
void osc_rbuf_passive_await(struct osc_rbuf_window *window, int target);

int osc_rbuf_flush(int target, ompi_win_t *win);
int osc_rbuf_flush_all(ompi_win_t *win);
int osc_rbuf_flush_local(int target, ompi_win_t *win);
int osc_rbuf_flush_local_all(ompi_win_t *win);

#endif
