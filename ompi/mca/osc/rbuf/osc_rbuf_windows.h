/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The windows of this process, in a list whose first is the one used last. While there are any,
 * Open MPI's progress visits their communicators. No lock is held by who calls.
 */
#ifndef OSC_RBUF_WINDOWS_H
#define OSC_RBUF_WINDOWS_H

#include "osc_rbuf_window.h"

/* The window that osc_rbuf_module_attach() made for `win`. It is now the first, and progress visits
 * its communicator first. */
struct osc_rbuf_window *osc_rbuf_window_of(const ompi_win_t *win);

/* Puts it into the list, or takes it out. It stays the caller's. */
void osc_rbuf_window_list(struct osc_rbuf_window *window);
void osc_rbuf_window_unlist(struct osc_rbuf_window *window);

#endif
