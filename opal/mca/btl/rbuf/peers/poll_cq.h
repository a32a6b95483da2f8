/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Polls completion queues and feeds core (peers/poll_cq.c).
 */
#ifndef BTL_RBUF_COLLECT_H
#define BTL_RBUF_COLLECT_H

#include "module/module.h"

/* The caller holds the lock. */

/* Polls and feeds core. */
void mca_btl_rbuf_poll_cq(mca_btl_rbuf_module_t *module);

/* Takes up what queue pairs have received: the completions, and the buffers with them, would be
 * lost when the queue pairs go. */
void mca_btl_rbuf_sweep_receives(mca_btl_rbuf_module_t *module);

/* Reads what the adapter says of itself. */
void mca_btl_rbuf_look_at_port(mca_btl_rbuf_module_t *module);

/* Posts the receive buffers that are free. */
void mca_btl_rbuf_post_receives(mca_btl_rbuf_module_t *module);

/* For async progress: all of a module's progress that calls nothing of Open MPI's. Returns the
 * number of things done. */
int mca_btl_rbuf_module_advance(mca_btl_rbuf_module_t *module);

#endif
