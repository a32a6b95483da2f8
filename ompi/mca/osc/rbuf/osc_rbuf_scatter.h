/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the operations of a message do where it arrives. The lock is held, but where a function says
 * otherwise.
 */
#ifndef OSC_RBUF_SCATTER_H
#define OSC_RBUF_SCATTER_H

#include "osc_rbuf_reply.h"

/* Has the inbox call this file for each message. Once, before there is a window; no lock. */
void osc_rbuf_scatter_open(void);

/* Does all operations of a message whose results fit into `reply`, which is `alone`. Both stay the
 * caller's. Errors of operations go to their origin, or become the window's. */
void osc_rbuf_perform(struct osc_rbuf_buffer *message, struct osc_rbuf_reply *reply);

/* Forgets the type that a peer's accumulates use, and what it was made of. Nothing else uses the
 * peer, or the lock is held. */
void osc_rbuf_scatter_forget(struct osc_rbuf_peer *peer);

#endif
