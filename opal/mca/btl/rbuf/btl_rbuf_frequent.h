/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_FREQUENT_H
#define BTL_RBUF_FREQUENT_H

#include "btl_rbuf_endpoint.h"
#include "core/choice/frequent.h"
#include "core/choice/pace.h"

struct mca_btl_rbuf_frequent {
    struct rbuf_frequent table;
    struct rbuf_pace pace[RBUF_FREQUENT_SIZES];
    uint64_t spared; /* counter: messages from registered buffers that were copied all the same */
};

/* With reuse on; where it cannot be had module->frequent stays NULL, and that has been said. Behind
 * the registrar. */
int mca_btl_rbuf_frequent_open(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_frequent_close(mca_btl_rbuf_module_t *module);

/* Sends the message, which is contiguous, from where it is, if its buffer is frequently used; else
 * false and it is to be copied. No lock is held. */
bool mca_btl_rbuf_frequent_gather(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  mca_btl_rbuf_frag_t *frag);

/* One that was not, and is `timed`, was copied and posted since then. */
void mca_btl_rbuf_frequent_copied(mca_btl_rbuf_module_t *module, uint32_t bytes, uint64_t start_ns);

/* Its data was fetched, or never will be. No lock is held. */
void mca_btl_rbuf_frequent_fetched(mca_btl_rbuf_module_t *module, mca_btl_rbuf_frag_t *frag);

#endif
