/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A registrar's policy "cached": OPAL's grdma cache keeps registrations until their memory is given
 * back, of which its memory hooks tell. The cache locks for itself; no lock is held when these are
 * called, but for the last.
 */
#ifndef BTL_RBUF_CACHE_H
#define BTL_RBUF_CACHE_H

#include "registration/registrar.h"

/* The registrar's cache, or NULL after a help message: there is none, or its hooks are blind. */
struct mca_rcache_base_module_t *mca_btl_rbuf_cache_open(mca_btl_rbuf_registrar_t *registrar);
void mca_btl_rbuf_cache_close(mca_btl_rbuf_registrar_t *registrar);

/* What the cache has, or makes; NULL: the adapter refuses. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_cache_take(mca_btl_rbuf_registrar_t *registrar,
                                                     void *base, size_t bytes,
                                                     enum mca_btl_rbuf_purpose purpose);

/* What the cache has, or NULL. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_cache_find(mca_btl_rbuf_registrar_t *registrar,
                                                     void *base, size_t bytes,
                                                     enum mca_btl_rbuf_purpose purpose);
void mca_btl_rbuf_cache_give(mca_btl_rbuf_registrar_t *registrar,
                             mca_btl_rbuf_registration_t *registration);

/* Gives up a registration that nobody uses; false: there is none. With or without lock. */
bool mca_btl_rbuf_cache_evict(mca_btl_rbuf_registrar_t *registrar);

#endif
