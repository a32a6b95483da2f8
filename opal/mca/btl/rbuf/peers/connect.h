/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Connects an endpoint at its first use (peers/connect.c has the states).
 */
#ifndef BTL_RBUF_CONNECT_H
#define BTL_RBUF_CONNECT_H

#include "peers/endpoint.h"

/* The caller holds the module's lock. */

void mca_btl_rbuf_endpoint_connect(mca_btl_base_endpoint_t *endpoint);

/* Connects at the first use. */
static inline void mca_btl_rbuf_endpoint_use(mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->state == MCA_BTL_RBUF_IDLE) {
        mca_btl_rbuf_endpoint_connect(endpoint);
    }
}

/* Who has sent the request. */
opal_process_name_t mca_btl_rbuf_name_of(const struct rbuf_exchange_side *side);

/* Accepts or rejects the endpoint's peer's request. */
void mca_btl_rbuf_connect_request(mca_btl_base_endpoint_t *endpoint,
                                  struct rbuf_connect_event *event);

/* Acts on one event of a connection that belongs to an endpoint. */
void mca_btl_rbuf_connect_event(mca_btl_base_endpoint_t *endpoint,
                                struct rbuf_connect_event *event);

/* For async progress: acts on what the connections of messages that wait need to go on, and leaves
 * the rest. True if there was something. */
bool mca_btl_rbuf_connect_visit(mca_btl_rbuf_module_t *module);

#endif
