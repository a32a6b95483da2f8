/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A module's life: opened in STANDBY, started when it is needed, closed (module/module_open.c).
 */
#ifndef BTL_RBUF_MODULE_H
#define BTL_RBUF_MODULE_H

#include "module/module.h"

/* A module in state STANDBY. */
int mca_btl_rbuf_module_open(struct rbuf_port *port, uint32_t index,
                             mca_btl_rbuf_module_t **module);
/* Lets it run, if it does not yet: makes and pins what messages need. False, after a message the
 * first time: it cannot be. The caller holds the lock, or nobody else knows of the module. */
bool mca_btl_rbuf_module_start(mca_btl_rbuf_module_t *module);

/* Frees everything; the endpoints are gone. */
void mca_btl_rbuf_module_close(mca_btl_rbuf_module_t *module);

#endif
