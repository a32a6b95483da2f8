/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether the bytes of one RDMA write become visible at this side in ascending order, which is what
 * the flags of blocks rest on.
 *
 * Threads: the one that connects queue pairs.
 */
#ifndef RBUF_VERBS_IN_ORDER_H
#define RBUF_VERBS_IN_ORDER_H

#include <infiniband/verbs.h>

#include "verbs/device.h"

/*
 * What the adapter says of a queue pair (ibv_query_qp_data_in_order(3)). It answers for one in RTS
 * only: mlx5 reads it out of the queue pair's context, where firmware has put it by then, and says
 * no of all others. It speaks of the bytes of one write into this side; of several writes nothing
 * is known (core/message/ring_long.h). False also where it cannot be asked.
 */
bool rbuf_in_order_ask(struct ibv_qp *qp);

/* Sets port->in_order, in_order_queried and in_order_why from port->options.subblock, what the
 * adapter says of `qp` (of the port, of the kind that is used, in RTS; NULL: there is none to ask)
 * and a table of adapters. */
void rbuf_in_order_decide(struct rbuf_port *port, struct ibv_qp *qp);

#endif
