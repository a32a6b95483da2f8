/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What is asked of an adapter before the first request: queue pairs that are made, their depth, and
 * their limits; completion queues for them; how they are connected, and why not; what the adapter
 * says of their order. On whatever adapter there is; without one the test is skipped.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "adapter.h"
#include "verbs/in_order.h"

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
        struct rbuf_work work = {.queue = NULL};
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
        adapter_disconnect(&pairs[i]);
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
    uint8_t before;

    adapter_open(&adapter);
    before = adapter.port->address.link_layer;
    adapter.port->address.link_layer = RBUF_LINK_ETHERNET;
    connect_in_vain(adapter.port, "fe80::1", ETIMEDOUT, "no answer from fe80::1",
                    "may lead nowhere: give the interface of");
    connect_in_vain(adapter.port, "::ffff:10.1.0.17", EHOSTUNREACH, "no answer from 10.1.0.17",
                    "check the network between");
    connect_in_vain(adapter.port, "fe80::1", EINVAL, "Invalid argument", "check the port's state");
    adapter.port->address.link_layer = RBUF_LINK_INFINIBAND;
    connect_in_vain(adapter.port, "fe80::1", ETIMEDOUT, "timed out", "check the port's state");
    adapter.port->address.link_layer = before;
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
        } else if (port->address.link_layer == RBUF_LINK_INFINIBAND) {
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
    adapter_disconnect(&pair);
    adapter_close(&adapter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue_pair");

    if (!adapter_there()) {
        return ADAPTER_NONE;
    }
    unit_add(suite, completion_queues_grow_in_number);
    unit_add(suite, limits_are_named);
    unit_add(suite, depth_by_number_of_peers);
    unit_add(suite, unanswered_addresses_are_named);
    unit_add(suite, global_route_for_who_requires_it);
    unit_add(suite, order_of_each_queue_pair);
    return unit_run(suite);
}
