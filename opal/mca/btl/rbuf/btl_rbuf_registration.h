/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Registrations of user memory, and what register_mem gives Open MPI: with staging most of it
 * stands for no registration at all.
 */
#ifndef BTL_RBUF_REGISTRATION_H
#define BTL_RBUF_REGISTRATION_H

#include "rbuf_compat.h"

#include <stdbool.h>
#include <sys/queue.h>

#include "core/choice/choice.h"
#include "core/staged/grant.h"
#include "opal/mca/rcache/rcache.h"
#include "opal/mca/rcache/base/base.h"
#include "verbs/memory.h"

typedef struct mca_btl_rbuf_module_t mca_btl_rbuf_module_t;
typedef struct mca_btl_base_endpoint_t mca_btl_base_endpoint_t;

/* A registration of user memory; begins as OPAL's caches want it. */
typedef struct {
    mca_rcache_base_registration_t base;
    struct ibv_mr *mr;
    _Atomic uint64_t untold_ns; /* protocol auto: what it took; 0: the choice knows */
} mca_btl_rbuf_registration_t;

/* What memory is registered for. */
enum mca_btl_rbuf_purpose {
    MCA_BTL_RBUF_SOURCE, /* it is read: memory that may not be written will do */
    MCA_BTL_RBUF_TARGET  /* it is written, or both */
};

/* What is timed, and told to the choice when it ends. */
enum mca_btl_rbuf_timed {
    MCA_BTL_RBUF_TIME_NONE,
    MCA_BTL_RBUF_TIME_LANE, /* a put into a lane, where there is no choice */
    MCA_BTL_RBUF_TIME_COPY,
    MCA_BTL_RBUF_TIME_IN_PLACE
};

struct mca_btl_rbuf_timing {
    enum mca_btl_rbuf_timed of;
    enum rbuf_side side;
    bool telling; /* see struct rbuf_verdict */
    void *base;
    size_t bytes;
    uint64_t since_ns;
};

typedef enum {
    MCA_BTL_RBUF_HANDLE_LAZY,      /* a local source; registered only if a put needs it */
    MCA_BTL_RBUF_HANDLE_GRANT,     /* a receive through staging */
    MCA_BTL_RBUF_HANDLE_REGISTERED /* truly registered */
} mca_btl_rbuf_handle_state_t;

/* What register_mem returns. `offer` is first and is all that travels to the peer. */
struct mca_btl_base_registration_handle_t {
    struct rbuf_offer offer;
    mca_btl_rbuf_handle_state_t state;
    void *base;
    size_t bytes;
    struct rbuf_grant *grant;                  /* GRANT */
    mca_btl_rbuf_registration_t *registration; /* REGISTERED, a LAZY one once needed, or a GRANT
                                                  that became a registration */
    struct mca_btl_rbuf_timing timing;         /* of a receive */
    SLIST_ENTRY(mca_btl_base_registration_handle_t) link;
};

typedef struct mca_btl_base_registration_handle_t mca_btl_rbuf_handle_t;

SLIST_HEAD(mca_btl_rbuf_handle_list, mca_btl_base_registration_handle_t);

/* btl_rbuf_memory.c */
mca_btl_base_registration_handle_t *mca_btl_rbuf_register_mem(mca_btl_base_module_t *btl,
                                                              mca_btl_base_endpoint_t *endpoint,
                                                              void *base, size_t size,
                                                              uint32_t flags);
int mca_btl_rbuf_deregister_mem(mca_btl_base_module_t *btl,
                                mca_btl_base_registration_handle_t *handle);
void mca_btl_rbuf_grant_expired(mca_btl_rbuf_module_t *module, struct rbuf_grant *grant);

/* btl_rbuf_registrar.c: no lock is held. Quiet: says nothing when the adapter refuses. What is
 * taken as a target may be written by the adapter and by peers. */
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

/* btl_rbuf_auto.c: no lock is held. Decides on a buffer: its registration, or NULL if the message
 * is to be copied; either way its time begins, which is over when _took() is told, with the lock
 * held. */
int mca_btl_rbuf_auto_open(mca_btl_rbuf_module_t *module); /* after the registrar */
void mca_btl_rbuf_auto_close(mca_btl_rbuf_module_t *module);
mca_btl_rbuf_registration_t *mca_btl_rbuf_auto_decide(mca_btl_rbuf_module_t *module,
                                                      enum rbuf_side side, void *base, size_t bytes,
                                                      struct mca_btl_rbuf_timing *timing);
void mca_btl_rbuf_auto_lane(mca_btl_rbuf_module_t *module, void *base, size_t bytes,
                            struct mca_btl_rbuf_timing *timing);
void mca_btl_rbuf_auto_took(mca_btl_rbuf_module_t *module,
                            const struct mca_btl_rbuf_timing *timing);

#endif
