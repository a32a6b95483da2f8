/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_HOOKS_H
#define BTL_RBUF_HOOKS_H

#include <stdbool.h>

/* Whether Open MPI's memory hooks, which are in place, are told when the heap shrinks. Takes about
 * a millisecond; not to be called with a lock held that a release of memory wants. */
bool mca_btl_rbuf_hooks_see_heap(void);

#endif
