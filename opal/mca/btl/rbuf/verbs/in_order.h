/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether the bytes of one RDMA write become visible at this side in ascending order, which is what
 * the flags of blocks rest on.
 */
#ifndef RBUF_VERBS_IN_ORDER_H
#define RBUF_VERBS_IN_ORDER_H

#include <infiniband/verbs.h>

#include "verbs/device.h"

/* Sets port->in_order and in_order_why from port->options.subblock, what the adapter says of `qp`
 * (of the port, of the kind that is used) and a table of adapters. */
void rbuf_in_order_decide(struct rbuf_port *port, struct ibv_qp *qp);

#endif
