/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See in_order.h. */
#include "verbs/in_order.h"

#include <stddef.h>
#include <stdio.h>

#define PARTS_MAX 20

/*
 * Adapters that are known to place in order and whose drivers cannot say so. Of Mellanox' it ends
 * with ConnectX-4: later ones may place packets as they arrive when the network routes adaptively,
 * and their drivers answer the question themselves. Of irdma, hns, qedr and efa no source says it.
 * Soft-RoCE is not among them: Linux' rdma_rxe places a packet by the kernel's memcpy(), which
 * after 6.1 may copy from the end, as the processor and the alignment have it.
 */
struct known_adapter {
    const char *name;
    const char *source;
    uint32_t vendors[8];
    uint32_t parts[PARTS_MAX]; /* 0 ends the list; a first 0 is itself a part */
};

#define MELLANOX_VENDORS                                                                           \
    {                                                                                              \
        0x2c9, 0x5ad, 0x66a, 0x8f1, 0x1708, 0x3ba, 0x15b3, 0x119f                                  \
    }

/* Open MPI's openib BTL ran its eager RDMA, which polls the last byte of a write, by default on
 * these. */
#define OPENIB_SOURCE "use_eager_rdma in Open MPI 4.1's mca-btl-openib-device-params.ini"

static const struct known_adapter known_adapters[] = {
    {"InfiniHost", OPENIB_SOURCE, MELLANOX_VENDORS, {23108, 25208, 25218, 25204, 24204}},
    {"ConnectX to ConnectX-3",
     OPENIB_SOURCE,
     MELLANOX_VENDORS,
     {25408, 25418, 25428, 25448, 26418, 26428, 26438, 26448, 26468, 26478, 26488, 4099, 4100,
      4103}},
    {"Connect-IB", OPENIB_SOURCE, MELLANOX_VENDORS, {4113}},
    {"ConnectX-4", OPENIB_SOURCE, MELLANOX_VENDORS, {4115, 4117}},
    {"InfiniPath and Omni-Path",
     OPENIB_SOURCE,
     {0x1fc1, 0x1077, 0x1175},
     {13, 16, 29216, 29474, 9456, 9457}},
    {"NetXtreme-E", OPENIB_SOURCE, {0x14e4}, {0x1605, 0x1606, 0x1614, 0x16c0, 0x16c1,
                                              0x16ce, 0x16cf, 0x16d6, 0x16d7, 0x16d8,
                                              0x16d9, 0x16df, 0x16e2, 0x16e3, 0x16e5,
                                              0x16eb, 0x16ed, 0x16ef, 0x16f0, 0x16f1}},
    {"NetXtreme-S", OPENIB_SOURCE, {0x14e4}, {0xd800, 0xd802, 0xd804}},
};

static bool contains(const uint32_t *list, size_t length, uint32_t value)
{
    for (size_t i = 0; i < length && (i == 0 || list[i] != 0); i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

static const struct known_adapter *find_adapter(uint32_t vendor, uint32_t part)
{
    for (size_t i = 0; i < sizeof(known_adapters) / sizeof(known_adapters[0]); i++) {
        if (contains(known_adapters[i].vendors, 8, vendor) &&
            contains(known_adapters[i].parts, PARTS_MAX, part)) {
            return &known_adapters[i];
        }
    }
    return NULL;
}

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

/* What the table says of the port's adapter; NULL: nothing. */
static const struct known_adapter *known_of(const struct rbuf_port *port)
{
#if defined(__x86_64__) || defined(__i386__)
    return find_adapter(port->vendor_id, port->part_id);
#else
    (void) port; /* the table was learnt on processors that keep the order of stores */
    return NULL;
#endif
}

/* By what the adapter says, else by the table. */
static void decide_by_adapter(struct rbuf_port *port, struct ibv_qp *qp)
{
    const enum order_promised promised = qp != NULL ? ask(qp) : ORDER_NOTHING;
    const struct known_adapter *known = known_of(port);
    char why[sizeof(port->in_order_why)];

    if (promised == ORDER_WHOLE) {
        decide(port, RBUF_SUBBLOCK_ON, "the adapter says so (ibv_query_qp_data_in_order)");
        port->in_order_queried = true;
    } else if (promised == ORDER_ALIGNED_128) {
        decide(port, RBUF_SUBBLOCK_OFF,
               "the adapter promises order within 128 aligned bytes, not within a write");
    } else if (known != NULL) {
        (void) snprintf(why, sizeof(why), "%s: %s", known->name, known->source);
        decide(port, RBUF_SUBBLOCK_ON, why);
    } else {
        decide(port, RBUF_SUBBLOCK_OFF,
               qp != NULL ? "neither the adapter nor the table of known adapters promises it"
                          : "neither the adapter nor the table of known adapters promises it: no "
                            "queue pair to ask");
    }
}

void rbuf_in_order_decide(struct rbuf_port *port, struct ibv_qp *qp)
{
    port->in_order_queried = false;
    switch (port->options.subblock) {
    case RBUF_IN_ORDER_AUTO:
        decide_by_adapter(port, qp);
        break;
    case RBUF_IN_ORDER_CHECKED:
        decide(port, RBUF_SUBBLOCK_CHECKED, "asked for by the user");
        break;
    case RBUF_IN_ORDER_ON:
        decide(port, RBUF_SUBBLOCK_ON, "asked for by the user");
        break;
    case RBUF_IN_ORDER_OFF:
        decide(port, RBUF_SUBBLOCK_OFF, "asked for by the user");
        break;
    }
}
