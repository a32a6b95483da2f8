/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI's info keys of windows (osc_rbuf_info.c says more).
 */
#ifndef OSC_RBUF_INFO_H
#define OSC_RBUF_INFO_H

#include "osc_rbuf_window.h"

/* Heeds MPI's info keys of accumulates, those that the window has and those that it will get. The
 * window is listed (osc_rbuf_windows.h), and no lock is held. */
void osc_rbuf_info_heed(struct osc_rbuf_window *window);

#endif
