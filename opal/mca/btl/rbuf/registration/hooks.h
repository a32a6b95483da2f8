/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Open MPI's memory hooks: who of rbuf is told of memory that is given back to the system, and
 * whether the hooks can be trusted. They are installed with the first listener and never without
 * one.
 */
#ifndef BTL_RBUF_HOOKS_H
#define BTL_RBUF_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

/* Called in any thread, possibly within malloc() or munmap(), before the memory is gone: takes no
 * lock and allocates nothing. */
typedef void (*mca_btl_rbuf_released_fn_t)(void *context, uint64_t base, uint64_t bytes);

/* Whether Open MPI's memory hooks, which are in place, are told when the heap shrinks. Takes about
 * a millisecond; not to be called with a lock held that a release of memory wants. */
bool mca_btl_rbuf_hooks_see_heap(void);

/* Puts them in place, for who listens without a cache; true if they can be trusted. Likewise. */
bool mca_btl_rbuf_hooks_install(void);

/* `tell` is called with `context` from now on. False: there are no hooks. These two are called
 * by one thread at a time. */
bool mca_btl_rbuf_hooks_add(mca_btl_rbuf_released_fn_t tell, void *context);

/* It is called with it no more when this has returned. A context that was not added is left alone.
 */
void mca_btl_rbuf_hooks_remove(void *context);

#endif
