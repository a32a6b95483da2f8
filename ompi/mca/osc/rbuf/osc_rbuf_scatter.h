/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a message does where it arrives. The lock is held.
 */
#ifndef OSC_RBUF_SCATTER_H
#define OSC_RBUF_SCATTER_H

#include "osc_rbuf_message.h"

/* Results on their way back, of one message. */
struct osc_rbuf_reply {
    struct osc_rbuf_window *window;
    int origin;
    struct osc_rbuf_buffer *buffer; /* NULL: none yet */
    bool alone;                     /* it has room for all of them, and its maker sends it */
};

/* Room for a result; a full message leaves before. NULL without memory, which comes back when what
 * was sent has left. */
struct osc_rbuf_record *osc_rbuf_reply_append(struct osc_rbuf_reply *reply, size_t bytes);

void osc_rbuf_reply_send(struct osc_rbuf_reply *reply);

/* Says besides that all operations up to a flush are done. */
void osc_rbuf_reply_done(struct osc_rbuf_reply *reply);

/* Does all operations of a message whose results fit into `reply`, which is `alone`. */
void osc_rbuf_perform(struct osc_rbuf_buffer *message, struct osc_rbuf_reply *reply);

/* Says that all of a message has been done. */
void osc_rbuf_arrived(struct osc_rbuf_window *window, int origin,
                      const struct osc_rbuf_header *header);

/* Does what a message says, or what is left of it: used becomes 0. False: there is no memory for
 * the next result, and it has to be called again, when what was sent has left. */
bool osc_rbuf_scatter(struct osc_rbuf_window *window, struct osc_rbuf_buffer *message);

#endif
