/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Mailboxes of a module's endpoints (module/mailbox.c). The lock is held.
 */
#ifndef BTL_RBUF_MAILBOX_H
#define BTL_RBUF_MAILBOX_H

#include "module/module.h"

/* Pins the first mailboxes. False, after a message: there is no memory. */
bool mca_btl_rbuf_mailboxes_reserve(mca_btl_rbuf_module_t *module);

/* A zeroed mailbox of the module; NULL, after a message, if there is no memory. */
struct rbuf_mailbox *mca_btl_rbuf_mailbox_take(mca_btl_rbuf_module_t *module);

/* Takes it back. No queue pair is left by which a peer could write it. */
void mca_btl_rbuf_mailbox_give(mca_btl_rbuf_module_t *module, struct rbuf_mailbox *mailbox);

/* The key under which peers write it. */
uint32_t mca_btl_rbuf_mailbox_rkey(const mca_btl_rbuf_module_t *module,
                                   const struct rbuf_mailbox *mailbox);
void mca_btl_rbuf_mailboxes_close(mca_btl_rbuf_module_t *module);

#endif
