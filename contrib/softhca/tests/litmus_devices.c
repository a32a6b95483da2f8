/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the device says of itself and what it refuses, under the settings that make it like others.
 * Each test runs in a process of its own with its own environment and connects queue pairs of that
 * process with each other. TAP, as litmus.c; `litmus_devices NAME` runs one.
 */
#define _GNU_SOURCE
#include "litmus.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIME_LIMIT_S 20
#define BYTES        (1 << 20)
#define GIDS                                                                                       \
    "SOFTHCA_DEVICES=a/link=roce/"                                                                 \
    "gids=v1:fe80000000000000+fe80000000000000+v1:10.1+v2:10.1+10.2"
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* A device, opened, with what a transfer needs. */
struct device {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t *buffer;
};

static struct device open_device(int index)
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

static struct ibv_port_attr port_of(const struct device *device, uint8_t number)
{
    struct ibv_port_attr attr;
    int err = ibv_query_port(device->context, number, &attr);

    if (err)
        fail("query_port(%u): %s", number, strerror(err));
    return attr;
}

static struct ibv_qp *try_create(const struct device *device, struct ibv_qp_cap *cap)
{
    struct ibv_qp_init_attr init = {
        .send_cq = device->cq, .recv_cq = device->cq, .cap = *cap, .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = ibv_create_qp(device->pd, &init);

    *cap = init.cap;
    return qp;
}

static struct ibv_qp *create(const struct device *device)
{
    struct ibv_qp_cap cap = {
        .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1};
    struct ibv_qp *qp = try_create(device, &cap);

    if (!qp)
        fail("creating a queue pair: %s", strerror(errno));
    return qp;
}

static int to_init_in(struct ibv_qp *qp, uint8_t port, uint16_t partition)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = port,
                               .pkey_index = partition,
                               .qp_access_flags = ACCESS};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
}

static int to_init(struct ibv_qp *qp, uint8_t port)
{
    return to_init_in(qp, port, 0);
}

/* The address of a port: its LID, and its GID where is_global. */
static struct ibv_ah_attr address_of(const struct device *device, uint8_t port, bool is_global)
{
    struct ibv_ah_attr ah = {
        .dlid = port_of(device, port).lid, .is_global = is_global, .port_num = port};

    ah.grh.hop_limit = 64;
    if (ibv_query_gid(device->context, port, 0, &ah.grh.dgid))
        fail("query_gid(%u): %s", port, strerror(errno));
    return ah;
}

static int to_rtr(struct ibv_qp *qp, uint8_t port, uint32_t number, const struct ibv_ah_attr *peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .dest_qp_num = number,
                               .path_mtu = IBV_MTU_1024,
                               .max_dest_rd_atomic = 1,
                               .ah_attr = *peer};

    attr.ah_attr.port_num = port;
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS, .timeout = 10, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Two queue pairs, bound to a port each, that address each other's. */
static void connect_ports(const struct device *a, uint8_t port_a, struct ibv_qp *qp_a,
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

/* Writes from the first half of one buffer to the second half of another. */
static void post_write(const struct device *from, struct ibv_qp *qp, const struct device *to,
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

static enum ibv_wc_status await(const struct device *device)
{
    uint64_t deadline = now_ns() + 10000000000ull;
    struct ibv_wc wc;

    while (!ibv_poll_cq(device->cq, 1, &wc)) {
        if (now_ns() > deadline)
            fail("no completion");
    }
    return wc.status;
}

static void expect(int got, int wanted, const char *what)
{
    if (got != wanted)
        fail("%s: %d instead of %d", what, got, wanted);
}

/* ---- inline ---- */

/* What a queue pair that asks for so much inline gets; -1 if it is refused with EINVAL. */
static int inline_of(const struct device *device, uint32_t asked)
{
    struct ibv_qp_cap cap = {.max_send_wr = 16,
                             .max_recv_wr = 16,
                             .max_send_sge = 1,
                             .max_recv_sge = 1,
                             .max_inline_data = asked};
    struct ibv_qp *qp;

    errno = 0;
    qp = try_create(device, &cap);
    if (qp)
        return (int) cap.max_inline_data;
    expect(errno, EINVAL, "a refused queue pair's errno");
    return -1;
}

/* An inline write of so many bytes from a queue pair that asked for `asked`; what posting it says.
 */
static int write_inline(const struct device *device, uint32_t asked, uint32_t bytes)
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

static void inline_as_always(void)
{
    struct device device = open_device(0);

    expect(inline_of(&device, 512), 512, "512 bytes inline");
    expect(inline_of(&device, 513), -1, "513 bytes inline");
    expect(write_inline(&device, 512, 512), 0, "a post of 512 bytes inline");
}

static void inline_of_96(void)
{
    struct device device = open_device(0);

    expect(inline_of(&device, 96), 96, "96 bytes inline");
    expect(inline_of(&device, 97), -1, "97 bytes inline");
    expect(write_inline(&device, 96, 96), 0, "a post of 96 bytes inline");
    expect(write_inline(&device, 96, 97), ENOMEM, "a post of 97 bytes inline");
}

static void no_inline(void)
{
    struct device device = open_device(0);

    expect(inline_of(&device, 0), 0, "no bytes inline");
    expect(inline_of(&device, 1), -1, "1 byte inline");
    expect(write_inline(&device, 0, 1), ENOMEM, "a post of 1 byte inline");
}

/* ---- GRH ---- */

static void grh_not_required(void)
{
    struct device device = open_device(0);
    struct ibv_ah_attr local = address_of(&device, 1, false);
    struct ibv_qp *qp = create(&device);

    expect(port_of(&device, 1).flags & IBV_QPF_GRH_REQUIRED, 0, "the port's flags");
    expect(to_init(qp, 1), 0, "INIT");
    expect(to_rtr(qp, 1, create(&device)->qp_num, &local), 0, "RTR without a GRH");
}

static void grh_required(void)
{
    struct device device = open_device(0);
    struct ibv_ah_attr without = address_of(&device, 1, false);
    struct ibv_ah_attr with = address_of(&device, 1, true), wrong = with;
    struct ibv_qp *qp = create(&device);
    uint32_t peer = create(&device)->qp_num;

    wrong.grh.dgid.raw[15]++;
    expect(port_of(&device, 1).flags & IBV_QPF_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED,
           "the port's flags");
    expect(to_init(qp, 1), 0, "INIT");
    expect(to_rtr(qp, 1, peer, &without), EINVAL, "RTR without a GRH");
    expect(to_rtr(qp, 1, peer, &wrong), EINVAL, "RTR with another port's GID");
    expect(to_rtr(qp, 1, peer, &with), 0, "RTR with a GRH");
    expect(!ibv_create_ah(device.pd, &without) && errno == EINVAL, 1, "an address without a GRH");
    expect(!!ibv_create_ah(device.pd, &with), 1, "an address with a GRH");
}

/* ---- order of data ---- */

/* The answers of a queue pair on its way to RTS and to the error state, as bits. */
static void order_in_rts(int answer, int caps)
{
    struct device device = open_device(0);
    struct ibv_ah_attr peer = address_of(&device, 1, false);
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp *qp = create(&device);

    expect(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0, "in RESET");
    expect(to_init(qp, 1), 0, "INIT");
    expect(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0, "in INIT");
    expect(to_rtr(qp, 1, create(&device)->qp_num, &peer), 0, "RTR");
    expect(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0, "in RTR");
    expect(to_rts(qp), 0, "RTS");
    expect(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), answer, "in RTS");
    expect(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 1), caps, "in RTS, all bits");
    expect(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 4), 0, "in RTS, unknown flag");
    expect(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0, "ERR");
    expect(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0, "in ERR");
}

static void in_order(void)
{
    order_in_rts(1, 3);
}

static void not_in_order(void)
{
    order_in_rts(0, 0);
}

/* ---- ports ---- */

static void one_port(void)
{
    struct device device = open_device(0);
    struct ibv_device_attr attr;
    struct ibv_port_attr port;

    expect(ibv_query_device(device.context, &attr), 0, "query_device");
    expect(attr.phys_port_cnt, 1, "the number of ports");
    expect(ibv_query_port(device.context, 2, &port), EINVAL, "query_port(2)");
    expect(to_init(create(&device), 2), EINVAL, "INIT on port 2");
}

static void three_ports(void)
{
    struct device device = open_device(0);
    struct ibv_ah_attr address[4];
    struct ibv_device_attr attr;
    struct ibv_port_attr port;

    expect(ibv_query_device(device.context, &attr), 0, "query_device");
    expect(attr.phys_port_cnt, 3, "the number of ports");
    for (uint8_t i = 1; i <= 3; i++) {
        address[i] = address_of(&device, i, true);
        expect(port_of(&device, i).state, IBV_PORT_ACTIVE, "a port's state");
        expect(to_init(create(&device), i), 0, "INIT on a port");
        for (uint8_t j = 1; j < i; j++) {
            expect(address[i].dlid == address[j].dlid, 0, "ports of the same LID");
            expect(!memcmp(&address[i].grh.dgid, &address[j].grh.dgid, sizeof(union ibv_gid)), 0,
                   "ports of the same GID");
        }
    }
    expect(ibv_query_port(device.context, 0, &port), EINVAL, "query_port(0)");
    expect(ibv_query_port(device.context, 4, &port), EINVAL, "query_port(4)");
    expect(to_init(create(&device), 4), EINVAL, "INIT on port 4");
}

/* ---- partitions and GIDs ---- */

static void partition_table(void)
{
    static const uint16_t wanted[] = {0, 0x7fff, 0x8001};
    struct device device = open_device(0);
    struct ibv_device_attr attr;
    __be16 key;

    expect(port_of(&device, 1).pkey_tbl_len, 3, "the table's length");
    expect(ibv_query_device(device.context, &attr), 0, "query_device");
    expect(attr.max_pkeys, 3, "max_pkeys");
    for (int i = 0; i < 3; i++) {
        expect(ibv_query_pkey(device.context, 1, i, &key), 0, "query_pkey");
        expect(be16toh(key), wanted[i], "an entry");
        expect(ibv_get_pkey_index(device.context, 1, key), i, "the index of an entry");
    }
    expect(ibv_query_pkey(device.context, 1, 3, &key), -1, "query_pkey behind the end");
    expect(ibv_get_pkey_index(device.context, 1, htobe16(0xffff)), -1, "the index of another key");
    expect(to_init_in(create(&device), 1, 3), EINVAL, "INIT with an index behind the end");
}

/* A write between queue pairs that have these entries of the partition table. */
static enum ibv_wc_status write_between(const struct device *device, uint16_t one, uint16_t other)
{
    struct ibv_ah_attr address = address_of(device, 1, false);
    struct ibv_qp *a = create(device), *b = create(device);
    enum ibv_wc_status status;

    if (to_init_in(a, 1, one) || to_init_in(b, 1, other) || to_rtr(a, 1, b->qp_num, &address) ||
        to_rtr(b, 1, a->qp_num, &address) || to_rts(a) || to_rts(b))
        fail("connecting: %s", strerror(errno));
    post_write(device, a, device, 64);
    status = await(device);
    ibv_destroy_qp(a);
    ibv_destroy_qp(b);
    return status;
}

/* The table is 0xffff, 0x8001, 0x7fff, 0x0001, 0. */
static void partitions_are_apart(void)
{
    struct device device = open_device(0);

    expect(write_between(&device, 0, 0), IBV_WC_SUCCESS, "full members");
    expect(write_between(&device, 0, 2), IBV_WC_SUCCESS, "a full and a limited member");
    expect(write_between(&device, 3, 1), IBV_WC_SUCCESS, "a limited and a full member");
    expect(write_between(&device, 0, 1), IBV_WC_RETRY_EXC_ERR, "two partitions");
    expect(write_between(&device, 0, 3), IBV_WC_RETRY_EXC_ERR, "two partitions, one limited");
    expect(write_between(&device, 2, 2), IBV_WC_RETRY_EXC_ERR, "limited members");
    expect(write_between(&device, 4, 4), IBV_WC_RETRY_EXC_ERR, "empty entries");
}

/* A RoCE port has the default partition and no other. */
static void roce_partition(void)
{
    struct device device = open_device(0);
    __be16 key;

    expect(port_of(&device, 1).pkey_tbl_len, 1, "the table's length");
    expect(ibv_query_pkey(device.context, 1, 0, &key), 0, "query_pkey");
    expect(be16toh(key), 0xffff, "the entry");
}

/* The table is link-local v1 and v2, IPv4 v1 and v2, and IPv4 v2 of another network. */
static void gid_table(void)
{
    static const uint32_t types[] = {IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2,
                                     IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2,
                                     IBV_GID_TYPE_ROCE_V2};
    struct device device = open_device(0);
    struct ibv_gid_entry entry;

    expect(port_of(&device, 1).gid_tbl_len, 5, "the table's length");
    for (uint32_t i = 0; i < 5; i++) {
        expect(ibv_query_gid_ex(device.context, 1, i, &entry, 0), 0, "query_gid_ex");
        expect((int) entry.gid_type, (int) types[i], "a type");
        expect(entry.gid.raw[0], i < 2 ? 0xfe : 0, "a first byte");
        expect(entry.gid.raw[11], 0xff, "the last byte of the prefix");
        expect(i < 2 ? 10 : entry.gid.raw[12], 10, "the first byte of an address");
        expect(i < 2 ? 0 : entry.gid.raw[13], i < 2 ? 0 : i < 4 ? 1 : 2, "its second byte");
    }
    expect(ibv_query_gid_ex(device.context, 1, 5, &entry, 0), ENODATA, "query_gid_ex at the end");
}

/* A write from one GID to another. */
static enum ibv_wc_status write_from_to(const struct device *device, uint8_t from, uint8_t to)
{
    struct ibv_ah_attr there = {.is_global = 1, .grh = {.sgid_index = from, .hop_limit = 64}};
    struct ibv_ah_attr back = {.is_global = 1, .grh = {.sgid_index = to, .hop_limit = 64}};
    struct ibv_qp *a = create(device), *b = create(device);

    if (ibv_query_gid(device->context, 1, to, &there.grh.dgid) ||
        ibv_query_gid(device->context, 1, from, &back.grh.dgid) || to_init(a, 1) || to_init(b, 1) ||
        to_rtr(a, 1, b->qp_num, &there) || to_rtr(b, 1, a->qp_num, &back) || to_rts(a) || to_rts(b))
        fail("connecting: %s", strerror(errno));
    post_write(device, a, device, 64);
    return await(device);
}

static void networks_are_apart(void)
{
    struct device device = open_device(0);
    struct ibv_ah_attr none = {.is_global = 1, .grh = {.sgid_index = 5}};
    struct ibv_qp *qp = create(&device);

    for (uint8_t from = 0; from < 5; from++) {
        for (uint8_t to = 0; to < 5; to++) {
            /* Entries 0 and 1, 2 and 3 have one address, to which the sender chooses the version.
             */
            bool reaches = from / 2 == to / 2;

            expect(write_from_to(&device, from, to),
                   reaches ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR, "a write");
        }
    }
    expect(ibv_query_gid(device.context, 1, 0, &none.grh.dgid), 0, "query_gid");
    expect(to_init(qp, 1), 0, "INIT");
    expect(to_rtr(qp, 1, qp->qp_num, &none), EINVAL, "RTR from a GID that is not there");
}

/* A write between two ports arrives. */
static void expect_reached(const struct device *a, uint8_t port_a, const struct device *b,
                           uint8_t port_b)
{
    struct ibv_qp *qp_a = create(a), *qp_b = create(b);

    connect_ports(a, port_a, qp_a, b, port_b, qp_b);
    memset(a->buffer, port_a * 16 + port_b, 64);
    post_write(a, qp_a, b, 64);
    expect(await(a), IBV_WC_SUCCESS, "a write's status");
    expect(b->buffer[BYTES / 2 + 63], port_a * 16 + port_b, "the byte that was written");
    ibv_destroy_qp(qp_a);
    ibv_destroy_qp(qp_b);
}

static void ports_reach_each_other(void)
{
    struct device device = open_device(0);

    for (uint8_t a = 1; a <= 3; a++) {
        for (uint8_t b = 1; b <= 3; b++)
            expect_reached(&device, a, &device, b);
    }
}

/* What is sent to the right queue pair's number at another port's address is lost. */
static void wrong_port_is_not_reached(void)
{
    struct device device = open_device(0);
    struct ibv_ah_attr first = address_of(&device, 1, true);
    struct ibv_qp *a = create(&device), *b = create(&device);

    if (to_init(a, 1) || to_init(b, 2) || to_rtr(a, 1, b->qp_num, &first) ||
        to_rtr(b, 2, a->qp_num, &first) || to_rts(a) || to_rts(b))
        fail("connecting: %s", strerror(errno));
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_RETRY_EXC_ERR, "the status of a write to the wrong port");
}

#define SLOW_BYTES (BYTES / 2) /* 25 ms at 20 MB/s */

/* How long two writes take at once, between the ports given; ns, the least of some tries. */
static uint64_t two_writes(const struct device *device, const uint8_t ports[4])
{
    uint64_t least = UINT64_MAX;
    struct ibv_qp *qp[4];

    for (int i = 0; i < 4; i++)
        qp[i] = create(device);
    connect_ports(device, ports[0], qp[0], device, ports[1], qp[1]);
    connect_ports(device, ports[2], qp[2], device, ports[3], qp[3]);
    for (int i = 0; i < 8; i++) {
        uint64_t begin = now_ns(), took;

        post_write(device, qp[0], device, SLOW_BYTES);
        post_write(device, qp[2], device, SLOW_BYTES);
        expect(await(device), IBV_WC_SUCCESS, "the first write");
        expect(await(device), IBV_WC_SUCCESS, "the second write");
        took = now_ns() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static void expect_ms(uint64_t ns, unsigned least, unsigned most, const char *what)
{
    if (ns < least * 1000000ull || ns > most * 1000000ull)
        fail("%s: %.1f ms instead of %u to %u", what, (double) ns / 1e6, least, most);
}

static void ports_have_links(void)
{
    struct device device = open_device(0);

    expect_ms(two_writes(&device, (const uint8_t[]){1, 1, 2, 2}), 25, 40, "each on its own port");
    expect_ms(two_writes(&device, (const uint8_t[]){1, 2, 2, 1}), 25, 40, "across");
    expect_ms(two_writes(&device, (const uint8_t[]){1, 1, 1, 2}), 50, 1000, "from one port");
    expect_ms(two_writes(&device, (const uint8_t[]){1, 2, 2, 2}), 50, 1000, "to one port");
}

/* ---- links that are down ---- */

static void expect_port_event(const struct device *device, enum ibv_event_type type, int port)
{
    struct pollfd readable = {.fd = device->context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    if (poll(&readable, 1, 1000) != 1 || ibv_get_async_event(device->context, &event))
        fail("no event instead of: %s", ibv_event_type_str(type));
    ibv_ack_async_event(&event);
    expect(event.event_type, type, "the event");
    expect(event.element.port_num, port, "the event's port");
}

static void second_port_is_down(void)
{
    struct device device = open_device(0);
    struct ibv_qp *a = create(&device), *b = create(&device);

    expect(port_of(&device, 1).state, IBV_PORT_ACTIVE, "port 1's state");
    expect(port_of(&device, 2).state, IBV_PORT_DOWN, "port 2's state");
    expect_reached(&device, 1, &device, 1);
    connect_ports(&device, 1, a, &device, 2, b);
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_RETRY_EXC_ERR, "the status of a write to port 2");
}

static void second_port_goes_down(void)
{
    struct device device = open_device(0), again = open_device(0);
    struct ibv_qp *a = create(&device), *b = create(&device);

    connect_ports(&device, 2, a, &device, 2, b);
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_SUCCESS, "the first write");
    expect_reached(&device, 1, &device, 1); /* the second */
    expect_port_event(&device, IBV_EVENT_PORT_ERR, 2);
    expect_port_event(&again, IBV_EVENT_PORT_ERR, 2);
    expect(port_of(&device, 1).state, IBV_PORT_ACTIVE, "port 1's state");
    expect(port_of(&device, 2).state, IBV_PORT_DOWN, "port 2's state");
    expect_reached(&device, 1, &device, 1);
    post_write(&device, a, &device, 64);
    expect(await(&device), IBV_WC_RETRY_EXC_ERR, "the status of a write on port 2");
}

static void second_port_comes_back(void)
{
    struct device device = open_device(0);
    struct ibv_qp *a = create(&device), *b = create(&device);

    connect_ports(&device, 2, a, &device, 2, b);
    post_write(&device, a, &device, 64); /* is repeated for longer than the link is down */
    expect_port_event(&device, IBV_EVENT_PORT_ERR, 2);
    expect(await(&device), IBV_WC_SUCCESS, "the write's status");
    expect_port_event(&device, IBV_EVENT_PORT_ACTIVE, 2);
    expect(port_of(&device, 2).state, IBV_PORT_ACTIVE, "port 2's state");
}

/* ---- several devices ---- */

static void read_text(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");

    *out = '\0';
    if (file && fgets(out, (int) size, file))
        out[strcspn(out, "\n")] = '\0';
    if (file)
        fclose(file);
}

static void expect_text(const char *path, const char *wanted)
{
    char got[256];

    read_text(path, got, sizeof(got));
    if (strcmp(got, wanted))
        fail("%s: '%s' instead of '%s'", path, got, wanted);
}

static void several_devices(void)
{
    struct device a = open_device(0), b = open_device(1), c = open_device(2);
    union ibv_gid gid;
    int n;

    if (!ibv_get_device_list(&n))
        fail("no devices");
    expect(n, 3, "the number of devices");
    expect(strcmp(ibv_get_device_name(a.context->device), "roce0"), 0, "the first's name");
    expect(strcmp(ibv_get_device_name(b.context->device), "ib0"), 0, "the second's name");
    expect(port_of(&a, 1).link_layer, IBV_LINK_LAYER_ETHERNET, "the first's link layer");
    expect(port_of(&b, 1).link_layer, IBV_LINK_LAYER_INFINIBAND, "the second's link layer");
    expect(port_of(&a, 1).active_width * 256 + port_of(&a, 1).active_speed, 1 * 256 + 32,
           "25 Gbit/s");
    expect(port_of(&b, 2).active_width * 256 + port_of(&b, 2).active_speed, 2 * 256 + 32,
           "100 Gbit/s");
    expect(port_of(&c, 1).state, IBV_PORT_DOWN, "the third's state");
    expect(ibv_query_gid(b.context, 2, 0, &gid), 0, "query_gid");
    expect(gid.raw[7], 2, "the second's subnet");
    expect_text("/sys/class/infiniband/roce0/device/local_cpus", "00000001");
    expect_text("/sys/class/infiniband/ib0/device/local_cpus", "00000004,0000000e");
    expect_text("/sys/class/infiniband/ib1/device/local_cpus", "");
    expect_text("/sys/class/infiniband/ib1/ports/1/state", "1: DOWN");
    expect_text("/sys/class/infiniband_verbs/uverbs1/ibdev", "ib0");
}

/* What a write between two ports that do not reach each other gets. */
static void expect_not_reached(const struct device *a, const struct device *b)
{
    struct ibv_qp *qp_a = create(a), *qp_b = create(b);

    connect_ports(a, 1, qp_a, b, 1, qp_b);
    post_write(a, qp_a, b, 64);
    expect(await(a), IBV_WC_RETRY_EXC_ERR, "the status of a write to another network");
    ibv_destroy_qp(qp_a);
    ibv_destroy_qp(qp_b);
}

static void subnets_are_apart(void)
{
    struct device a = open_device(0), b = open_device(1), c = open_device(2);

    expect_reached(&a, 1, &a, 1);
    expect_reached(&a, 1, &c, 1);
    expect_not_reached(&a, &b);
    expect_not_reached(&b, &c);
}

/* 512 KB between a device of 20 MB/s and one of 200 MB/s, and between two of the faster one. */
static void slower_link_counts(void)
{
    struct device slow = open_device(0), fast = open_device(1);
    struct ibv_qp *to_slow = create(&fast), *at_slow = create(&slow);
    uint64_t least = UINT64_MAX;

    connect_ports(&fast, 1, to_slow, &slow, 1, at_slow);
    for (int i = 0; i < 5; i++) {
        uint64_t begin = now_ns();

        post_write(&fast, to_slow, &slow, SLOW_BYTES);
        expect(await(&fast), IBV_WC_SUCCESS, "a write to the slower device");
        least = now_ns() - begin < least ? now_ns() - begin : least;
    }
    expect_ms(least, 25, 40, "to the slower device");
    expect_ms(two_writes(&fast, (const uint8_t[]){1, 2, 2, 1}), 2, 20, "between the faster ones");
}

/* ---- models ---- */

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
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_sge sge = {
        .addr = (uintptr_t) device->buffer, .length = 8, .lkey = device->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    struct ibv_qp *qp = try_create(device, &cap);
    int taken = 0;

    if (!qp)
        return -errno;
    expect(ibv_post_recv(qp, &wr, &bad), EINVAL, "a receive in RESET");
    expect(ibv_modify_qp(qp, &init,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
           0, "to INIT");
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

static void like_mlx4(void)
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

static void like_mlx5(void)
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

static void like_bnxt_re(void)
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

static void like_irdma(void)
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

static void like_hns(void)
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

static void like_efa(void)
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

static void like_rxe(void)
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

static void two_models(void)
{
    struct device first = open_device(0), second = open_device(1);

    expect_queue(&first, 16, 1, 97, EINVAL);
    expect_queue(&second, 16, 1, 97, 0);
    expect(port_of(&first, 1).link_layer, IBV_LINK_LAYER_ETHERNET, "the first's link layer");
}

static const struct test {
    const char *name;
    const char *environment; /* A=B, several with blanks between */
    void (*run)(void);
} tests[] = {
    {"inline: 512 bytes unless set", "", inline_as_always},
    {"inline: 96 bytes", "SOFTHCA_MAX_INLINE=96", inline_of_96},
    {"inline: none", "SOFTHCA_MAX_INLINE=0", no_inline},
    {"GRH: not required unless set", "", grh_not_required},
    {"GRH: required", "SOFTHCA_GRH_REQUIRED=1", grh_required},
    {"GRH: required by RoCE", "SOFTHCA_LINK_LAYER=roce", grh_required},
    {"order: told in RTS alone", "SOFTHCA_DATA_IN_ORDER=1", in_order},
    {"order: not promised", "SOFTHCA_DATA_IN_ORDER=0", not_in_order},
    {"ports: one unless set", "", one_port},
    {"ports: numbers and addresses", "SOFTHCA_PORTS=3", three_ports},
    {"ports: all reach all", "SOFTHCA_PORTS=3", ports_reach_each_other},
    {"ports: all reach all, RoCE", "SOFTHCA_PORTS=3 SOFTHCA_LINK_LAYER=roce",
     ports_reach_each_other},
    {"ports: an address is one port's", "SOFTHCA_PORTS=2", wrong_port_is_not_reached},
    {"ports: a link each", "SOFTHCA_PORTS=2 SOFTHCA_BANDWIDTH=20000000", ports_have_links},
    {"link-down: at start, one port", "SOFTHCA_PORTS=2 SOFTHCA_FAULT=link-down=0:0:2",
     second_port_is_down},
    {"link-down: later, one port", "SOFTHCA_PORTS=2 SOFTHCA_FAULT=link-down=2:0:2",
     second_port_goes_down},
    {"link-down: for a while, one port", "SOFTHCA_PORTS=2 SOFTHCA_FAULT=link-down=1:20:2",
     second_port_comes_back},
    {"devices: what they say",
     "SOFTHCA_DEVICES=roce0/link=roce/speed=3125M/numa=0,"
     "ib0/speed=12500M/ports=2/numa=1-3+34/subnet=fe80000000000002,ib1/state=down",
     several_devices},
    {"devices: a device's state", "SOFTHCA_DEVICES=a/ports=2,b SOFTHCA_FAULT=link-down=0:0:2",
     second_port_is_down},
    {"devices: subnets are apart", "SOFTHCA_DEVICES=a,b/subnet=fec0000000000001,c",
     subnets_are_apart},
    {"devices: link layers are apart", "SOFTHCA_DEVICES=a,b/link=roce,c", subnets_are_apart},
    {"partitions: the table", "SOFTHCA_PKEYS=0,0x7fff,0x8001", partition_table},
    {"partitions: of a device", "SOFTHCA_DEVICES=a/pkeys=0+0x7fff+0x8001", partition_table},
    {"partitions: are apart", "SOFTHCA_PKEYS=0xffff,0x8001,0x7fff,1,0", partitions_are_apart},
    {"partitions: RoCE", "SOFTHCA_PKEYS=0,0x8001 SOFTHCA_LINK_LAYER=roce", roce_partition},
    {"GIDs: the table", GIDS, gid_table},
    {"GIDs: networks are apart", GIDS, networks_are_apart},
    {"like: mlx4", "SOFTHCA_LIKE=mlx4", like_mlx4},
    {"like: mlx5", "SOFTHCA_LIKE=mlx5", like_mlx5},
    {"like: bnxt_re", "SOFTHCA_LIKE=bnxt_re", like_bnxt_re},
    {"like: irdma", "SOFTHCA_LIKE=irdma", like_irdma},
    {"like: hns", "SOFTHCA_LIKE=hns", like_hns},
    {"like: efa", "SOFTHCA_LIKE=efa", like_efa},
    {"like: rxe", "SOFTHCA_LIKE=rxe", like_rxe},
    {"like: each device as it says", "SOFTHCA_DEVICES=a/like=bnxt_re,b", two_models},
    {"inline: less than the model's", "SOFTHCA_LIKE=mlx5 SOFTHCA_MAX_INLINE=96", inline_of_96},
    {"devices: the slower link counts", "SOFTHCA_DEVICES=a/speed=20M,b/speed=200M/ports=2",
     slower_link_counts},
};

static void set_environment(const char *environment)
{
    char *list = strdup(environment), *save, *item;

    for (item = strtok_r(list, " ", &save); item; item = strtok_r(NULL, " ", &save))
        putenv(strdup(item));
    free(list);
}

static bool run_apart(const struct test *test)
{
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (!child) {
        alarm(TIME_LIMIT_S);
        set_environment(test->environment);
        test->run();
        exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
    unsigned n = sizeof(tests) / sizeof(tests[0]), failed = 0, at = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 1)
        printf("1..%u\n", n);
    for (unsigned i = 0; i < n; i++) {
        bool well;

        if (argc > 1 && strcmp(argv[1], tests[i].name))
            continue;
        at++;
        well = run_apart(&tests[i]);
        failed += !well;
        printf("%sok %u - %s\n", well ? "" : "not ", at, tests[i].name);
    }
    return failed || !at;
}
