/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Progress of one module, and who acts on its events (btl/progress.c).
 */
#ifndef BTL_RBUF_PROGRESS_H
#define BTL_RBUF_PROGRESS_H

#include "module/module.h"

/* Returns the number of things done. No lock is held. */
int mca_btl_rbuf_module_progress(mca_btl_rbuf_module_t *module);

/* True if the calling thread acts on events. The lock is held. */
static inline bool mca_btl_rbuf_is_draining(const mca_btl_rbuf_module_t *module)
{
    return module->drain.depth > 0 && pthread_equal(module->drain.thread, pthread_self());
}

#endif
