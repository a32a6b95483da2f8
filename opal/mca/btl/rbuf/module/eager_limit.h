/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The eager limit of a module, which ob1 reads for each message: what raises and what lowers it
 * (module/eager_limit.c).
 */
#ifndef BTL_RBUF_EAGER_H
#define BTL_RBUF_EAGER_H

#include "module/module.h"

void mca_btl_rbuf_eager_open(mca_btl_rbuf_module_t *module);
/* A message longer than control_size goes by a ring; the lock is held. */
void mca_btl_rbuf_eager_by_ring(mca_btl_rbuf_module_t *module);
/* Likewise beside it, over send/receive, to the peer, for which `waiting` messages wait; no lock is
 * held. */
void mca_btl_rbuf_eager_beside(mca_btl_rbuf_module_t *module, const struct rbuf_peer *peer,
                               uint32_t waiting, size_t bytes);
/* A message of `bytes` goes by a rendezvous; no lock is held. */
void mca_btl_rbuf_eager_rendezvous(mca_btl_rbuf_module_t *module, size_t bytes);

/* The longest round trip to a peer that is near, ns; 0: it does not matter how far peers are. */
uint64_t mca_btl_rbuf_eager_near_ns(const mca_btl_rbuf_module_t *module);
/* Whether all peers that were timed are far; the lock is held. */
void mca_btl_rbuf_eager_all_far(mca_btl_rbuf_module_t *module, bool far);
/* Bytes of the longest eager message that there may be. */
size_t mca_btl_rbuf_eager_most(const mca_btl_base_module_t *btl);

#endif
