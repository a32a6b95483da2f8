/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager messages that leave from the program's buffers (btl/in_place.c): how a module gets to them.
 *
 * One thread, when the module is made; the entry points themselves in any, without the lock.
 */
#ifndef BTL_RBUF_IN_PLACE_H
#define BTL_RBUF_IN_PLACE_H

#include "module/module.h"

/* Gives a module whose registrar has reuse the entry points of this file, before Open MPI knows it.
 */
void mca_btl_rbuf_in_place_enter(mca_btl_rbuf_module_t *module);

#endif
