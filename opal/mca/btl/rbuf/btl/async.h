/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Async progress: what Open MPI takes for sent leaves while the process calls no MPI (btl/async.c).
 */
#ifndef BTL_RBUF_ASYNC_H
#define BTL_RBUF_ASYNC_H

#include "module/module.h"

/* The process is about to leave the module, and messages wait in core: they are to go on without
 * it, unless it comes by again soon. The caller holds the lock. */
void mca_btl_rbuf_async_wait(mca_btl_rbuf_module_t *module);

/* Takes the module of that index off the component's list; the thread does not see it again. */
void mca_btl_rbuf_async_forget(uint32_t index);

/* For the listener: its tick, and when it is due first, ms. */
unsigned mca_btl_rbuf_async_tick(void);
unsigned mca_btl_rbuf_async_first_ms(void);

#endif
