/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_FREQUENT_H
#define BTL_RBUF_FREQUENT_H

#include "peers/endpoint.h"
#include "core/choice/frequent.h"
#include "core/choice/trial.h"

struct mca_btl_rbuf_frequent {
    struct rbuf_frequent table;
    size_t least; /* shorter messages are not looked at, bytes */
    struct rbuf_pace pace[RBUF_FREQUENT_KINDS][RBUF_FREQUENT_SIZES];
    uint64_t spared; /* counter: uses of registered buffers that were copied all the same */
    uint64_t in_place[RBUF_FREQUENT_KINDS]; /* counters: uses that were to do without a copy */
};

/* With reuse on; where it cannot be had module->frequent stays NULL, and that has been said. Behind
 * the registrar. */
int mca_btl_rbuf_frequent_open(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_frequent_close(mca_btl_rbuf_module_t *module);

/* Whether a message that came by sendi is to be looked at. */
static inline bool mca_btl_rbuf_frequent_is_due(struct mca_btl_rbuf_frequent *frequent,
                                                size_t bytes)
{
    return bytes >= frequent->least && rbuf_frequent_is_due(&frequent->table);
}

/* Looks at it; it is copied, but those that follow may come by prepare_src. True: to be timed. No
 * lock is held. */
bool mca_btl_rbuf_frequent_sample(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  const struct opal_convertor_t *convertor, size_t bytes);

/* A fragment for an eager message of `bytes` of data behind `reserve`, which stays where it is:
 * either it is held, and then gathered, or copied when it is sent. NULL: no memory. No lock is
 * held. */
mca_btl_rbuf_frag_t *mca_btl_rbuf_frequent_prepare(mca_btl_rbuf_module_t *module,
                                                   mca_btl_base_endpoint_t *endpoint,
                                                   struct opal_convertor_t *convertor,
                                                   size_t reserve, size_t bytes);

/* Sends a message from where it is, that is held; else false and it is to be copied. No lock is
 * held. */
bool mca_btl_rbuf_frequent_gather(mca_btl_rbuf_module_t *module, mca_btl_base_endpoint_t *endpoint,
                                  mca_btl_rbuf_frag_t *frag);

/* The registration of memory that is to be put from, or got into, now, which stays until
 * rbuf_frequent_end(), or NULL: it is to be copied, and to tell of it if it is `timed`. No lock is
 * held. */
struct rbuf_frequent_held *mca_btl_rbuf_frequent_find(mca_btl_rbuf_module_t *module,
                                                      enum rbuf_frequent_kind kind,
                                                      const void *base, uint32_t bytes,
                                                      bool *timed);

/* One that is `timed` was copied since then, and a message posted. No lock is held. */
void mca_btl_rbuf_frequent_copied(mca_btl_rbuf_module_t *module, enum rbuf_frequent_kind kind,
                                  uint32_t bytes, uint64_t start_ns);

/* The data was fetched, or never will be; NULL is left alone. No lock is held. */
void mca_btl_rbuf_frequent_end(mca_btl_rbuf_module_t *module, struct rbuf_frequent_held *held);

#endif
