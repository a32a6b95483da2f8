/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_FREQUENT_H
#define BTL_RBUF_FREQUENT_H

#include "btl_rbuf_endpoint.h"
#include "core/choice/frequent.h"
#include "core/choice/pace.h"

struct mca_btl_rbuf_frequent {
    struct rbuf_frequent table;
    struct rbuf_pace pace[RBUF_FREQUENT_KINDS][RBUF_FREQUENT_SIZES];
    uint64_t spared; /* counter: uses of registered buffers that were copied all the same */
    uint64_t in_place[RBUF_FREQUENT_KINDS]; /* counters: puts and gets without a copy, */
    uint64_t bounced;                       /* and all that had one */
};

/* With reuse on; where it cannot be had module->frequent stays NULL, and that has been said. Behind
 * the registrar. */
int mca_btl_rbuf_frequent_open(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_frequent_close(mca_btl_rbuf_module_t *module);

/* Sends the message, which is contiguous, from where it is, if its buffer is frequently used; else
 * false and it is to be copied. No lock is held. */
bool mca_btl_rbuf_frequent_gather(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  mca_btl_rbuf_frag_t *frag);

/* For a put or get: the registration of its local memory, which stays until rbuf_frequent_end(), or
 * NULL: it is to be copied, and to tell of it if it is `timed`. No lock is held. */
struct rbuf_frequent_held *mca_btl_rbuf_frequent_find(mca_btl_rbuf_module_t *module,
                                                      enum rbuf_frequent_kind kind,
                                                      const void *base, uint32_t bytes,
                                                      bool *timed);

/* One that is `timed` was copied since then, and a message posted. No lock is held. */
void mca_btl_rbuf_frequent_copied(mca_btl_rbuf_module_t *module, enum rbuf_frequent_kind kind,
                                  uint32_t bytes, uint64_t start_ns);

/* Its data was fetched, or never will be. No lock is held. */
void mca_btl_rbuf_frequent_fetched(mca_btl_rbuf_module_t *module, mca_btl_rbuf_frag_t *frag);

#endif
