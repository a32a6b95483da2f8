/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_REGISTRAR_H
#define BTL_RBUF_REGISTRAR_H

#include "btl_rbuf.h"
#include "opal/mca/rcache/rcache.h"
#include "verbs/memory.h"

/* A registration of user memory; begins as OPAL's caches want it. */
typedef struct {
    mca_rcache_base_registration_t base;
    struct ibv_mr *mr;
    _Atomic uint64_t unreported_ns; /* protocol auto: what it took; 0: the choice knows */
} mca_btl_rbuf_registration_t;

/* What memory is registered for. */
enum mca_btl_rbuf_purpose {
    MCA_BTL_RBUF_SOURCE, /* it is read: memory that may not be written will do */
    MCA_BTL_RBUF_TARGET  /* it is written, or both */
};

/* No lock is held. Quiet: says nothing when the adapter refuses. What is taken as a target may be
 * written by the adapter and by peers. */
int mca_btl_rbuf_registrar_open(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_registrar_close(mca_btl_rbuf_module_t *module);
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_take(mca_btl_rbuf_module_t *module,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem);
void mca_btl_rbuf_registration_give(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_registration_t *registration);

/* A registration that is made already, taken as by mca_btl_rbuf_registration_take(), or NULL. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_find(mca_btl_rbuf_module_t *module,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose);

/* As rbuf_memory_allocate(); the cache gives up what nobody uses for it. With or without lock. */
int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_module_t *module, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem);

#endif
