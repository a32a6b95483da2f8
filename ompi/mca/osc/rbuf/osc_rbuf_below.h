/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The epoch below (osc_rbuf_module.h), in which goes what an active epoch does not pack:
 *
 *   CLOSED --first operation--> OPENING --> OPEN --synchronisation--> CLOSED
 *                               OPENING --below refuses--> CLOSED
 *
 * Owns `passage`. Results are errors of Open MPI. No lock is held by who calls.
 */
#ifndef OSC_RBUF_BELOW_H
#define OSC_RBUF_BELOW_H

#include "osc_rbuf_window.h"

/* Tries whether below takes such an epoch: opens one, and closes it. Nothing else uses the window
 * yet. */
bool osc_rbuf_below_can_open(struct osc_rbuf_window *window);

/* Opens the epoch if it is not open. The first thread does it, and the others wait until it is
 * open: if that fails below refuses their operations. */
int osc_rbuf_below_open(struct osc_rbuf_window *window);

/* Ends the epoch, if it is open, and with it all operations there: they have arrived. No operation
 * is being passed. */
int osc_rbuf_below_close(struct osc_rbuf_window *window);

#endif
