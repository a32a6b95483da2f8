/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Handles: what register_mem returns, and what of it travels to the peer (btl/register_mem.c).
 */
#ifndef BTL_RBUF_REGISTER_MEM_H
#define BTL_RBUF_REGISTER_MEM_H

#include "peers/endpoint.h"
#include "registration/auto.h"
#include "core/rendezvous/grant.h"

typedef enum {
    MCA_BTL_RBUF_HANDLE_LAZY,       /* a local source; registered only if a put needs it */
    MCA_BTL_RBUF_HANDLE_GRANT,      /* a receive through staging */
    MCA_BTL_RBUF_HANDLE_REGISTERED, /* truly registered */
    MCA_BTL_RBUF_HANDLE_WINDOW      /* that, and in module->windows: for atomics of all */
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

/* The handle of a window of this process that holds so many bytes at `address`; NULL: there is
 * none. It stays valid as long as Open MPI keeps the window. No lock is held. */
mca_btl_rbuf_handle_t *mca_btl_rbuf_window_at(mca_btl_rbuf_module_t *module, uint64_t address,
                                              size_t bytes);

/* A grant has waited too long for staging: its buffer is registered instead, if that is possible.
 * No lock is held. */
void mca_btl_rbuf_grant_expired(mca_btl_rbuf_module_t *module, struct rbuf_grant *grant);

#endif
