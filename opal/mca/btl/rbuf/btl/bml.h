/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What Open MPI's layer above BTLs remembers of an endpoint, and how to change it later
 * (btl/bml.c).
 */
#ifndef BTL_RBUF_BML_H
#define BTL_RBUF_BML_H

#include "peers/endpoint.h"

/* From now on ob1 hands eager messages for the endpoint over so. The module's lock is held. */
void mca_btl_rbuf_bml_hand_over(mca_btl_base_endpoint_t *endpoint,
                                mca_btl_rbuf_handover_t handover);

#endif
