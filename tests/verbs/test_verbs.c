/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receive queues, queue pairs and completions on whatever adapter there is, two queue pairs of one
 * process connected to each other. Without an adapter the test is skipped.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "verbs/in_order.h"

START_TEST(messages_arrive)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_problem problem;
    unsigned received = 0, sent = 0;

    adapter_open(&adapter);
    adapter_ok(rbuf_memory_allocate(adapter.port, 4096, 0, &memory, &problem), &problem);
    pair = adapter_connect(&adapter, RBUF_CONTROL, 64);
    for (unsigned i = 0; i < 500; i++) {
        struct rbuf_work work = {.kind = RBUF_WORK_SEND};
        char head[8];
        struct rbuf_fab_piece pieces[2] = {{.address = head, .bytes = 4},
                                           {.address = memory.base, .bytes = 1 + i}};
        bool inlined = i % 3 == 0 && 5 + i <= rbuf_fab_inline_max(pair.a);

        memset(memory.base, (int) i, 1 + i);
        if (inlined) {
            memcpy(head, &i, 4);
        } else {
            memcpy((char *) memory.base + 3000, &i, 4);
            pieces[0].address = (char *) memory.base + 3000;
        }
        pieces[0].lkey = pieces[1].lkey = memory.mr->lkey;
        ck_assert_int_eq(rbuf_fab_send(i % 2 == 0 ? pair.a : pair.b, pieces, 2, inlined, &work),
                         RBUF_FAB_OK);
        for (int both = 0; both < 2; both++) {
            struct rbuf_completion completion = adapter_next(adapter.port);

            ck_assert_int_eq(completion.status, 0);
            if (completion.kind == RBUF_COMPLETION_SENT) {
                ck_assert_ptr_eq(completion.work, &work);
                sent++;
                continue;
            }
            ck_assert_int_eq(completion.kind, RBUF_COMPLETION_RECEIVED);
            ck_assert_uint_eq(completion.bytes, 5 + i);
            ck_assert_int_eq(completion.buffer->channel, RBUF_CONTROL);
            ck_assert_int_eq(memcmp(completion.buffer->data, &i, 4), 0);
            ck_assert_uint_eq(((uint8_t *) completion.buffer->data)[4 + i], i & 0xff);
            ck_assert_int_eq(adapter_repost(completion.buffer), 0);
            received++;
        }
    }
    ck_assert_uint_eq(received, 500);
    ck_assert_uint_eq(sent, 500);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    rbuf_queue_close(pair.a);
    rbuf_queue_close(pair.b);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* All buffers taken off, collected and posted in one list. */
START_TEST(buffers_are_reposted_in_batches)
{
    struct adapter adapter;
    struct adapter_pair pair;

    adapter_open(&adapter);
    pair = adapter_connect(&adapter, RBUF_BULK, 64);
    for (unsigned round = 0; round < 10; round++) {
        struct rbuf_buffer *taken[ADAPTER_BUFFERS];
        struct rbuf_receive *receive;
        unsigned received = 0, sent = 0;

        struct rbuf_work works[ADAPTER_BUFFERS] = {0};
        for (unsigned i = 0; i < ADAPTER_BUFFERS; i++) {
            struct rbuf_fab_piece piece = {.address = &i, .bytes = sizeof(i)};

            works[i].kind = RBUF_WORK_SEND;
            ck_assert_int_eq(rbuf_fab_send(pair.a, &piece, 1, true, &works[i]), RBUF_FAB_OK);
        }
        while (received + sent < 2 * ADAPTER_BUFFERS) {
            struct rbuf_completion completion = adapter_next(adapter.port);

            ck_assert_int_eq(completion.status, 0);
            if (completion.kind == RBUF_COMPLETION_RECEIVED) {
                ck_assert_int_eq(memcmp(completion.buffer->data, &received, 4), 0);
                taken[received++] = completion.buffer;
            } else {
                sent++;
            }
        }
        for (unsigned i = 0; i < ADAPTER_BUFFERS; i++) {
            rbuf_receive_recycle(taken[i]);
        }
        receive = taken[0]->receive;
        ck_assert_uint_eq(receive->recycled_count, ADAPTER_BUFFERS % receive->batch);
        ck_assert_int_eq(rbuf_receive_post(receive), 0);
        ck_assert_int_eq(rbuf_receive_post(receive), 0);
        ck_assert_uint_eq(receive->recycled_count, 0);
    }
    rbuf_queue_close(pair.a);
    rbuf_queue_close(pair.b);
    adapter_close(&adapter);
}
END_TEST

/* One request, which ends well. */
static void post_and_wait(struct adapter *adapter, struct rbuf_fab_queue *queue,
                          const struct rbuf_fab_rma *rma)
{
    unsigned posted;

    ck_assert_int_eq(rbuf_fab_post_list(queue, rma, 1, &posted), RBUF_FAB_OK);
    ck_assert_uint_eq(posted, 1);
    ck_assert_int_eq(adapter_next(adapter->port).status, 0);
}

START_TEST(writes_reads_and_atomics)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory from, to;
    struct rbuf_problem problem;
    struct rbuf_work work = {.kind = RBUF_WORK_RMA};
    struct rbuf_completion completion;
    struct rbuf_fab_rma rma;
    const uint32_t bytes = 300000;
    uint64_t *words;

    adapter_open(&adapter);
    adapter_ok(rbuf_memory_allocate(adapter.port, bytes, ADAPTER_ACCESS, &from, &problem),
               &problem);
    adapter_ok(rbuf_memory_allocate(adapter.port, bytes, ADAPTER_ACCESS, &to, &problem), &problem);
    pair = adapter_connect(&adapter, RBUF_BULK, 16);
    for (uint32_t i = 0; i < bytes; i++) {
        ((uint8_t *) from.base)[i] = (uint8_t) (i * 31 + i / 251);
    }
    ck_assert_int_eq(rbuf_fab_write(pair.a, from.base, from.mr->lkey, bytes, (uintptr_t) to.base,
                                    to.mr->rkey, &work),
                     RBUF_FAB_OK);
    completion = adapter_next(adapter.port);
    ck_assert_int_eq(completion.status, 0);
    ck_assert_ptr_eq(completion.work, &work);
    ck_assert_int_eq(memcmp(from.base, to.base, bytes), 0);

    ck_assert_int_eq(rbuf_fab_write_immediate(pair.a, from.base, from.mr->lkey, 100,
                                              (uintptr_t) to.base + 8, to.mr->rkey, 0x12345678,
                                              NULL),
                     RBUF_FAB_OK);
    completion = adapter_next(adapter.port);
    ck_assert_int_eq(completion.kind, RBUF_COMPLETION_IMMEDIATE);
    ck_assert_uint_eq(completion.immediate, 0x12345678);
    ck_assert_int_eq(memcmp(from.base, (char *) to.base + 8, 100), 0);
    ck_assert_int_eq(adapter_repost(completion.buffer), 0);

    memset(from.base, 0, bytes);
    rma = (struct rbuf_fab_rma){.verb = RBUF_FAB_READ,
                                .bytes = 5000,
                                .local = from.base,
                                .remote = (uintptr_t) to.base + 8,
                                .lkey = from.mr->lkey,
                                .rkey = to.mr->rkey,
                                .work = &work};
    post_and_wait(&adapter, pair.a, &rma);
    ck_assert_int_eq(memcmp(from.base, (char *) to.base + 8, 5000), 0);

    if (adapter.port->atomics) {
        words = to.base;
        words[0] = 40;
        rma.verb = RBUF_FAB_FETCH_ADD;
        rma.bytes = sizeof(*words);
        rma.remote = (uintptr_t) words;
        rma.operand = 2;
        post_and_wait(&adapter, pair.a, &rma);
        ck_assert_uint_eq(((uint64_t *) from.base)[0], 40);
        rma.verb = RBUF_FAB_COMPARE_SWAP;
        rma.compare = 42;
        rma.operand = 77;
        post_and_wait(&adapter, pair.a, &rma);
        ck_assert_uint_eq(((uint64_t *) from.base)[0], 42);
        ck_assert_uint_eq(words[0], 77);
    }
    rbuf_queue_close(pair.a);
    rbuf_queue_close(pair.b);
    rbuf_memory_free(&from);
    rbuf_memory_free(&to);
    adapter_close(&adapter);
}
END_TEST

/* Ten thousand unsignalled writes with no other: the markers alone must keep the queue going. */
START_TEST(unsignalled_writes_retire)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_problem problem;
    struct rbuf_completion completion;
    unsigned waits = 0;
    uint64_t *word;

    adapter_open(&adapter);
    adapter_ok(rbuf_memory_allocate(adapter.port, 4096, ADAPTER_ACCESS, &memory, &problem),
               &problem);
    word = memory.base;
    pair = adapter_connect(&adapter, RBUF_CONTROL, 32);
    for (uint64_t i = 1; i <= 10000;) {
        enum rbuf_fab_status status =
            rbuf_fab_write_inline(pair.a, &i, sizeof(i), (uintptr_t) word, memory.mr->rkey, NULL);

        if (status == RBUF_FAB_OK) {
            i++;
            continue;
        }
        ck_assert_int_eq(status, RBUF_FAB_AGAIN);
        ck_assert_int_eq(rbuf_poll(adapter.port, &completion, 1), 0);
        waits++;
    }
    for (time_t end = time(NULL) + ADAPTER_PATIENCE;
         __atomic_load_n(word, __ATOMIC_ACQUIRE) != 10000 && time(NULL) < end;) {
        ck_assert_int_eq(rbuf_poll(adapter.port, &completion, 1), 0);
    }
    ck_assert_uint_eq(*word, 10000);
    adapter_quiet(adapter.port);
    ck_assert_uint_le(adapter.port->fab.signalled, 1);
    ck_assert_uint_gt(waits, 0);
    rbuf_queue_close(pair.a);
    rbuf_queue_close(pair.b);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* A wrong key under an unsignalled write: the queue is reported, the works behind it come back. */
START_TEST(failed_unsignalled_write)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_problem problem;
    struct rbuf_work works[4] = {0};
    unsigned back = 0, reports = 0;
    uint64_t value = 1;

    adapter_open(&adapter);
    adapter_ok(rbuf_memory_allocate(adapter.port, 4096, ADAPTER_ACCESS, &memory, &problem),
               &problem);
    pair = adapter_connect(&adapter, RBUF_CONTROL, 32);
    for (int i = 0; i < 4; i++) {
        works[i].kind = RBUF_WORK_RMA;
        ck_assert_int_eq(rbuf_fab_write_inline(pair.a, &value, 8, (uintptr_t) memory.base,
                                               memory.mr->rkey ^ 0x55, NULL),
                         RBUF_FAB_OK);
        ck_assert_int_eq(rbuf_fab_write_inline(pair.a, &value, 8, (uintptr_t) memory.base,
                                               memory.mr->rkey, &works[i]),
                         RBUF_FAB_OK);
    }
    while (back < 4) {
        struct rbuf_completion completion = adapter_next(adapter.port);

        ck_assert_int_lt(completion.status, 0);
        ck_assert_int_eq(completion.kind, RBUF_COMPLETION_SENT);
        if (completion.work == NULL) {
            ck_assert_ptr_eq(completion.queue, pair.a);
            ck_assert_int_eq(completion.status, -EREMOTEIO);
            reports++;
        } else {
            ck_assert_ptr_eq(completion.work, &works[back]);
            ck_assert_int_eq(completion.status, -ECONNRESET);
            back++;
        }
    }
    ck_assert_uint_eq(reports, 1);
    adapter_quiet(adapter.port);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    rbuf_queue_close(pair.a);
    rbuf_queue_close(pair.b);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* Everything that is posted comes back when the queue is put into error, and just once; what nobody
 * waits for is not reported. */
START_TEST(flush_brings_everything_back)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_memory memory;
    struct rbuf_problem problem;
    struct rbuf_work works[8] = {0};
    unsigned seen[8] = {0};
    unsigned posted = 0, back = 0;

    adapter_open(&adapter);
    adapter_ok(rbuf_memory_allocate(adapter.port, 1 << 20, ADAPTER_ACCESS, &memory, &problem),
               &problem);
    pair = adapter_connect(&adapter, RBUF_BULK, 32);
    for (unsigned i = 0; i < 24; i++) {
        struct rbuf_work *work = i % 3 == 2 ? &works[posted] : NULL;

        ck_assert_int_eq(rbuf_fab_write(pair.a, memory.base, memory.mr->lkey, 200000,
                                        (uintptr_t) memory.base + 500000, memory.mr->rkey, work),
                         RBUF_FAB_OK);
        if (work != NULL) {
            work->kind = RBUF_WORK_RMA;
            posted++;
        }
    }
    rbuf_queue_error(pair.a);
    rbuf_queue_error(pair.a);
    while (back < posted) {
        struct rbuf_completion completion = adapter_next(adapter.port);

        ck_assert_ptr_nonnull(completion.work);
        seen[completion.work - works]++;
        back++;
    }
    for (unsigned i = 0; i < posted; i++) {
        ck_assert_uint_eq(seen[i], 1);
    }
    adapter_quiet(adapter.port);
    ck_assert_uint_eq(adapter.port->fab.signalled, 0);
    rbuf_queue_close(pair.a);
    rbuf_queue_close(pair.b);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* Queues that are closed with completions of unsignalled requests still to be polled, over and
 * over: nothing is left on the books, and the places in the completion queue come back. */
START_TEST(closing_early_leaves_nothing)
{
    struct adapter adapter;
    struct rbuf_memory memory;
    struct rbuf_problem problem;

    adapter_open(&adapter);
    adapter_ok(rbuf_memory_allocate(adapter.port, 1 << 20, ADAPTER_ACCESS, &memory, &problem),
               &problem);
    for (int round = 0; round < 30; round++) {
        struct adapter_pair pair = adapter_connect(&adapter, RBUF_BULK, 64);

        for (int i = 0; i < 40; i++) {
            ck_assert_int_eq(rbuf_fab_write(pair.a, memory.base, memory.mr->lkey, 100,
                                            (uintptr_t) memory.base + 500000,
                                            memory.mr->rkey ^ (round % 2 == 0 ? 0 : 0x55), NULL),
                             RBUF_FAB_OK);
        }
        if (round % 3 != 0) {
            rbuf_queue_error(pair.a);
        }
        rbuf_queue_close(pair.a);
        rbuf_queue_close(pair.b);
        ck_assert_uint_eq(adapter.port->fab.signalled, 0);
        adapter_quiet(adapter.port);
        ck_assert_uint_eq(adapter.port->send_cq[0].reserved, 0);
    }
    ck_assert_uint_eq(adapter.port->send_cqs, 1);
    rbuf_memory_free(&memory);
    adapter_close(&adapter);
}
END_TEST

/* Messages that were received and not polled when their queue pair goes: swept up before, as
 * queue_pair.h says, they give their buffers back. */
START_TEST(sweeping_brings_buffers_back)
{
    enum { MESSAGES = 8, ROUNDS = 3 * ADAPTER_BUFFERS / MESSAGES };
    struct adapter adapter;
    struct adapter_pair pair;

    adapter_open(&adapter);
    for (int round = 0; round < ROUNDS; round++) {
        struct rbuf_port *port = adapter.port;
        struct rbuf_work works[MESSAGES];
        unsigned received = 0, sent = 0;
        uint32_t drained;

        pair = adapter_connect(&adapter, RBUF_CONTROL, 64);
        for (int i = 0; i < MESSAGES; i++) {
            struct rbuf_fab_piece piece = {.address = &i, .bytes = sizeof(i)};

            works[i] = (struct rbuf_work){.kind = RBUF_WORK_SEND};
            ck_assert_int_eq(rbuf_fab_send(pair.a, &piece, 1, true, &works[i]), RBUF_FAB_OK);
        }
        while (sent < MESSAGES) { /* past rbuf_poll(), which would take the receives first */
            struct ibv_wc wc;

            if (ibv_poll_cq(port->send_cq[0].cq, 1, &wc) == 1) {
                ck_assert_int_eq(wc.status, IBV_WC_SUCCESS);
                rbuf_fab_retire(&works[sent++]);
            }
        }
        rbuf_queue_error(pair.a);
        rbuf_queue_error(pair.b);
        for (drained = port->receives_drained; port->receives_drained == drained;) {
            struct rbuf_completion completion;

            if (adapter_poll(port, &completion) == 1) {
                ck_assert_int_eq(completion.kind, RBUF_COMPLETION_RECEIVED);
                ck_assert_int_eq(adapter_repost(completion.buffer), 0);
                received++;
            }
        }
        ck_assert_uint_eq(received, MESSAGES);
        rbuf_queue_close(pair.a);
        rbuf_queue_close(pair.b);
    }
    adapter_close(&adapter);
}
END_TEST

/* More requests than one completion queue holds: a second one is made, and both are polled. */
START_TEST(completion_queues_grow_in_number)
{
    struct adapter adapter;
    struct adapter_pair pairs[4];
    uint32_t depth;

    adapter_open(&adapter);
    depth = adapter.port->max_depth < 1024 ? adapter.port->max_depth : 1024;
    for (int i = 0; i < 4; i++) {
        pairs[i] = adapter_connect(&adapter, RBUF_CONTROL, depth);
    }
    ck_assert_uint_ge(adapter.port->send_cqs, depth == 1024 ? 2 : 1);
    for (unsigned i = 0; i < 4; i++) {
        struct rbuf_work work = {.kind = RBUF_WORK_SEND};
        struct rbuf_fab_piece piece = {.address = &i, .bytes = sizeof(i)};

        ck_assert_int_eq(rbuf_fab_send(pairs[i].b, &piece, 1, true, &work), RBUF_FAB_OK);
        for (int both = 0; both < 2; both++) {
            struct rbuf_completion completion = adapter_next(adapter.port);

            ck_assert_int_eq(completion.status, 0);
            if (completion.kind == RBUF_COMPLETION_RECEIVED) {
                ck_assert_int_eq(adapter_repost(completion.buffer), 0);
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        rbuf_queue_close(pairs[i].a);
        rbuf_queue_close(pairs[i].b);
    }
    adapter_close(&adapter);
}
END_TEST

START_TEST(limits_are_named)
{
    struct adapter adapter;
    struct rbuf_fab_queue *queue;
    struct rbuf_problem problem;
    struct rbuf_receive_plan plan = {.bytes = 64};

    adapter_open(&adapter);
    plan.shared = adapter.port->max_srq + 1;
    plan.window = UINT16_MAX; /* more than any adapter takes */
    ck_assert_int_eq(rbuf_queue_open(adapter.port, RBUF_BULK, 3, &queue, &problem), -EINVAL);
    ck_assert_str_eq(problem.topic, "queue-pair");
    ck_assert_int_eq(rbuf_queue_open(adapter.port, RBUF_BULK, UINT32_MAX, &queue, &problem),
                     -EINVAL);
    ck_assert_int_eq(rbuf_receive_open(adapter.port, RBUF_BULK, &plan, &problem), -EINVAL);
    ck_assert_str_eq(problem.topic, "receive-queue");
    adapter_close(&adapter);
}
END_TEST

/* Long send queues for the first peers, short ones for later ones, and never more than there is. */
START_TEST(depth_by_number_of_peers)
{
    static const struct {
        uint32_t peers, most, depth;
    } rows[] = {{0, 16384, 128},  {63, 16384, 128},   {64, 16384, 64}, {255, 16384, 64},
                {256, 16384, 32}, {65535, 16384, 32}, {0, 100, 100},   {300, 100, 32}};
    struct adapter adapter;
    struct rbuf_problem problem;
    struct rbuf_fab_queue *queue;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_uint_eq(rbuf_queue_depth(RBUF_CHANNELS * rows[i].peers, rows[i].most),
                          rows[i].depth);
    }
    adapter_open(&adapter);
    for (int i = 0; i < 300; i++) { /* as many come as go: all are among the first */
        adapter_ok(rbuf_queue_open(adapter.port, RBUF_CONTROL, 0, &queue, &problem), &problem);
        ck_assert_uint_eq(queue->depth, 128);
        rbuf_queue_close(queue);
    }
    adapter_close(&adapter);
}
END_TEST

/* On Ethernet the kernel looks for the peer's hardware address on the way to RTR. */
static int rtr_error; /* what it finds; 0: as the adapter has it */

int __real_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask);
int __wrap_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask);

int __wrap_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
    if (rtr_error != 0 && attributes->qp_state == IBV_QPS_RTR) {
        return rtr_error;
    }
    return __real_ibv_modify_qp(qp, attributes, mask);
}

static void connect_in_vain(struct rbuf_port *port, const char *gid, int error, const char *found,
                            const char *remedy)
{
    struct rbuf_port_address remote = port->address;
    struct rbuf_queue_address address;
    struct rbuf_problem problem;
    struct rbuf_fab_queue *queue;

    ck_assert_int_eq(inet_pton(AF_INET6, gid, port->address.gid), 1);
    ck_assert_int_eq(inet_pton(AF_INET6, gid, remote.gid), 1);
    adapter_ok(rbuf_queue_open(port, RBUF_CONTROL, 64, &queue, &problem), &problem);
    rbuf_queue_address(queue, &address);
    rtr_error = error;
    ck_assert_int_eq(rbuf_queue_connect(queue, port, &remote, &address, &problem), -error);
    rtr_error = 0;
    ck_assert_str_eq(problem.topic, "queue-pair");
    ck_assert_ptr_nonnull(strstr(problem.value, found));
    ck_assert_ptr_nonnull(strstr(problem.remedy, remedy));
    rbuf_queue_close(queue);
}

/* A tap device has a link-local address, and nobody answers there. */
START_TEST(unanswered_addresses_are_named)
{
    struct adapter adapter;
    enum rbuf_link_layer before;

    adapter_open(&adapter);
    before = adapter.port->link_layer;
    adapter.port->link_layer = adapter.port->address.link_layer = RBUF_LINK_ETHERNET;
    connect_in_vain(adapter.port, "fe80::1", ETIMEDOUT, "no answer from fe80::1",
                    "may lead nowhere: give the interface of");
    connect_in_vain(adapter.port, "::ffff:10.1.0.17", EHOSTUNREACH, "no answer from 10.1.0.17",
                    "check the network between");
    connect_in_vain(adapter.port, "fe80::1", EINVAL, "Invalid argument", "check the port's state");
    adapter.port->link_layer = adapter.port->address.link_layer = RBUF_LINK_INFINIBAND;
    connect_in_vain(adapter.port, "fe80::1", ETIMEDOUT, "timed out", "check the port's state");
    adapter.port->link_layer = before;
    adapter_close(&adapter);
}
END_TEST

/* A global route header is used when the other side requires one, even if this one does not. */
START_TEST(global_route_for_who_requires_it)
{
    struct adapter adapter;

    adapter_open(&adapter);
    for (int required = 0; required < 2; required++) {
        struct rbuf_port *port = adapter.port;
        struct rbuf_port_address remote = port->address;
        struct rbuf_queue_address address;
        struct rbuf_problem problem;
        struct rbuf_fab_queue *queue;
        struct ibv_qp_init_attr init;
        struct ibv_qp_attr attributes;

        remote.needs_grh = (uint8_t) required;
        adapter_ok(rbuf_queue_open(port, RBUF_CONTROL, 64, &queue, &problem), &problem);
        rbuf_queue_address(queue, &address);
        adapter_ok(rbuf_queue_connect(queue, port, &remote, &address, &problem), &problem);
        ck_assert_int_eq(ibv_query_qp(queue->qp, &attributes, IBV_QP_AV, &init), 0);
        if (required == 1 || port->address.needs_grh != 0) {
            ck_assert_int_eq(attributes.ah_attr.is_global, 1);
            ck_assert_mem_eq(attributes.ah_attr.grh.dgid.raw, remote.gid, sizeof(remote.gid));
        } else if (port->link_layer == RBUF_LINK_INFINIBAND) {
            ck_assert_int_eq(attributes.ah_attr.is_global, 0);
        }
        rbuf_queue_close(queue);
    }
    adapter_close(&adapter);
}
END_TEST

/* The adapter is asked of queue pairs in RTS, each for itself; the user's word holds for
 * all. */
START_TEST(order_of_each_queue_pair)
{
    struct adapter adapter;
    struct adapter_pair pair;
    struct rbuf_port *port;

    adapter_open(&adapter);
    port = adapter.port;
    pair = adapter_connect(&adapter, RBUF_CONTROL, 64);
    ck_assert_int_eq(rbuf_queue_in_order(pair.a, port), port->subblock == RBUF_SUBBLOCK_ON);
    if (port->in_order_queried) {
        rbuf_queue_error(pair.a); /* which is no longer in RTS */
        ck_assert(!rbuf_queue_in_order(pair.a, port));
        port->in_order_queried = false;
        ck_assert(rbuf_queue_in_order(pair.a, port));
    }
    port->subblock = RBUF_SUBBLOCK_CHECKED;
    ck_assert(!rbuf_queue_in_order(pair.b, port));
    rbuf_in_order_decide(port, NULL);
    ck_assert_int_eq(port->subblock, RBUF_SUBBLOCK_CHECKED);
    ck_assert_ptr_nonnull(strstr(port->in_order_why, "no queue pair to ask"));
    rbuf_queue_close(pair.a);
    rbuf_queue_close(pair.b);
    adapter_close(&adapter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verbs");

    if (!adapter_there()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, messages_arrive);
    unit_add(suite, buffers_are_reposted_in_batches);
    unit_add(suite, writes_reads_and_atomics);
    unit_add(suite, unsignalled_writes_retire);
    unit_add(suite, failed_unsignalled_write);
    unit_add(suite, flush_brings_everything_back);
    unit_add(suite, closing_early_leaves_nothing);
    unit_add(suite, sweeping_brings_buffers_back);
    unit_add(suite, completion_queues_grow_in_number);
    unit_add(suite, limits_are_named);
    unit_add(suite, depth_by_number_of_peers);
    unit_add(suite, unanswered_addresses_are_named);
    unit_add(suite, global_route_for_who_requires_it);
    unit_add(suite, order_of_each_queue_pair);
    return unit_run(suite);
}
