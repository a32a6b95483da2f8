/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether a peer is near (peers/latency.c).
 */
#ifndef BTL_RBUF_LATENCY_H
#define BTL_RBUF_LATENCY_H

#include "peers/endpoint.h"

/* The caller holds the lock. */
void mca_btl_rbuf_latency_connected(mca_btl_base_endpoint_t *endpoint);
void mca_btl_rbuf_latency_forget(mca_btl_base_endpoint_t *endpoint);

/* Behind a look at the completion queues, while it is DUE or TIMING. */
void mca_btl_rbuf_latency_look(mca_btl_rbuf_module_t *module);

#endif
