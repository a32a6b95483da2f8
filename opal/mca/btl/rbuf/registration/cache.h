/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A registrar's policy "cached": OPAL's grdma cache keeps registrations until their memory is given
 * back, of which its memory hooks tell. The cache locks for itself.
 */
#ifndef BTL_RBUF_CACHE_H
#define BTL_RBUF_CACHE_H

#include "registration/registrar.h"

/* On demand, after a help message, where there is no cache, or its hooks are blind. */
extern const mca_btl_rbuf_policy_t mca_btl_rbuf_cached;

#endif
