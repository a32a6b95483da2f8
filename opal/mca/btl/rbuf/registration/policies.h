/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which policies the registrars of this process have. Chosen once, by the parameters, when the
 * component opens. What configure left out (--without-helper, --without-reuse) is named by
 * policies.c alone, and is never chosen.
 *
 * States: closed -> chosen -> closed. One thread at a time opens and closes; the rest only reads.
 */
#ifndef BTL_RBUF_POLICIES_H
#define BTL_RBUF_POLICIES_H

/* Behind the check of the parameters, before the first registrar opens. */
void mca_btl_rbuf_policies_open(void);

/* Behind the last registrar; nothing if they are closed. */
void mca_btl_rbuf_policies_close(void);

#endif
