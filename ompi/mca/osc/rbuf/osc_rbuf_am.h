/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Operations of passive epochs as active messages of the transport (btl/service.h): its thread
 * has them done while the target computes. Where that cannot be they go as messages of MPI.
 *
 * At the target messages of both paths are done with the lock held, one message after another: so
 * operations are atomic with each other, whichever path they take. rbuf's thread only tries the
 * lock, and does requests alone: answers complete what the program waits for, and are the
 * process's.
 *
 * Each process has a key for each of its windows, which it tells the others when the window is
 * made.
 */
#ifndef OSC_RBUF_AM_H
#define OSC_RBUF_AM_H

#include "osc_rbuf_window.h"

/* Gives the window a key, and returns it; 0: this process takes no active messages for it. No lock
 * is held. */
uint64_t osc_rbuf_am_open(struct osc_rbuf_window *window);

/* Nothing comes for the window any more. No lock is held. */
void osc_rbuf_am_close(struct osc_rbuf_window *window);

/* Ends what windows that were not freed have left: nothing comes any more. No lock is held. */
void osc_rbuf_am_finalize(void);

/* Most bytes of a message for the target, header included; 0: it cannot be reached so. The lock is
 * held. */
size_t osc_rbuf_am_most(const struct osc_rbuf_window *window, int target);

/* Sends what is packed for the target, as OSC_RBUF_PASSIVE_FLUSH also if that is nothing. The lock
 * is held, and is given up while the transport takes nothing. An error of Open MPI. */
int osc_rbuf_am_send(struct osc_rbuf_window *window, int target, uint32_t kind);

#endif
