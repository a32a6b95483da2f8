/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Each injected fault by raw verbs: that it comes when it was asked for, looks as on a device, and
 * leaves alone what it does not concern. TAP, as litmus.c; each test sets SOFTHCA_FAULT itself
 * before its sides open the device.
 *
 * Both sides register three regions and create one completion queue and two queue pairs when they
 * set up; counts begin behind those.
 */
#define _GNU_SOURCE
#include "litmus.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull

static void nothing(struct side *side)
{
    (void) side;
}

static void write_word(struct side *side, int qp)
{
    post(side, qp, IBV_WR_RDMA_WRITE, 0, 8, 0, IBV_SEND_SIGNALED);
}

/* The next asynchronous event, within a second, must be of that type. */
static void expect_event(struct side *side, enum ibv_event_type type)
{
    struct pollfd readable = {.fd = side->context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    if (poll(&readable, 1, 1000) != 1)
        fail("no event instead of: %s", ibv_event_type_str(type));
    if (ibv_get_async_event(side->context, &event))
        fail("reading an event");
    ibv_ack_async_event(&event);
    if (event.event_type != type)
        fail("event: %s, instead of: %s", ibv_event_type_str(event.event_type),
             ibv_event_type_str(type));
}

/* ---- order ---- */

/* Whether within some writes the last word was ever seen before the first. */
static void order_active(struct side *side)
{
    uint64_t *words = (uint64_t *) side->buffer;

    for (uint64_t round = 1; round <= 200; round++) {
        for (int i = 0; i < 1024; i++)
            words[i] = round;
        post(side, 0, IBV_WR_RDMA_WRITE, 0, 8192, 0, IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
        await_peer(side);
    }
}

static void order_passive(struct side *side)
{
    volatile uint64_t *words = (uint64_t *) side->buffer;
    unsigned inverted = 0;

    for (uint64_t round = 1; round <= 200; round++) {
        while (words[1023] != round) {
            struct ibv_wc wc;

            ibv_poll_cq(side->cq, 1, &wc);
        }
        inverted += words[0] != round;
        while (words[0] != round || words[511] != round)
            ;
        notify(side);
    }
    if (!inverted)
        fail("all of 200 writes came in order");
}

/* ---- overtaking ---- */

enum { PAIRS = 200, FLAG_AT = 8192 };

static void write_numbered(struct side *side, uint64_t id, size_t n, uint64_t at)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t) side->buffer, .length = (uint32_t) n, .lkey = side->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = id,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED};

    wr.wr.rdma.remote_addr = side->peer.addr + at;
    wr.wr.rdma.rkey = side->peer.rkey;
    post_wr(side, 0, &wr);
}

/* Data, a flag and a message; they complete in order whatever overtakes. */
static void overtake_active(struct side *side)
{
    await_peer(side);
    for (uint64_t pair = 1; pair <= PAIRS; pair++) {
        for (int i = 0; i < 512; i++)
            ((uint64_t *) side->buffer)[i] = pair;
        write_numbered(side, 3 * pair, 4096, 0);
        write_numbered(side, 3 * pair + 1, 8, FLAG_AT);
        if (pair % 2)
            post(side, 0, IBV_WR_SEND, 0, 8, 0, IBV_SEND_SIGNALED);
        for (uint64_t i = 0; i < 2; i++) {
            if (expect_completion(side, IBV_WC_SUCCESS).wr_id != 3 * pair + i)
                fail("completions of pair %lu are not in order", (unsigned long) pair);
        }
        if (pair % 2)
            expect_completion(side, IBV_WC_SUCCESS);
        await_peer(side);
    }
}

/* In how many of the pairs the flag came before the data; never may a message. */
static unsigned count_overtaken(struct side *side)
{
    volatile uint64_t *data = (uint64_t *) side->buffer, *flag = data + FLAG_AT / 8;
    unsigned overtaken = 0;

    post_receive(side, 0, VICTIM_OFFSET, 64);
    notify(side);
    for (uint64_t pair = 1; pair <= PAIRS; pair++) {
        if (pair % 2) {
            expect_completion(side, IBV_WC_SUCCESS);
            if (*flag != pair || data[511] != pair || data[0] != pair)
                fail("message %lu came before data", (unsigned long) pair);
            post_receive(side, 0, VICTIM_OFFSET, 64);
        } else {
            while (*flag != pair)
                ;
            overtaken += data[511] != pair;
            while (data[511] != pair)
                ;
        }
        notify(side);
    }
    return overtaken;
}

static void overtaken_passive(struct side *side)
{
    unsigned overtaken = count_overtaken(side);

    if (overtaken < PAIRS / 2 / 5 || overtaken > PAIRS / 2 * 4 / 5)
        fail("of %u writes %u were overtaken", PAIRS / 2, overtaken);
}

static void not_overtaken_passive(struct side *side)
{
    unsigned overtaken = count_overtaken(side);

    if (overtaken)
        fail("%u writes were overtaken", overtaken);
}

/* Two writes to one place, the second a part of the first. */
static void same_place_active(struct side *side)
{
    for (uint64_t pair = 1; pair <= PAIRS; pair++) {
        for (int i = 0; i < 512; i++)
            ((uint64_t *) side->buffer)[i] = pair;
        ((uint64_t *) side->buffer)[512] = ~pair;
        post(side, 0, IBV_WR_RDMA_WRITE, 0, 4096, 0, IBV_SEND_SIGNALED);
        post(side, 0, IBV_WR_RDMA_WRITE, 4096, 8, 4088, IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
        expect_completion(side, IBV_WC_SUCCESS);
        notify(side);
        await_peer(side);
    }
}

static void same_place_passive(struct side *side)
{
    volatile uint64_t *data = (uint64_t *) side->buffer;

    for (uint64_t pair = 1; pair <= PAIRS; pair++) {
        await_peer(side);
        if (data[510] != pair || data[511] != ~pair)
            fail("write %lu does not stay", (unsigned long) pair);
        notify(side);
    }
}

/* ---- single calls ---- */

static struct ibv_mr *try_register(struct side *side, size_t bytes)
{
    errno = 0;
    return ibv_reg_mr(side->pd, side->buffer, bytes, IBV_ACCESS_LOCAL_WRITE);
}

static void expect_registration(struct side *side, size_t bytes, int err)
{
    struct ibv_mr *mr = try_register(side, bytes);

    if (!mr != !!err || errno != err)
        fail("registering %zu bytes: %s instead of %s", bytes, strerror(errno), strerror(err));
    if (mr)
        ibv_dereg_mr(mr);
}

static void fifth_registration(struct side *side)
{
    expect_registration(side, 4096, 0);
    expect_registration(side, 4096, ENOMEM);
    expect_registration(side, 4096, 0);
}

static void all_registrations_from_fifth(struct side *side)
{
    expect_registration(side, 4096, 0);
    for (int i = 0; i < 5; i++)
        expect_registration(side, 4096, ENOMEM);
}

static void large_registrations(struct side *side)
{
    expect_registration(side, 100000, 0);
    expect_registration(side, BUFFER_BYTES, ENOMEM); /* the second; the buffer was the first */
    expect_registration(side, BUFFER_BYTES, 0);
}

static void calls_by_chance(struct side *side)
{
    unsigned failed = 0;
    union ibv_gid gid;

    for (int i = 0; i < 1000; i++)
        failed += ibv_query_gid(side->context, 1, 0, &gid) != 0;
    if (failed < 230 || failed > 370)
        fail("%u of 1000 failed", failed);
}

static uint64_t time_of_registration(struct side *side, size_t bytes)
{
    uint64_t begin = now_ns();

    expect_registration(side, bytes, 0);
    return now_ns() - begin;
}

static void slow_registrations(struct side *side)
{
    uint64_t large = time_of_registration(side, 1 << 20), small = time_of_registration(side, 4096);

    if (large < 20 * MS || small > 15 * MS)
        fail("1 MB took %lu ns, 4 KB %lu ns", (unsigned long) large, (unsigned long) small);
}

static void shrinking_limit(struct side *side)
{
    expect_registration(side, 1 << 20, 0);
    expect_registration(side, 1 << 20, ENOMEM);
    expect_registration(side, 1 << 20, ENOMEM);
    ibv_dereg_mr(side->mr);
    side->mr = try_register(side, 512 << 10);
    if (!side->mr)
        fail("beneath the limit: %s", strerror(errno));
}

static void create_calls(struct side *side)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = 16, .max_sge = 1}};
    struct ibv_qp_init_attr qp = {.send_cq = side->cq,
                                  .recv_cq = side->cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 4, .max_send_sge = 1}};
    union ibv_gid gid;
    uint16_t pkey;

    if (ibv_create_cq(side->context, 16, NULL, NULL, 0) || errno != ENOMEM)
        fail("create_cq");
    if (ibv_resize_cq(side->cq, 2 * side->cq->cqe) != ENOMEM ||
        ibv_resize_cq(side->cq, 2 * side->cq->cqe))
        fail("resize_cq");
    if (ibv_create_srq(side->pd, &srq) || errno != ENOMEM)
        fail("create_srq");
    if (ibv_create_qp(side->pd, &qp) || errno != ENOMEM)
        fail("create_qp");
    if (ibv_alloc_pd(side->context) || errno != ENOMEM)
        fail("alloc_pd");
    if (!ibv_query_gid(side->context, 1, 0, &gid) || errno != EIO)
        fail("query_gid");
    if (!ibv_query_pkey(side->context, 1, 0, &pkey) || errno != EIO)
        fail("query_pkey");
}

static void query_calls(struct side *side)
{
    struct ibv_device_attr device;
    struct ibv_port_attr port;

    if (ibv_query_device(side->context, &device) != EIO)
        fail("query_device");
    if (ibv_query_port(side->context, 1, &port) != EIO)
        fail("query_port");
    if (ibv_query_port(side->context, 1, &port))
        fail("query_port for the third time");
    if (ibv_open_device(side->context->device))
        fail("open_device");
}

static void posting_calls(struct side *side)
{
    struct ibv_sge sge = {.addr = (uintptr_t) side->buffer, .length = 8, .lkey = side->mr->lkey};
    struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    struct ibv_send_wr *bad_send = NULL;
    struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv = NULL;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    write_word(side, 0);
    expect_completion(side, IBV_WC_SUCCESS);
    if (ibv_post_send(side->qp[0], &send, &bad_send) != ENOMEM || bad_send != &send)
        fail("post_send");
    write_word(side, 0);
    expect_completion(side, IBV_WC_SUCCESS);
    if (ibv_post_recv(side->qp[0], &recv, &bad_recv) != ENOMEM || bad_recv != &recv)
        fail("post_recv");
    if (ibv_modify_qp(side->qp[1], &attr, IBV_QP_STATE) != EINVAL)
        fail("modify_qp");
}

static void polling(struct side *side)
{
    struct ibv_wc wc;

    if (ibv_poll_cq(side->cq, 1, &wc) || ibv_poll_cq(side->cq, 1, &wc) != -1 ||
        ibv_poll_cq(side->cq, 1, &wc))
        fail("not the second call of poll_cq");
}

static void deregistration(struct side *side)
{
    struct ibv_mr *mr = try_register(side, 4096);

    if (!mr || ibv_dereg_mr(mr) != EBUSY || ibv_dereg_mr(mr))
        fail("dereg_mr");
}

/* ---- queue pairs and completion queues ---- */

static void third_request_fails(struct side *side)
{
    for (int i = 0; i < 5; i++)
        write_word(side, 0);
    expect_completion(side, IBV_WC_SUCCESS);
    expect_completion(side, IBV_WC_SUCCESS);
    expect_completion(side, IBV_WC_RETRY_EXC_ERR);
    expect_completion(side, IBV_WC_WR_FLUSH_ERR);
    expect_completion(side, IBV_WC_WR_FLUSH_ERR);
    write_word(side, 1); /* a count of its own */
    expect_completion(side, IBV_WC_SUCCESS);
}

/* Ten completions for a queue that holds eight. */
static void overrun_active(struct side *side)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    struct ibv_wc wc;
    int found = 0;

    for (int i = 0; i < 10; i++)
        write_word(side, 0);
    expect_event(side, IBV_EVENT_CQ_ERR);
    expect_event(side, IBV_EVENT_QP_FATAL);
    expect_event(side, IBV_EVENT_QP_FATAL);
    for (int i = 0; i < 1000; i++)
        found += ibv_poll_cq(side->cq, 1, &wc);
    if (found > 8)
        fail("%d completions out of a queue of 8", found);
    if (ibv_query_qp(side->qp[0], &attr, IBV_QP_STATE, &init) || attr.qp_state != IBV_QPS_ERR)
        fail("the queue pair is in state %d", attr.qp_state);
}

/* ---- time ---- */

static void late_completions(struct side *side)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (int i = 0; i < 50; i++) {
        uint64_t begin = now_ns(), took;

        write_word(side, 0);
        expect_completion(side, IBV_WC_SUCCESS);
        took = now_ns() - begin;
        least = took < least ? took : least;
        most = took > most ? took : most;
    }
    if (least < 1 * MS || most < 2 * MS)
        fail("completions took %lu to %lu ns", (unsigned long) least, (unsigned long) most);
}

/* The third message finds no receive for a while. */
static void hidden_active(struct side *side)
{
    uint64_t begin;

    await_peer(side);
    for (int i = 0; i < 2; i++) {
        post(side, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
        expect_completion(side, IBV_WC_SUCCESS);
    }
    begin = now_ns();
    post(side, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
    if (now_ns() - begin < 100 * MS)
        fail("it took %lu ns", (unsigned long) (now_ns() - begin));
    notify(side);
}

static void post_receives(struct side *side)
{
    for (int i = 0; i < 5; i++)
        post_receive(side, 0, 4096, 64);
    notify(side);
}

static void hidden_passive(struct side *side)
{
    post_receives(side);
    for (int i = 0; i < 3; i++)
        expect_completion(side, IBV_WC_SUCCESS);
    await_peer(side);
}

static void exhausted_active(struct side *side)
{
    set_rnr_retry(side, 3);
    await_peer(side);
    for (int i = 0; i < 3; i++)
        post(side, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
    expect_completion(side, IBV_WC_SUCCESS);
    expect_completion(side, IBV_WC_SUCCESS);
    expect_completion(side, IBV_WC_RNR_RETRY_EXC_ERR);
    write_word(side, 1);
    expect_completion(side, IBV_WC_SUCCESS);
}

/* ---- the link and the process ---- */

static void link_state(struct side *side, enum ibv_port_state state)
{
    struct ibv_port_attr port;

    if (ibv_query_port(side->context, 1, &port) || port.state != state)
        fail("the port is in state %d", port.state);
}

static void short_break(struct side *side)
{
    uint64_t begin;

    write_word(side, 0);
    expect_completion(side, IBV_WC_SUCCESS);
    link_state(side, IBV_PORT_ACTIVE);
    begin = now_ns();
    write_word(side, 0);
    expect_event(side, IBV_EVENT_PORT_ERR);
    link_state(side, IBV_PORT_DOWN);
    expect_completion(side, IBV_WC_SUCCESS);
    if (now_ns() - begin < 150 * MS)
        fail("it took %lu ns", (unsigned long) (now_ns() - begin));
    expect_event(side, IBV_EVENT_PORT_ACTIVE);
    link_state(side, IBV_PORT_ACTIVE);
}

static void long_break(struct side *side)
{
    write_word(side, 0);
    expect_completion(side, IBV_WC_SUCCESS);
    write_word(side, 0);
    expect_completion(side, IBV_WC_RETRY_EXC_ERR);
    notify(side);
    await_peer(side);
}

/* Only the other side's link is down, and this side's requests do not get through either. */
static void long_break_passive(struct side *side)
{
    await_peer(side);
    write_word(side, 1);
    expect_completion(side, IBV_WC_RETRY_EXC_ERR);
    notify(side);
}

static void killed_active(struct side *side)
{
    for (int i = 0; i < 10; i++)
        write_word(side, 0);
    fail("alive after 10 requests");
}

static void killed_passive(struct side *side)
{
    struct ibv_wc wc;

    do { /* the first may still meet a living peer */
        write_word(side, 1);
        wc = expect_either(side, IBV_WC_RETRY_EXC_ERR, IBV_WC_SUCCESS);
    } while (wc.status == IBV_WC_SUCCESS);
    exit(0);
}

/* Nothing happens to a process that is not meant. */
static void unharmed(struct side *side)
{
    for (int i = 0; i < 30; i++)
        write_word(side, 0);
    for (int i = 0; i < 30; i++)
        expect_completion(side, IBV_WC_SUCCESS);
    expect_registration(side, 4096, 0);
    expect_registration(side, 4096, 0);
}

static const struct test {
    const char *name;
    const char *fault;
    void (*active)(struct side *);
    void (*passive)(struct side *);
} tests[] = {
    {"order=tail-first", "order=tail-first", order_active, order_passive},
    {"order=random", "order=random,seed=3", order_active, order_passive},
    {"overtake: half of the writes", "overtake=50%", overtake_active, overtaken_passive},
    {"overtake: none unless set", "", overtake_active, not_overtaken_passive},
    {"overtake: none by order alone", "order=words", overtake_active, not_overtaken_passive},
    {"overtake: by words", "overtake=50%,order=words", overtake_active, overtaken_passive},
    {"overtake: none to the same place", "overtake=100%", same_place_active, same_place_passive},
    {"call: the N-th", "call=reg_mr:5", fifth_registration, nothing},
    {"call: from the N-th on", "call=reg_mr:5+", all_registrations_from_fifth, nothing},
    {"call: by chance", "call=query_gid:30%,seed=5", calls_by_chance, nothing},
    {"call: large regions", "call=reg_mr:2,large=1M", large_registrations, nothing},
    {"call: what creates and queries",
     "call=create_cq:2,call=resize_cq:1,call=create_srq:1,call=create_qp:3,call=alloc_pd:3,call="
     "query_gid:1,"
     "call=query_pkey:1",
     create_calls, nothing},
    {"call: what looks at the device", "call=query_device:1,call=query_port:2,call=open_device:2",
     query_calls, nothing},
    {"call: what posts and modifies", "call=post_send:2,call=post_recv:1,call=modify_qp:7",
     posting_calls, nothing},
    {"call: what polls", "only=SIDE:active,call=poll_cq:2", polling, nothing},
    {"call: deregistration", "only=SIDE:active,call=dereg_mr:1", deregistration, nothing},
    {"slow: large regions", "slow=reg_mr:2+:20000,large=1M", slow_registrations, nothing},
    {"memlock", "memlock=5:4100k", shrinking_limit, nothing},
    {"qp-error", "qp-error=3", third_request_fails, nothing},
    {"cq", "only=SIDE:active,cq=8", overrun_active, nothing},
    {"late", "late=1000:2000", late_completions, nothing},
    {"rnr for a while", "rnr=3:100", hidden_active, hidden_passive},
    {"rnr for ever", "rnr=3", exhausted_active, post_receives},
    {"link-down for a while", "only=SIDE:active,link-down=2:150", short_break, nothing},
    {"link-down for ever", "only=SIDE:active,link-down=2", long_break, long_break_passive},
    {"kill", "only=SIDE:active,kill=5", killed_active, killed_passive},
    {"only: elsewhere", "only=SIDE:neither,call=reg_mr:5+,kill=1,cq=1", unharmed, nothing},
};

int main(int argc, char **argv)
{
    unsigned n = sizeof(tests) / sizeof(tests[0]), failed = 0, at = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (argc == 1)
        printf("1..%u\n", n);
    for (unsigned i = 0; i < n; i++) {
        const struct test *test = &tests[i];
        bool well;

        if (argc > 1 && strcmp(argv[1], test->name))
            continue;
        at++;
        setenv("SOFTHCA_FAULT", test->fault, 1);
        well = run_pair(test->active, test->passive);
        failed += !well;
        printf("%sok %u - %s\n", well ? "" : "not ", at, test->name);
    }
    return failed || !at;
}
