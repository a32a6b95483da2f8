/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_ASYNC_H
#define BTL_RBUF_ASYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct mca_btl_rbuf_module_t mca_btl_rbuf_module_t;

/* When the listener's thread is to make progress of a module. */
struct mca_btl_rbuf_async {
    atomic_bool wanted; /* messages wait in core: set by who found that, cleared by the thread */
    _Atomic uint32_t calls; /* how often the process found so; wraps */
    uint32_t calls_seen;    /* the thread's: at its newest tick */
    uint64_t visits;        /* of the thread; the lock guards it */
};

/* The process is about to leave the module, and messages wait in core: they are to go on without
 * it, unless it comes by again soon. The caller holds the lock. */
void mca_btl_rbuf_async_wait(mca_btl_rbuf_module_t *module);

/* Takes the module of that index off the component's list; the thread does not see it again. */
void mca_btl_rbuf_async_forget(uint32_t index);

/* For the listener: its tick, and when it is due first, ms. */
unsigned mca_btl_rbuf_async_tick(void);
unsigned mca_btl_rbuf_async_first_ms(void);

#endif
