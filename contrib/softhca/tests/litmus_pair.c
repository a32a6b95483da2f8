/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Set-up and steps of the litmus tests. The device is opened after the fork, so that each side has
 * a port of its own. A side that fails exits with 1, and the other is ended by a time limit or by
 * its socket.
 */
#define _GNU_SOURCE
#include "litmus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bring_up.h"

#define TIME_LIMIT_S 20
#define ALL_ACCESS                                                                                 \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                   \
     IBV_ACCESS_REMOTE_ATOMIC)

uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000ull + (uint64_t) t.tv_nsec;
}

void fail(const char *format, ...)
{
    va_list args;

    fputs("# ", stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    _exit(1);
}

void answer(struct side *side, bool yes)
{
    if (write(side->socket, yes ? "y" : "n", 1) != 1)
        fail("the other side is gone");
}

bool await_answer(struct side *side)
{
    char token;

    if (read(side->socket, &token, 1) != 1)
        fail("the other side is gone");
    return token == 'y';
}

void notify(struct side *side)
{
    answer(side, true);
}

void await_peer(struct side *side)
{
    (void) await_answer(side);
}

void post_wr(struct side *side, int qp, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    int err = ibv_post_send(side->qp[qp], wr, &bad);

    if (err)
        fail("post: %s", strerror(err));
}

void post(struct side *side, int qp, enum ibv_wr_opcode opcode, size_t local, size_t n,
          uint64_t remote, unsigned flags)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t) side->buffer + local, .length = (uint32_t) n, .lkey = side->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = flags,
                             .imm_data = IMMEDIATE};

    wr.wr.rdma.remote_addr = side->peer.addr + remote;
    wr.wr.rdma.rkey = side->peer.rkey;
    post_wr(side, qp, &wr);
}

void post_atomic(struct side *side, enum ibv_wr_opcode opcode, uint64_t remote,
                 uint64_t compare_add, uint64_t swap)
{
    struct ibv_sge sge = {.addr = (uintptr_t) side->buffer, .length = 8, .lkey = side->mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};

    wr.wr.atomic.remote_addr = side->peer.addr + remote;
    wr.wr.atomic.rkey = side->peer.rkey;
    wr.wr.atomic.compare_add = compare_add;
    wr.wr.atomic.swap = swap;
    post_wr(side, 0, &wr);
}

void post_receive(struct side *side, int qp, size_t local, size_t n)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t) side->buffer + local, .length = (uint32_t) n, .lkey = side->mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    int err = ibv_post_recv(side->qp[qp], &wr, &bad);

    if (err)
        fail("post receive: %s", strerror(err));
}

struct ibv_wc expect_either(struct side *side, enum ibv_wc_status a, enum ibv_wc_status b)
{
    uint64_t deadline = now_ns() + 10000000000ull;
    struct ibv_wc wc;

    while (!ibv_poll_cq(side->cq, 1, &wc)) {
        if (now_ns() > deadline)
            fail("no completion");
    }
    if (wc.status != a && wc.status != b)
        fail("completion with %s instead of %s", ibv_wc_status_str(wc.status),
             ibv_wc_status_str(a));
    return wc;
}

struct ibv_wc expect_completion(struct side *side, enum ibv_wc_status status)
{
    return expect_either(side, status, status);
}

void poll_for(struct side *side, uint64_t ns)
{
    uint64_t deadline = now_ns() + ns;
    struct ibv_wc wc;

    while (now_ns() < deadline)
        ibv_poll_cq(side->cq, 1, &wc);
}

static void connect_to(struct ibv_qp *qp, uint32_t number, const struct address *peer)
{
    const struct bring_up how = {.port = 1,
                                 .access = ALL_ACCESS,
                                 .mtu = IBV_MTU_4096,
                                 .reads = 4,
                                 .rnr_timer = 8,
                                 .timeout = 14};
    const struct ibv_ah_attr ah = {.dlid = (uint16_t) peer->lid,
                                   .is_global = peer->lid == 0, /* RoCE */
                                   .grh = {.dgid = peer->gid, .hop_limit = 1}};
    int err = bring_up(qp, &how, number, &ah);

    if (err)
        fail("connecting: %s", strerror(err));
}

void set_rnr_retry(struct side *side, unsigned retries)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .rnr_retry = (uint8_t) retries};

    if (ibv_modify_qp(side->qp[0], &attr, IBV_QP_STATE | IBV_QP_RNR_RETRY))
        fail("setting the retry count");
}

static struct ibv_qp *make_queue_pair(struct side *side)
{
    struct ibv_qp_init_attr init = {
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 64,
                .max_recv_wr = 64,
                .max_send_sge = 5,
                .max_recv_sge = 1,
                .max_inline_data = 64},
    };
    struct ibv_qp *qp = ibv_create_qp(side->pd, &init);

    if (!qp)
        fail("creating a queue pair: %s", strerror(errno));
    return qp;
}

void loop_back(struct side *side, int with)
{
    struct ibv_qp *first = make_queue_pair(side), *second = make_queue_pair(side);

    (void) with;
    connect_to(first, second->qp_num, &side->own);
    connect_to(second, first->qp_num, &side->own);
    side->qp[0] = first;
    side->peer = side->own;
}

static void open_device(struct side *side)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_port_attr port;

    if (!list || !list[0])
        fail("no device");
    side->context = ibv_open_device(list[0]);
    if (!side->context || ibv_query_port(side->context, 1, &port) ||
        (port.link_layer == IBV_LINK_LAYER_ETHERNET &&
         ibv_query_gid(side->context, 1, 0, &side->own.gid)))
        fail("opening the device: %s", strerror(errno));
    ibv_free_device_list(list);
    side->own.lid = port.lid;
    side->pd = ibv_alloc_pd(side->context);
    side->foreign_pd = ibv_alloc_pd(side->context);
    side->cq = ibv_create_cq(side->context, 256, NULL, NULL, 0);
    side->buffer =
        mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!side->pd || !side->foreign_pd || !side->cq || side->buffer == MAP_FAILED)
        fail("setting up");
    side->mr = ibv_reg_mr(side->pd, side->buffer, BUFFER_BYTES, ALL_ACCESS);
    side->read_only_mr = ibv_reg_mr(side->pd, side->buffer, 4096, IBV_ACCESS_REMOTE_READ);
    side->foreign_mr = ibv_reg_mr(side->foreign_pd, side->buffer, 4096, ALL_ACCESS);
    if (!side->mr || !side->read_only_mr || !side->foreign_mr)
        fail("registering: %s", strerror(errno));
}

static void set_up(struct side *side)
{
    open_device(side);
    for (int i = 0; i < QUEUE_PAIRS; i++) {
        side->qp[i] = make_queue_pair(side);
        side->own.number[i] = side->qp[i]->qp_num;
    }
    side->own.addr = (uintptr_t) side->buffer;
    side->own.rkey = side->mr->rkey;
    side->own.read_only_rkey = side->read_only_mr->rkey;
    side->own.foreign_rkey = side->foreign_mr->rkey;
    side->own.victim_offset = VICTIM_OFFSET;
    if (write(side->socket, &side->own, sizeof(side->own)) != sizeof(side->own) ||
        read(side->socket, &side->peer, sizeof(side->peer)) != sizeof(side->peer))
        fail("the other side is gone");
    for (int i = 0; i < QUEUE_PAIRS; i++)
        connect_to(side->qp[i], side->peer.number[i], &side->peer);
    notify(side);
    await_peer(side);
}

static void tear_down(struct side *side)
{
    for (int i = 0; i < QUEUE_PAIRS; i++)
        ibv_destroy_qp(side->qp[i]);
    ibv_dereg_mr(side->foreign_mr);
    ibv_dereg_mr(side->read_only_mr);
    ibv_dereg_mr(side->mr);
    ibv_destroy_cq(side->cq);
    ibv_dealloc_pd(side->foreign_pd);
    ibv_dealloc_pd(side->pd);
    ibv_close_device(side->context);
    exit(0);
}

/* Each side on a processor of its own, where there are two. */
static void pin(bool is_active)
{
    cpu_set_t allowed, one;
    int wanted = is_active ? 1 : 0;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || wanted--)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        return;
    }
}

static void run_side(int socket, pid_t other, void (*role)(struct side *), bool is_active)
{
    struct side side = {.socket = socket, .other = other};

    setenv("SIDE", is_active ? "active" : "passive", 1); /* faults may be meant for one of them */
    alarm(TIME_LIMIT_S);
    pin(is_active);
    set_up(&side);
    if (is_active) {
        role(&side);
        /* The passive side may be dead by intent. */
        if (write(socket, "xx", 2) != 2)
            exit(0);
        tear_down(&side);
    }
    role(&side);
    await_peer(&side);
    tear_down(&side);
}

static bool ended_well(pid_t pid)
{
    int status;

    waitpid(pid, &status, 0);
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

bool run_pair(void (*active)(struct side *), void (*passive)(struct side *))
{
    int ends[2];
    pid_t first, second;
    bool well;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return false;
    fflush(stdout);
    second = fork();
    if (!second) {
        close(ends[0]);
        run_side(ends[1], 0, passive, false);
    }
    first = fork();
    if (!first) {
        close(ends[1]);
        run_side(ends[0], second, active, true);
    }
    close(ends[0]);
    close(ends[1]);
    well = ended_well(first);
    return ended_well(second) && well;
}

bool can_watch(void)
{
    int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC);

    if (fd < 0)
        fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}
