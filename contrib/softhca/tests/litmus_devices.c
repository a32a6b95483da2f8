/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the device says of itself and what it refuses, under the settings that make it like others.
 * Each test runs in a process of its own with its own environment and connects queue pairs of that
 * process with each other. TAP, as litmus.c; `litmus_devices NAME` runs one.
 */
#define _GNU_SOURCE
#include "litmus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIME_LIMIT_S 20
#define BYTES        (1 << 20)
#define ACCESS       (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

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

static int to_init(struct ibv_qp *qp, uint8_t port)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = port, .qp_access_flags = ACCESS};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
}

/* The address of a port: its LID, and its GID where is_global. */
static struct ibv_ah_attr address_of(const struct device *device, uint8_t port, bool is_global)
{
    struct ibv_ah_attr ah = {.dlid = port_of(device, port).lid, .is_global = is_global};

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

/* An inline write of so many bytes between two queue pairs that asked for `asked`. */
static int write_inline(const struct device *device, uint32_t asked, uint32_t bytes)
{
    struct ibv_qp_cap cap = {.max_send_wr = 16,
                             .max_recv_wr = 16,
                             .max_send_sge = 1,
                             .max_recv_sge = 1,
                             .max_inline_data = asked};
    struct ibv_qp *qp = try_create(device, &cap), *peer = create(device);
    struct ibv_ah_attr address = address_of(device, 1, false);
    struct ibv_sge sge = {.addr = (uintptr_t) device->buffer, .length = bytes};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_INLINE},
                       *bad;

    wr.wr.rdma.remote_addr = (uintptr_t) device->buffer + 4096;
    wr.wr.rdma.rkey = device->mr->rkey;
    if (!qp || to_init(qp, 1) || to_init(peer, 1) || to_rtr(qp, 1, peer->qp_num, &address) ||
        to_rtr(peer, 1, qp->qp_num, &address) || to_rts(qp) || to_rts(peer))
        fail("connecting: %s", strerror(errno));
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
