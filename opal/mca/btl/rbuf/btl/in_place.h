/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_IN_PLACE_H
#define BTL_RBUF_IN_PLACE_H

#include "peers/endpoint.h"
#include "registration/frequent.h"

/* Looks at a message that came by sendi; it is copied, but those that follow may come by
 * prepare_src. True: to be timed. No lock is held. */
bool mca_btl_rbuf_in_place_sample(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  const struct opal_convertor_t *convertor, size_t bytes);

/* A fragment for an eager message of `bytes` of data behind `reserve`, which stays where it is:
 * either it is held, and then gathered, or copied when it is sent. NULL: no memory. No lock is
 * held. */
mca_btl_rbuf_frag_t *mca_btl_rbuf_in_place_prepare(mca_btl_rbuf_module_t *module,
                                                   mca_btl_base_endpoint_t *endpoint,
                                                   struct opal_convertor_t *convertor,
                                                   size_t reserve, size_t bytes);

/* Sends a message from where it is, that is held; else false and it is to be copied. No lock is
 * held. */
bool mca_btl_rbuf_in_place_send(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                mca_btl_rbuf_frag_t *frag);

#endif
