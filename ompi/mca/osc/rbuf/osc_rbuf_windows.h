/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The windows of this process, in a list whose first is the one used last. While there are any,
 * Open MPI's progress visits their communicators. No lock is held by who calls.
 */
#ifndef OSC_RBUF_WINDOWS_H
#define OSC_RBUF_WINDOWS_H

#include "osc_rbuf_window.h"

/* Of a window that osc_rbuf_module_attach() succeeded for. */
struct osc_rbuf_window *osc_rbuf_window_of(const ompi_win_t *win);

void osc_rbuf_window_list(struct osc_rbuf_window *window);
void osc_rbuf_window_unlist(struct osc_rbuf_window *window);

#endif
