/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Epochs of a process on a window: their states, as section 11.5 of MPI 3.1 has them, how a
 * synchronisation waits, and which error it returns. Access and exposure are independent:
 *
 *   access    NONE --fence--> FENCE --fence(NOSUCCEED)--> NONE
 *             NONE or FENCE --start--> STARTED --complete--> NONE
 *             NONE or FENCE --start(NOCHECK)--> STARTED_UNCHECKED --complete--> NONE
 *             NONE or FENCE --lock, lock_all--> PASSIVE --unlock, unlock_all of the last--> NONE
 *   exposure  NONE --post--> POSTED --wait, test--> NONE
 *             NONE --post(NOCHECK)--> POSTED_UNCHECKED --wait, test--> NONE
 *
 * FENCE is also the exposure of that fence. In PASSIVE the window is always exposed.
 *
 * Threads: only the program's calls change a state, with the lock held. So a call of the program
 * reads it with or without the lock; who handles a message reads it with the lock held.
 */
#ifndef OSC_RBUF_EPOCH_H
#define OSC_RBUF_EPOCH_H

#include <stdbool.h>

#include "core/base/trace.h"

/* What an access epoch waits for. */
#define OSC_RBUF_ACCESS_STATES(STATE)                                                              \
    STATE(OSC_RBUF_ACCESS_, NONE)              /* a fence, a start or a lock */                    \
    STATE(OSC_RBUF_ACCESS_, FENCE)             /* the next fence; targets are all ranks */         \
    STATE(OSC_RBUF_ACCESS_, STARTED)           /* its complete, and each target's post */          \
    STATE(OSC_RBUF_ACCESS_, STARTED_UNCHECKED) /* its complete, and for no post */                 \
    STATE(OSC_RBUF_ACCESS_, PASSIVE)           /* the last unlock */

enum osc_rbuf_access { OSC_RBUF_ACCESS_STATES(RBUF_STATE) };

/* What an exposure epoch waits for. */
#define OSC_RBUF_EXPOSURE_STATES(STATE)                                                            \
    STATE(OSC_RBUF_EXPOSURE_, NONE)   /* a post */                                                 \
    STATE(OSC_RBUF_EXPOSURE_, POSTED) /* completes of its origins, which are told of the post */   \
    STATE(OSC_RBUF_EXPOSURE_, POSTED_UNCHECKED) /* completes of its origins, told if they ask */

enum osc_rbuf_exposure { OSC_RBUF_EXPOSURE_STATES(RBUF_STATE) };

struct osc_rbuf_window;

/* An access epoch since a start. */
static inline bool osc_rbuf_is_started(enum osc_rbuf_access access)
{
    return access == OSC_RBUF_ACCESS_STARTED || access == OSC_RBUF_ACCESS_STARTED_UNCHECKED;
}

/* One that excludes a fence and a start. */
static inline bool osc_rbuf_is_exclusive(enum osc_rbuf_access access)
{
    return access >= OSC_RBUF_ACCESS_STARTED;
}

/* Calls Open MPI's progress until `done` says so, or forever. No lock is held. */
void osc_rbuf_wait(struct osc_rbuf_window *window,
                   bool (*done)(struct osc_rbuf_window *window, int argument), int argument);

/* The error that operations have met since the last call, of MPI or Open MPI, or else the epoch's
 * own, or MPI_SUCCESS. The lock is held. */
int osc_rbuf_first_error(struct osc_rbuf_window *window, int epoch);

/* What the program does (`what`) does not fit the states. Says so at osc_base_verbose 10, and
 * returns OMPI_ERR_RMA_SYNC. With or without the lock. */
int osc_rbuf_refuse(const struct osc_rbuf_window *window, const char *what);

#endif
