/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory of a module for eager rings (module/ring.c).
 */
#ifndef BTL_RBUF_RING_H
#define BTL_RBUF_RING_H

#include "module/module.h"

struct rbuf_ring_options mca_btl_rbuf_ring_options(const struct rbuf_port *port);
void mca_btl_rbuf_ring_wanted(mca_btl_rbuf_module_t *module); /* no lock is held */
void mca_btl_rbuf_rings_close(mca_btl_rbuf_module_t *module);

#endif
