/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Operations of passive epochs as active messages of the transport (btl/service.h): its thread
 * has them done while the target computes. Where that cannot be they go as messages of MPI.
 *
 * Active messages take operations whose target type is predefined and has no holes, which fit one
 * message and whose answer does. What goes by one of the two ways may overtake what goes by the
 * other. So an operation that has to stay behind others (MPI's info key accumulate_ordering: by
 * default all do) keeps to their way until all are answered. One that has to follow active messages
 * and that none of these takes asks for their answer first, and waits. With accumulate_ordering
 * `none` each goes the way that is best for it, and a flush asks on both.
 *
 * At the target both ways are done with the lock held, one message after another: so operations are
 * atomic with each other, whichever way they come. rbuf's thread only tries the lock, and does
 * requests alone: answers complete what the program waits for, and are the process's.
 *
 * Each process has a key for each of its windows, which it tells the others when the window is
 * made.
 */
#ifndef OSC_RBUF_AM_H
#define OSC_RBUF_AM_H

#include "osc_rbuf.h"

/* What an operation asks of messages. */
struct osc_rbuf_need {
    bool plain;     /* its type and operation can be done by rbuf's thread */
    unsigned does;  /* OSC_RBUF_READS, OSC_RBUF_WRITES */
    size_t request; /* bytes of its records in the message, padded */
    size_t answer;  /* likewise of its answer */
};

/* The window's key; 0: this process takes no active messages for it. No lock is held. */
uint64_t osc_rbuf_am_open(struct osc_rbuf_window *window);

/* Nothing comes for the window any more. No lock is held. */
void osc_rbuf_am_close(struct osc_rbuf_window *window);

/* Ends what windows that were not freed have left. */
void osc_rbuf_am_finalize(void);

/* Before an operation of a passive epoch is packed: decides its way, and makes room in its message.
 * The lock is held, and may be given up meanwhile. MPI's error. */
int osc_rbuf_am_prepare(struct osc_rbuf_window *window, int target,
                        const struct osc_rbuf_need *need);

/* Sends what is packed for the target, as PASSIVE_FLUSH also if that is nothing. Likewise. */
int osc_rbuf_am_send(struct osc_rbuf_window *window, int target, uint32_t kind);

#endif
