/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the device says of itself and what it refuses, under the settings that make it like others.
 * Each test runs in a process of its own with its own environment and connects queue pairs of that
 * process with each other. TAP, as litmus.c; `litmus_devices NAME` runs one.
 */
#define _GNU_SOURCE
#include "litmus_device.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void in_order_if_aligned(void)
{
    order_in_rts(0, 2);
}

static void not_in_order(void)
{
    order_in_rts(0, 0);
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

#define TIME_LIMIT_S 20
#define GIDS                                                                                       \
    "SOFTHCA_DEVICES=a/link=roce/"                                                                 \
    "gids=v1:fe80000000000000+fe80000000000000+v1:10.1+v2:10.1+10.2"

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
    {"order: reported in RTS alone", "SOFTHCA_DATA_IN_ORDER=1", in_order},
    {"order: not promised", "SOFTHCA_DATA_IN_ORDER=0", not_in_order},
    {"order: within 128 bytes", "SOFTHCA_DATA_IN_ORDER=aligned", in_order_if_aligned},
    {"order: promised unless set", "", in_order},
    {"order: not promised with a fault of it", "SOFTHCA_FAULT=order=words", not_in_order},
    {"order: promised with a fault of it", "SOFTHCA_FAULT=order=words SOFTHCA_DATA_IN_ORDER=1",
     in_order},
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
