/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Every registration of user memory of a module, by one of these policies, which it has from its
 * opening to its end:
 *
 * - on demand: made for each use, and its taker's (this file);
 * - cached: kept in OPAL's grdma cache (registration/cache.h), protocols rcache and auto;
 * - helper: made by a thread shortly before their use (registration/helper.h), protocol helper.
 *
 * and those that are held beside it, for reuse (peers/frequent.h).
 *
 * What is taken as a target may be written by the adapter and by peers. Quiet: says nothing when
 * the adapter refuses. No lock is held, but for mca_btl_rbuf_memory_allocate().
 */
#ifndef BTL_RBUF_REGISTRAR_H
#define BTL_RBUF_REGISTRAR_H

#include "registration/registration.h"

typedef struct mca_btl_rbuf_module_t mca_btl_rbuf_module_t;
struct mca_btl_base_endpoint_t;

typedef enum {
    MCA_BTL_RBUF_ON_DEMAND,
    MCA_BTL_RBUF_CACHED,
    MCA_BTL_RBUF_HELPED
} mca_btl_rbuf_policy_t;

struct mca_btl_rbuf_registrar {
    mca_btl_rbuf_policy_t policy;
    struct mca_rcache_base_module_t *rcache; /* CACHED */
    struct mca_btl_rbuf_helper *helper;      /* HELPED */
    _Atomic uint64_t lookups;
    _Atomic uint64_t misses; /* of these, registrations that were made */
    _Atomic uint64_t cached; /* registrations in the cache, also those that it is to drop */
};

int mca_btl_rbuf_registrar_open(mca_btl_rbuf_module_t *module);
void mca_btl_rbuf_registrar_close(mca_btl_rbuf_module_t *module);

/* A registration that contains [base, base + bytes), to be given back; NULL with *problem filled.
 * `endpoint` is whom the message is for or from; NULL: not known. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_take(
    mca_btl_rbuf_module_t *module, const struct mca_btl_base_endpoint_t *endpoint, void *base,
    size_t bytes, enum mca_btl_rbuf_purpose purpose, struct rbuf_problem *problem);
void mca_btl_rbuf_registration_give(mca_btl_rbuf_module_t *module,
                                    mca_btl_rbuf_registration_t *registration);

/* A registration of the caller's own, for mca_btl_rbuf_registration_free(), beside that policy,
 * also when its memory is given back to the system: who holds one listens to the memory hooks, and
 * does not use it any more. (Whoever has taken one of OPAL's cache when that happens is told off,
 * and ended.) */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_hold(mca_btl_rbuf_module_t *module,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem);

/* One that is made already, taken as by mca_btl_rbuf_registration_take(), or NULL. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_find(mca_btl_rbuf_module_t *module,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose);

/* As rbuf_memory_allocate(); the cache gives up what nobody uses for it. With or without lock. */
int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_module_t *module, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem);

#endif
