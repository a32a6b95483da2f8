/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Every registration of user memory of a registrar, by one of these policies, which it has from its
 * opening to its end:
 *
 * - on demand: made for each use, and its taker's (this file);
 * - cached: kept in OPAL's grdma cache (registration/cache.h), protocols rcache and auto;
 * - helper: made by a thread shortly before their use (registration/helper.h), protocol helper.
 *
 * and those that are held beside it, for reuse (registration/frequent.h).
 *
 * What is taken as a target may be written by the adapter and by peers. Quiet: says nothing when
 * the adapter refuses. No lock is held, but for mca_btl_rbuf_memory_allocate().
 */
#ifndef BTL_RBUF_REGISTRAR_H
#define BTL_RBUF_REGISTRAR_H

#include "common/lock.h"
#include "registration/registration.h"

struct mca_btl_rbuf_frequent;
struct rbuf_choice;
struct rbuf_core;

typedef enum {
    MCA_BTL_RBUF_ON_DEMAND,
    MCA_BTL_RBUF_CACHED,
    MCA_BTL_RBUF_HELPED
} mca_btl_rbuf_policy_t;

typedef struct mca_btl_rbuf_registrar {
    struct rbuf_port *port;
    struct mca_btl_rbuf_lock *lock; /* the module's: guards `choice` and `frequent` */
    const struct rbuf_core *core;   /* the module's: whether receives wait for staging */
    mca_btl_rbuf_policy_t policy;
    struct mca_rcache_base_module_t *rcache; /* CACHED */
    struct mca_btl_rbuf_helper *helper;      /* HELPED */
    _Atomic uint64_t lookups;
    _Atomic uint64_t misses;    /* of these, registrations that were made */
    _Atomic uint64_t cached;    /* registrations in the cache, also those that it is to drop */
    struct rbuf_choice *choice; /* protocol auto, else NULL */
    struct mca_btl_rbuf_frequent *frequent; /* reuse, else NULL */
} mca_btl_rbuf_registrar_t;

static inline void mca_btl_rbuf_registrar_lock(const mca_btl_rbuf_registrar_t *registrar)
{
    mca_btl_rbuf_lock_enter(registrar->lock, opal_using_threads());
}

static inline void mca_btl_rbuf_registrar_unlock(const mca_btl_rbuf_registrar_t *registrar)
{
    mca_btl_rbuf_lock_leave(registrar->lock);
}

/* Port, lock and core are set. */
int mca_btl_rbuf_registrar_open(mca_btl_rbuf_registrar_t *registrar);
void mca_btl_rbuf_registrar_close(mca_btl_rbuf_registrar_t *registrar);

/* A registration that contains [base, base + bytes), to be given back; NULL with *problem filled.
 * `rank` is whom the message is for or from; 0: not known. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_take(mca_btl_rbuf_registrar_t *registrar,
                                                            uint32_t rank, void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem);
void mca_btl_rbuf_registration_give(mca_btl_rbuf_registrar_t *registrar,
                                    mca_btl_rbuf_registration_t *registration);

/* A registration of the caller's own, for mca_btl_rbuf_registration_free(), beside that policy,
 * also when its memory is given back to the system: who holds one listens to the memory hooks, and
 * does not use it any more. (Whoever has taken one of OPAL's cache when that happens is told off,
 * and ended.) */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_hold(mca_btl_rbuf_registrar_t *registrar,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose,
                                                            struct rbuf_problem *problem);

/* One that is made already, taken as by mca_btl_rbuf_registration_take(), or NULL. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_find(mca_btl_rbuf_registrar_t *registrar,
                                                            void *base, size_t bytes,
                                                            enum mca_btl_rbuf_purpose purpose);

/* As rbuf_memory_allocate(); the cache gives up what nobody uses for it. With or without lock. */
int mca_btl_rbuf_memory_allocate(mca_btl_rbuf_registrar_t *registrar, size_t bytes, unsigned access,
                                 struct rbuf_memory *out, struct rbuf_problem *problem);

#endif
