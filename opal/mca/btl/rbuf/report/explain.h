/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_SHOW_H
#define BTL_RBUF_SHOW_H

/* Prints on standard error by which way messages of each size would go, and why, for each port that
 * is started (btl_rbuf_show), at rank 0 alone. Once all modules are open; one thread. */
void mca_btl_rbuf_explain(void);

#endif
