/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Asks the adapter by ibv_query_qp_data_in_order(), and sets the port's `subblock` and why
 * (in_order.h).
 */
#include "verbs/in_order.h"

#include <stdio.h>

/* rdma-core 50 and later tell what holds as a set of bits. Before it is one answer, for the whole
 * message. */
enum order_promised {
    ORDER_NOTHING,
    ORDER_ALIGNED_128, /* within 128 aligned bytes */
    ORDER_WHOLE        /* within a message */
};

static enum order_promised ask(struct ibv_qp *qp)
{
#if defined(RBUF_HAVE_DATA_IN_ORDER_CAPS) && RBUF_HAVE_DATA_IN_ORDER_CAPS
    const int caps =
        ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS);

    if (caps < 0) {
        return ORDER_NOTHING;
    }
    if ((caps & IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG) != 0) {
        return ORDER_WHOLE;
    }
    return (caps & IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES) != 0 ? ORDER_ALIGNED_128
                                                                      : ORDER_NOTHING;
#elif defined(RBUF_HAVE_DATA_IN_ORDER) && RBUF_HAVE_DATA_IN_ORDER
    return ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0) == 1 ? ORDER_WHOLE : ORDER_NOTHING;
#else
    (void) qp;
    return ORDER_NOTHING;
#endif
}

bool rbuf_in_order_ask(struct ibv_qp *qp)
{
    return ask(qp) == ORDER_WHOLE;
}

static void decide(struct rbuf_port *port, enum rbuf_subblock subblock, const char *why)
{
    port->subblock = subblock;
    (void) snprintf(port->in_order_why, sizeof(port->in_order_why), "%s", why);
}

static void decide_by_adapter(struct rbuf_port *port, struct ibv_qp *qp)
{
    static const char *const whys[] = {
        [ORDER_NOTHING] = "the adapter does not promise order (ibv_query_qp_data_in_order)",
        [ORDER_ALIGNED_128] =
            "the adapter promises order within 128 aligned bytes, not within a write",
        [ORDER_WHOLE] = "the adapter says so (ibv_query_qp_data_in_order)"};
    const enum order_promised promised = qp != NULL ? ask(qp) : ORDER_NOTHING;

    port->in_order_queried = promised == ORDER_WHOLE;
    decide(port, promised == ORDER_WHOLE ? RBUF_SUBBLOCK_ON : RBUF_SUBBLOCK_CHECKED,
           qp != NULL ? whys[promised] : "there was no queue pair to ask about order");
}

void rbuf_in_order_decide(struct rbuf_port *port, struct ibv_qp *qp)
{
    static const enum rbuf_subblock asked[] = {[RBUF_IN_ORDER_CHECKED] = RBUF_SUBBLOCK_CHECKED,
                                               [RBUF_IN_ORDER_ON] = RBUF_SUBBLOCK_ON,
                                               [RBUF_IN_ORDER_OFF] = RBUF_SUBBLOCK_OFF};

    port->in_order_queried = false;
    if (port->options.subblock == RBUF_IN_ORDER_AUTO) {
        decide_by_adapter(port, qp);
    } else {
        decide(port, asked[port->options.subblock], "asked for by the user");
    }
}

void rbuf_in_order_refute(struct rbuf_port *port, uint32_t bytes, uint32_t ending)
{
    port->subblock = RBUF_SUBBLOCK_CHECKED;
    (void) snprintf(
        port->in_order_why, sizeof(port->in_order_why),
        "the last word of a write of %u bytes came first, at an address that ends in 0x%02x", bytes,
        ending);
}

bool rbuf_in_order_is_refuted(const struct rbuf_port *port)
{
    return port->options.subblock == RBUF_IN_ORDER_ON && port->subblock == RBUF_SUBBLOCK_CHECKED;
}
