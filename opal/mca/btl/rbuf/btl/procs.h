/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Processes come and go, and a module ends: entries of Open MPI's BTL interface (btl/procs.c).
 */
#ifndef BTL_RBUF_PROCS_H
#define BTL_RBUF_PROCS_H

#include "peers/endpoint.h"

int mca_btl_rbuf_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable);
int mca_btl_rbuf_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           mca_btl_base_endpoint_t **endpoints);
int mca_btl_rbuf_finalize(mca_btl_base_module_t *btl);

#endif
