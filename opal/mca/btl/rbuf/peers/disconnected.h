/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Peers that have left: what was theirs is given back (peers/disconnected.c).
 */
#ifndef BTL_RBUF_DISCONNECTED_H
#define BTL_RBUF_DISCONNECTED_H

#include "peers/endpoint.h"

/* The caller holds the module's lock. */

/* The peer has sent a DREQ. */
void mca_btl_rbuf_disconnected_note(mca_btl_base_endpoint_t *endpoint);

/* True if the peer has left, and what it had is to be given back: the next progress sees to it.
 */
bool mca_btl_rbuf_disconnected_due(const mca_btl_base_endpoint_t *endpoint);

/* Gives back what peers held that have left, as far as it is out of use. */
void mca_btl_rbuf_disconnected_progress(mca_btl_rbuf_module_t *module);

#endif
