/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Results go back to their origin, those of one message together. The lock is held.
 */
#ifndef OSC_RBUF_REPLY_H
#define OSC_RBUF_REPLY_H

#include "osc_rbuf_buffer.h"

/* Results for the origin, of one message. */
struct osc_rbuf_reply {
    struct osc_rbuf_window *window;
    int origin;
    struct osc_rbuf_buffer *buffer; /* NULL: none yet */
    bool alone;                     /* it has room for all of them, and its maker sends it */
};

/* Room for a result; a full message leaves before. NULL without memory, which comes back when what
 * was sent has left. */
struct osc_rbuf_record *osc_rbuf_reply_append(struct osc_rbuf_reply *reply, size_t bytes);

/* Sends what there is: as OSC_RBUF_REPLY, or as OSC_RBUF_DONE, which says also without results that
 * all operations up to a flush are done. If that fails the window has the error. */
void osc_rbuf_reply_send(struct osc_rbuf_reply *reply, enum osc_rbuf_kind kind);

#endif
