/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_REPORT_H
#define BTL_RBUF_REPORT_H

/* Before the component is closed, behind its last module. */
void mca_btl_rbuf_report(void);

#endif
