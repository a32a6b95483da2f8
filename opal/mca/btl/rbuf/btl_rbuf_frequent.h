/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_FREQUENT_H
#define BTL_RBUF_FREQUENT_H

#include "btl_rbuf_endpoint.h"
#include "core/choice/frequent.h"
#include "core/choice/pace.h"

#define MCA_BTL_RBUF_DRAFT_BYTES 64u /* of Open MPI's header */

struct mca_btl_rbuf_frequent {
    struct rbuf_frequent table;
    /* The message that is sent next, if it is to be copied: between prepare_src and send, of the
     * only thread, there is no other. It has memory for Open MPI's header alone. */
    mca_btl_rbuf_frag_t draft;
    struct {
        struct rbuf_message_header header;
        unsigned char payload[MCA_BTL_RBUF_DRAFT_BYTES];
    } draft_memory;
    struct rbuf_pace pace[RBUF_FREQUENT_KINDS][RBUF_FREQUENT_SIZES];
    uint64_t spared; /* counter: uses of registered buffers that were copied all the same */
    uint64_t in_place[RBUF_FREQUENT_KINDS]; /* counters: uses that were to do without a copy, */
    uint64_t bounced;                       /* and puts and gets that had one */
};

/* With reuse on; where it cannot be had module->frequent stays NULL, and that has been said. Behind
 * the registrar. */
int mca_btl_rbuf_frequent_open(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_frequent_close(mca_btl_rbuf_module_t *module);

/* Sends a message from where it is, that mca_btl_rbuf_frequent_find() has found registered; else
 * false and it is to be copied. No lock is held. */
bool mca_btl_rbuf_frequent_gather(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  mca_btl_rbuf_frag_t *frag);

/* The registration of memory that is to be used now, which stays until rbuf_frequent_end(), or
 * NULL: it is to be copied, and to tell of it if it is `timed`. No lock is held. */
struct rbuf_frequent_held *mca_btl_rbuf_frequent_find(mca_btl_rbuf_module_t *module,
                                                      enum rbuf_frequent_kind kind,
                                                      const void *base, uint32_t bytes,
                                                      bool *timed);

/* One that is `timed` was copied since then, and a message posted. No lock is held. */
void mca_btl_rbuf_frequent_copied(mca_btl_rbuf_module_t *module, enum rbuf_frequent_kind kind,
                                  uint32_t bytes, uint64_t start_ns);

/* The data was fetched, or never will be; NULL is left alone. No lock is held. */
void mca_btl_rbuf_frequent_end(mca_btl_rbuf_module_t *module, struct rbuf_frequent_held *held);

/* A fragment for an eager message of `bytes`, header included, or NULL. No lock is held. */
mca_btl_rbuf_frag_t *mca_btl_rbuf_frequent_frag(mca_btl_rbuf_module_t *module, size_t bytes);

#endif
