/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory of a module for staging, which grows when core asks for more (module/staging.c).
 */
#ifndef BTL_RBUF_STAGING_H
#define BTL_RBUF_STAGING_H

#include "module/module.h"

/* Most staging of a module in one direction, bytes: the process's, dealt out to its modules. A
 * block at least, but where it was given. */
size_t mca_btl_rbuf_staging_half(const mca_btl_rbuf_module_t *module);
int mca_btl_rbuf_staging_open(mca_btl_rbuf_module_t *module,
                              const struct rbuf_core_options *options, size_t half);
struct rbuf_region mca_btl_rbuf_staging_region(const struct rbuf_range *range);
void mca_btl_rbuf_staging_wanted(mca_btl_rbuf_module_t *module,
                                 struct rbuf_arena *arena); /* no lock is held */

#endif
