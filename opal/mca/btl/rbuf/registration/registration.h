/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One registration of user memory, as the adapter has it.
 *
 * All rights are asked for at once, since a cache treats a request for more rights as a miss; a
 * source that may not be written is registered for reading alone. Who keeps it is told which rights
 * were had: such memory may become writable and a target, and its registration is then no good.
 *
 * Any thread, with or without the module's lock.
 */
#ifndef BTL_RBUF_REGISTRATION_H
#define BTL_RBUF_REGISTRATION_H

#include "rbuf_compat.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "opal/mca/rcache/rcache.h"
#include "verbs/memory.h"

/* What memory is registered for. */
enum mca_btl_rbuf_purpose {
    MCA_BTL_RBUF_SOURCE, /* it is read: memory that may not be written will do */
    MCA_BTL_RBUF_TARGET  /* it is written, or both */
};

/* Begins as OPAL's caches want it. */
typedef struct {
    mca_rcache_base_registration_t base;
    struct ibv_mr *mr;
    enum mca_btl_rbuf_purpose rights; /* that were had */
    struct rbuf_mr *region;           /* policy helper: whose it is; NULL: the caller's of get */
    _Atomic uint64_t unreported_ns;   /* protocol auto: what it took; 0: the choice knows */
} mca_btl_rbuf_registration_t;

/* Registers [base, base + bytes) and fills mr, rights and unreported_ns. 0 or a negative errno,
 * with *problem filled. */
int mca_btl_rbuf_registration_make(struct rbuf_port *port, void *base, size_t bytes,
                                   enum mca_btl_rbuf_purpose purpose,
                                   mca_btl_rbuf_registration_t *registration,
                                   struct rbuf_problem *problem);

/* The same of one in memory of its own: NULL with *problem filled. */
mca_btl_rbuf_registration_t *mca_btl_rbuf_registration_new(struct rbuf_port *port, void *base,
                                                           size_t bytes,
                                                           enum mca_btl_rbuf_purpose purpose,
                                                           struct rbuf_problem *problem);

/* Deregisters and frees such a one; NULL is left alone. */
void mca_btl_rbuf_registration_free(mca_btl_rbuf_registration_t *registration);

/* Whether that status says that the memory is not there, or may not be written. */
bool mca_btl_rbuf_registration_is_unwritable(int status);

#endif
