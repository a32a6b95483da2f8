/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the operations of a message do where it arrives. The lock is held.
 */
#ifndef OSC_RBUF_SCATTER_H
#define OSC_RBUF_SCATTER_H

#include "osc_rbuf_reply.h"

/* Has the inbox do them. */
void osc_rbuf_scatter_open(void);

/* Does all operations of a message whose results fit into `reply`, which is `alone`. */
void osc_rbuf_perform(struct osc_rbuf_buffer *message, struct osc_rbuf_reply *reply);

#endif
