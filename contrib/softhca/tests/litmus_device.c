/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The steps of litmus_device.h. */
#include "litmus_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bring_up.h"

struct device open_device(int index)
{
    struct device device = {.buffer = aligned_alloc(4096, BYTES)};
    struct ibv_device **list = ibv_get_device_list(NULL);

    for (int i = 0; list && i <= index; i++) {
        if (!list[i])
            fail("no device %d", index);
    }
    device.context = list ? ibv_open_device(list[index]) : NULL;
    if (!device.context)
        fail("opening device %d: %s", index, strerror(errno));
    ibv_free_device_list(list);
    device.pd = ibv_alloc_pd(device.context);
    device.cq = ibv_create_cq(device.context, 64, NULL, NULL, 0);
    device.mr = ibv_reg_mr(device.pd, device.buffer, BYTES, ACCESS);
    if (!device.pd || !device.cq || !device.mr)
        fail("setting up device %d: %s", index, strerror(errno));
    return device;
}

struct ibv_port_attr port_of(const struct device *device, uint8_t number)
{
    struct ibv_port_attr attr;
    int err = ibv_query_port(device->context, number, &attr);

    if (err)
        fail("query_port(%u): %s", number, strerror(err));
    return attr;
}

struct ibv_qp *try_create(const struct device *device, struct ibv_qp_cap *cap)
{
    struct ibv_qp_init_attr init = {
        .send_cq = device->cq, .recv_cq = device->cq, .cap = *cap, .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = ibv_create_qp(device->pd, &init);

    *cap = init.cap;
    return qp;
}

struct ibv_qp *create(const struct device *device)
{
    struct ibv_qp_cap cap = {
        .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1};
    struct ibv_qp *qp = try_create(device, &cap);

    if (!qp)
        fail("creating a queue pair: %s", strerror(errno));
    return qp;
}

int to_init_in(struct ibv_qp *qp, uint8_t port, uint16_t partition)
{
    const struct bring_up how = {.port = port, .partition = partition, .access = ACCESS};

    return bring_to_init(qp, &how);
}

int to_init(struct ibv_qp *qp, uint8_t port)
{
    return to_init_in(qp, port, 0);
}

struct ibv_ah_attr address_of(const struct device *device, uint8_t port, bool is_global)
{
    struct ibv_ah_attr ah = {
        .dlid = port_of(device, port).lid, .is_global = is_global, .port_num = port};

    ah.grh.hop_limit = 64;
    if (ibv_query_gid(device->context, port, 0, &ah.grh.dgid))
        fail("query_gid(%u): %s", port, strerror(errno));
    return ah;
}

int to_rtr(struct ibv_qp *qp, uint8_t port, uint32_t number, const struct ibv_ah_attr *peer)
{
    const struct bring_up how = {.port = port, .mtu = IBV_MTU_1024, .reads = 1};

    return bring_to_rtr(qp, &how, number, peer);
}

int to_rts(struct ibv_qp *qp)
{
    const struct bring_up how = {.timeout = 10, .reads = 1};

    return bring_to_rts(qp, &how);
}

void connect_ports(const struct device *a, uint8_t port_a, struct ibv_qp *qp_a,
                   const struct device *b, uint8_t port_b, struct ibv_qp *qp_b)
{
    struct ibv_ah_attr address_a = address_of(a, port_a, true);
    struct ibv_ah_attr address_b = address_of(b, port_b, true);
    int err = to_init(qp_a, port_a);

    err = err ? err : to_init(qp_b, port_b);
    err = err ? err : to_rtr(qp_a, port_a, qp_b->qp_num, &address_b);
    err = err ? err : to_rtr(qp_b, port_b, qp_a->qp_num, &address_a);
    err = err ? err : to_rts(qp_a);
    err = err ? err : to_rts(qp_b);
    if (err)
        fail("connecting: %s", strerror(err));
}

void post_write(const struct device *from, struct ibv_qp *qp, const struct device *to,
                uint32_t bytes)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t) from->buffer, .length = bytes, .lkey = from->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad;

    wr.wr.rdma.remote_addr = (uintptr_t) to->buffer + BYTES / 2;
    wr.wr.rdma.rkey = to->mr->rkey;
    if (ibv_post_send(qp, &wr, &bad))
        fail("post: %s", strerror(errno));
}

enum ibv_wc_status await(const struct device *device)
{
    uint64_t deadline = now_ns() + 10000000000ull;
    struct ibv_wc wc;

    while (!ibv_poll_cq(device->cq, 1, &wc)) {
        if (now_ns() > deadline)
            fail("no completion");
    }
    return wc.status;
}

void expect(int got, int wanted, const char *what)
{
    if (got != wanted)
        fail("%s: %d instead of %d", what, got, wanted);
}

int write_inline(const struct device *device, uint32_t asked, uint32_t bytes)
{
    struct ibv_qp_cap cap = {.max_send_wr = 16,
                             .max_recv_wr = 16,
                             .max_send_sge = 1,
                             .max_recv_sge = 1,
                             .max_inline_data = asked};
    struct ibv_qp *qp = try_create(device, &cap), *peer = create(device);
    struct ibv_sge sge = {.addr = (uintptr_t) device->buffer, .length = bytes};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_INLINE},
                       *bad;

    if (!qp)
        fail("creating a queue pair: %s", strerror(errno));
    connect_ports(device, 1, qp, device, 1, peer);
    wr.wr.rdma.remote_addr = (uintptr_t) device->buffer + 4096;
    wr.wr.rdma.rkey = device->mr->rkey;
    return ibv_post_send(qp, &wr, &bad);
}
