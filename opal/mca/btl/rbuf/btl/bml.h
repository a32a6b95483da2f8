/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_BML_H
#define BTL_RBUF_BML_H

#include "peers/endpoint.h"

/* Whether ob1 hands eager messages for the endpoint over to prepare_src and send, or to sendi:
 * endpoint->in_place says so. The module's lock is held. */
void mca_btl_rbuf_bml_set_in_place(mca_btl_base_endpoint_t *endpoint, bool in_place);

#endif
