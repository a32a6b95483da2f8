/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The epoch below (osc_rbuf_module.h), in which goes what an active epoch does not pack:
 *
 *   CLOSED --first operation--> OPENING --> OPEN --synchronisation--> CLOSED
 *
 * Owns `passage`. Results are errors of Open MPI. No lock is held by who calls.
 */
#ifndef OSC_RBUF_BELOW_H
#define OSC_RBUF_BELOW_H

#include "osc_rbuf_window.h"

/* Whether below takes such an epoch at all. Nothing else uses the window yet. */
bool osc_rbuf_below_opens(struct osc_rbuf_window *window);

/* The first thread opens the epoch, and the others wait until it is open: if that fails they are
 * refused there. */
int osc_rbuf_below_open(struct osc_rbuf_window *window);

/* Ends it, and with it all operations there: they have arrived. */
int osc_rbuf_below_close(struct osc_rbuf_window *window);

#endif
