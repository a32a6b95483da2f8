/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager messages that leave from the program's buffers (btl/in_place.c): how a module gets to them.
 *
 * One thread, when the module is made; the entry points themselves in any, without the lock.
 */
#ifndef BTL_RBUF_IN_PLACE_H
#define BTL_RBUF_IN_PLACE_H

#include "peers/endpoint.h"

/* Gives a module whose registrar has reuse the entry points of this file, before Open MPI knows it.
 */
void mca_btl_rbuf_in_place_enter(mca_btl_rbuf_module_t *module);

/* What Open MPI's layer above BTLs remembers of an endpoint (btl/bml.c): from now on ob1 hands
 * eager messages for it over so. The module's lock is held. */
void mca_btl_rbuf_bml_hand_over(mca_btl_base_endpoint_t *endpoint,
                                mca_btl_rbuf_handover_t handover);

#endif
