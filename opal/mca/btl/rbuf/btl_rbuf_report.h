/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#ifndef BTL_RBUF_REPORT_H
#define BTL_RBUF_REPORT_H

#include "btl_rbuf.h"

int mca_btl_rbuf_counters_register(const mca_base_component_t *component);
void mca_btl_rbuf_counters_keep(const mca_btl_rbuf_module_t *module); /* before it is freed */
void mca_btl_rbuf_report(void);

#endif
