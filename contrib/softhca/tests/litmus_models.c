/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* What each model of an adapter says of itself and what it refuses (models.c). */
#include "litmus_device.h"

#include <errno.h>
#include <stdio.h>

/* What one of a device's queue pairs gets, or the errno value with which it is refused. */
static int try_queue(const struct device *device, uint32_t depth, uint32_t sge, uint32_t inlined,
                     struct ibv_qp_cap *got)
{
    struct ibv_qp *qp;

    *got = (struct ibv_qp_cap){.max_send_wr = depth,
                               .max_recv_wr = 1,
                               .max_send_sge = sge,
                               .max_recv_sge = 1,
                               .max_inline_data = inlined};
    errno = 0;
    qp = try_create(device, got);
    return qp ? ibv_destroy_qp(qp) : errno;
}

static void expect_queue(const struct device *device, uint32_t depth, uint32_t sge,
                         uint32_t inlined, int error)
{
    struct ibv_qp_cap got;
    char what[96];

    snprintf(what, sizeof(what), "a queue of %u requests, %u elements, %u bytes inline", depth, sge,
             inlined);
    expect(try_queue(device, depth, sge, inlined, &got), error, what);
}

/* The device says that it is this one; the link layer is the first port's. */
static struct device open_model(uint32_t vendor, uint32_t part, int link_layer,
                                struct ibv_device_attr *attr)
{
    struct device device = open_device(0);

    expect(ibv_query_device(device.context, attr), 0, "query_device");
    expect((int) attr->vendor_id, (int) vendor, "the vendor");
    expect((int) attr->vendor_part_id, (int) part, "the part");
    expect(port_of(&device, 1).link_layer, link_layer, "the link layer");
    return device;
}

/* The answer of a queue pair in RTS. */
static int order_of(const struct device *device)
{
    struct ibv_qp *a = create(device), *b = create(device);

    connect_ports(device, 1, a, device, 1, b);
    return ibv_query_qp_data_in_order(a, IBV_WR_RDMA_WRITE, 0);
}

static int post_fetch_and_add(const struct device *device)
{
    struct ibv_qp *a = create(device), *b = create(device);
    struct ibv_sge sge = {
        .addr = (uintptr_t) device->buffer, .length = 8, .lkey = device->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD},
                       *bad;

    connect_ports(device, 1, a, device, 1, b);
    wr.wr.atomic.remote_addr = (uintptr_t) device->buffer + 4096;
    wr.wr.atomic.rkey = device->mr->rkey;
    return ibv_post_send(a, &wr, &bad);
}

/* 0 or why there is no shared receive queue. */
static int try_shared_queue(const struct device *device, uint32_t depth, uint32_t sge)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = depth, .max_sge = sge}};
    struct ibv_srq *srq;

    errno = 0;
    srq = ibv_create_srq(device->pd, &attr);
    return srq ? ibv_destroy_srq(srq) : errno;
}

/* Receives that a queue pair of its own for `depth` of them takes before it is full, or -errno. */
static int own_receives(const struct device *device, uint32_t depth)
{
    struct ibv_qp_cap cap = {.max_send_wr = 1, .max_recv_wr = depth, .max_recv_sge = 1};
    struct ibv_sge sge = {
        .addr = (uintptr_t) device->buffer, .length = 8, .lkey = device->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    struct ibv_qp *qp = try_create(device, &cap);
    int taken = 0;

    if (!qp)
        return -errno;
    expect(ibv_post_recv(qp, &wr, &bad), EINVAL, "a receive in RESET");
    expect(to_init(qp, 1), 0, "to INIT");
    while (taken <= (int) cap.max_recv_wr && !ibv_post_recv(qp, &wr, &bad))
        taken++;
    expect(ibv_destroy_qp(qp), 0, "destroy_qp");
    return taken;
}

static int try_completion_queue(const struct device *device, int entries)
{
    struct ibv_cq *cq;

    errno = 0;
    cq = ibv_create_cq(device->context, entries, NULL, NULL, 0);
    return cq ? ibv_destroy_cq(cq) : errno;
}

void like_mlx4(void)
{
    struct ibv_device_attr attr;
    struct device device = open_model(0x2c9, 4099, IBV_LINK_LAYER_INFINIBAND, &attr);
    struct ibv_qp_cap got;

    expect_queue(&device, 16351, 1, 512, 0);
    expect_queue(&device, 16352, 1, 512, EINVAL);
    expect(try_queue(&device, 100, 1, 0, &got), 0, "a queue of 100 requests");
    expect((int) got.max_send_wr, 128, "what a queue of 100 requests gets");
    expect(try_shared_queue(&device, 16383, 1), 0, "a shared queue of 16383");
    expect(try_shared_queue(&device, 16384, 1), EINVAL, "a shared queue of 16384");
    expect(order_of(&device), 0, "the order of data");
}

void like_mlx5(void)
{
    struct ibv_device_attr attr;
    struct device device = open_model(0x2c9, 4119, IBV_LINK_LAYER_INFINIBAND, &attr);

    expect(attr.max_qp_wr, 32768, "max_qp_wr");
    expect_queue(&device, 2730, 1, 512, 0); /* 12 blocks each, of 32768 */
    expect_queue(&device, 2731, 1, 512, EINVAL);
    expect_queue(&device, 8192, 1, 0, 0); /* 4 blocks each */
    expect_queue(&device, 8193, 1, 0, EINVAL);
    expect(try_shared_queue(&device, 32767, 1), 0, "a shared queue of 32767");
    expect(try_shared_queue(&device, 32768, 1), EINVAL, "a shared queue of 32768");
    expect(order_of(&device), 1, "the order of data");
}

void like_bnxt_re(void)
{
    struct ibv_device_attr attr;
    struct device device = open_model(0x14e4, 0x1750, IBV_LINK_LAYER_ETHERNET, &attr);
    struct ibv_qp_cap got;

    expect(attr.atomic_cap, IBV_ATOMIC_NONE, "atomics");
    expect(post_fetch_and_add(&device), EINVAL, "a post of fetch and add");
    expect_queue(&device, 16, 6, 96, 0);
    expect_queue(&device, 16, 7, 96, EINVAL);
    expect_queue(&device, 16, 6, 97, EINVAL);
    expect(try_queue(&device, 70000, 1, 0, &got), 0, "a queue of 70000 requests");
    expect((int) got.max_send_wr, 65406, "what a queue of 70000 requests gets");
    expect(try_queue(&device, 16, 1, 50, &got), 0, "50 bytes inline");
    expect((int) got.max_inline_data, 50, "what 50 bytes inline get");
    expect(order_of(&device), 0, "the order of data");
}

void like_irdma(void)
{
    struct ibv_device_attr attr;
    struct device device = open_model(0x8086, 0x1592, IBV_LINK_LAYER_ETHERNET, &attr);

    expect(attr.max_qp_wr, 4063, "max_qp_wr");
    expect(attr.max_srq, 0, "max_srq");
    expect(attr.atomic_cap, IBV_ATOMIC_NONE, "atomics");
    expect(try_shared_queue(&device, 1, 1), EOPNOTSUPP, "a shared queue");
    expect(own_receives(&device, 72), 72, "receives of a queue pair's own");
    expect(own_receives(&device, 4064), -EINVAL, "more than max_qp_wr of them");
    expect_queue(&device, 16, 13, 101, 0);
    expect_queue(&device, 16, 14, 101, EINVAL);
    expect_queue(&device, 16, 13, 102, EINVAL);
    expect_queue(&device, 8127, 1, 101, 0); /* 4 quanta each */
    expect_queue(&device, 8128, 1, 101, EINVAL);
    expect_queue(&device, 16255, 1, 39, 0); /* 2 quanta each */
    expect(order_of(&device), 0, "the order of data");
}

void like_hns(void)
{
    struct ibv_device_attr attr;
    struct device device = open_model(0x19e5, 0xa222, IBV_LINK_LAYER_ETHERNET, &attr);
    struct ibv_qp_cap got;

    expect(try_queue(&device, 16, 1, 512, &got), 0, "512 bytes inline");
    expect((int) got.max_inline_data, 32, "what 512 bytes inline get");
    expect(write_inline(&device, 512, 32), 0, "a post of 32 bytes inline");
    expect(write_inline(&device, 512, 33), ENOMEM, "a post of 33 bytes inline");
    expect(order_of(&device), 0, "the order of data");
}

void like_efa(void)
{
    struct ibv_device_attr attr;
    struct device device = open_model(0x1d0f, 0xefa0, IBV_LINK_LAYER_UNSPECIFIED, &attr);
    struct ibv_qp_init_attr datagrams = {.send_cq = device.cq,
                                         .recv_cq = device.cq,
                                         .qp_type = IBV_QPT_UD,
                                         .cap = {.max_send_wr = 1, .max_recv_wr = 1}};

    expect(device.context->device->transport_type, IBV_TRANSPORT_UNSPECIFIED, "the transport");
    expect(device.context->device->node_type, IBV_NODE_UNSPECIFIED, "the node type");
    expect_queue(&device, 1, 1, 0, EOPNOTSUPP);
    expect(!ibv_create_qp(device.pd, &datagrams), 0, "a queue pair for datagrams");
    expect(try_shared_queue(&device, 1, 1), EOPNOTSUPP, "a shared queue");
}

void like_rxe(void)
{
    struct ibv_device_attr attr;
    struct device device = open_model(0xffffff, 0, IBV_LINK_LAYER_ETHERNET, &attr);

    expect_queue(&device, 16384, 1, 400, 0);
    expect_queue(&device, 16385, 1, 400, EINVAL);
    expect_queue(&device, 16, 1, 401, EINVAL);
    expect(try_completion_queue(&device, 32767), 0, "a completion queue of 32767");
    expect(try_completion_queue(&device, 32768), EINVAL, "a completion queue of 32768");
    expect(order_of(&device), 0, "the order of data");
}

void two_models(void)
{
    struct device first = open_device(0), second = open_device(1);

    expect_queue(&first, 16, 1, 97, EINVAL);
    expect_queue(&second, 16, 1, 97, 0);
    expect(port_of(&first, 1).link_layer, IBV_LINK_LAYER_ETHERNET, "the first's link layer");
}
