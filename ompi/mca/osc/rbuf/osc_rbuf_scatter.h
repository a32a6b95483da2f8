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
};

/* Room for a result; a full message leaves before. NULL without memory. */
struct osc_rbuf_record *osc_rbuf_reply_append(struct osc_rbuf_reply *reply, size_t bytes);

void osc_rbuf_reply_send(struct osc_rbuf_reply *reply);

/* Does what `bytes` of a message from `origin` say. */
void osc_rbuf_scatter(struct osc_rbuf_window *window, int origin, const unsigned char *message,
                      size_t bytes);

#endif
