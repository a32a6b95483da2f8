/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data of packed messages (peers/packed.c).
 */
#ifndef BTL_RBUF_PACKED_H
#define BTL_RBUF_PACKED_H

#include "peers/endpoint.h"

/* The caller holds the module's lock, but for _prepare and _claim. */

/* The rendezvous of packed data was prepared as `frag`: it is to have early data, if it can. */
void mca_btl_rbuf_packed_prepare(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                 const struct opal_convertor_t *convertor,
                                 mca_btl_rbuf_frag_t *frag);

/* Sends it, and the first chunk; false if its buffer is free already. */
bool mca_btl_rbuf_packed_start(mca_btl_base_endpoint_t *endpoint, mca_btl_rbuf_frag_t *frag);
int mca_btl_rbuf_packed_progress(mca_btl_rbuf_module_t *module);

/* True if the convertor's message has early data; then `*frag` is its next fragment, which counts
 * as packed, of no more than `most` bytes behind `reserve` for Open MPI's header; NULL if there is
 * none now. */
bool mca_btl_rbuf_packed_claim(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                               struct opal_convertor_t *convertor, size_t reserve, size_t most,
                               mca_btl_rbuf_frag_t **frag);
void mca_btl_rbuf_packed_close(mca_btl_base_endpoint_t *endpoint);

/* A message of the endpoint goes that way. */
bool mca_btl_rbuf_packed_under_way(const mca_btl_base_endpoint_t *endpoint);

#endif
