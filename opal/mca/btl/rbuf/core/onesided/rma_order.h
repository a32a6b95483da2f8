/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * In which order writes and reads of one list are posted. A queue pair's requests leave in their
 * order: a read that stands behind writes is asked for when those have left, and the way back, on
 * which its data comes, is idle until then. After W. Huang, G. Santhanaraman, H.-W. Jin and D. K.
 * Panda, "Scheduling of MPI-2 One Sided Operations over InfiniBand", IPDPS 2005, section 4.1.
 *
 * Invariants: writes keep their order among themselves, and so do reads; a write and a read that
 * overlap, here or there, keep theirs.
 *
 * Threads: a function of its arguments.
 */
#ifndef RBUF_CORE_RMA_ORDER_H
#define RBUF_CORE_RMA_ORDER_H

#include "core/state/state.h"

/* Orders `count` writes and reads, of which `reads` reads may be under way. */
void rbuf_rma_arrange(enum rbuf_rma_order order, unsigned reads, struct rbuf_rma **list,
                      unsigned count);

#endif
