/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether the bytes of one RDMA write become visible at this side in ascending order. If so the
 * flags of blocks and the words of rings are trusted; if not they have checksums.
 *
 * The adapter's own answer counts, and the user's word. What adapters are said to do does not: the
 * order depends on firmware, on routing (adaptive routing sends packets by several paths), on the
 * PCI relaxed ordering of the host, and with Soft-RoCE on the kernel's memcpy(), which in Linux
 * 6.12 and 7.2 copies backwards at some alignments. The user's word is tried at start.
 *
 * Threads: the one that connects queue pairs.
 */
#ifndef RBUF_VERBS_IN_ORDER_H
#define RBUF_VERBS_IN_ORDER_H

#include <infiniband/verbs.h>

#include "verbs/port.h"

/*
 * True if the adapter says so of a queue pair, for whole messages (ibv_query_qp_data_in_order(3)).
 * It answers for one in RTS only: mlx5 reads it out of the queue pair's context, where firmware has
 * put it by then, and says no of all others. It speaks of the bytes of one write into this side; of
 * several writes nothing is known (core/eager/ring_long.h). False also where it cannot be asked.
 */
bool rbuf_in_order_ask(struct ibv_qp *qp);

/* Sets port->subblock, in_order_queried and in_order_why from port->options.subblock and what the
 * adapter says of `qp` (of the port, of the kind that is used, in RTS; NULL: there is none to ask).
 */
void rbuf_in_order_decide(struct rbuf_port *port, struct ibv_qp *qp);

/* Order was the user's word alone, and a test has shown that there is none, by a write of so many
 * bytes whose last word's address ends so (verbs/order_probe.h): subblock becomes CHECKED. */
void rbuf_in_order_refute(struct rbuf_port *port, uint32_t bytes, uint32_t ending);

/* True if that has happened. */
bool rbuf_in_order_is_refuted(const struct rbuf_port *port);

#endif
