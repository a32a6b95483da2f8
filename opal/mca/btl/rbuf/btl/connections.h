/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the listener has found out becomes a change of an endpoint (btl/connections.c).
 */
#ifndef BTL_RBUF_CONNECTIONS_H
#define BTL_RBUF_CONNECTIONS_H

/* Acts on what the listener has; returns the number of events. */
int mca_btl_rbuf_connections_progress(void);

/* Waits until no thread is about to act on an event that it took before: then none names an
 * endpoint whose connection was closed before this was called. No module's lock is held. */
void mca_btl_rbuf_connections_settle(void);

#endif
