/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Opens and closes one port (device.h): asks for its attributes, makes its protection domain, tries
 * how much goes inline and whether order holds, and reads asynchronous events.
 */
#include "verbs/device.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/close_on_fork.h"
#include "verbs/port_tables.h"
#include "verbs/in_order.h"
#include "verbs/order_probe.h"
#include "verbs/memory.h"
#include "verbs/queue_pair.h"

static_assert((int) RBUF_MTU_256 == IBV_MTU_256,
              "the exchange has its numbers of MTUs from libibverbs");
static_assert((int) RBUF_MTU_4096 == IBV_MTU_4096,
              "the exchange has its numbers of MTUs from libibverbs");

#define READS_MAX      16u /* in flight a queue pair; more gains nothing and takes adapter memory */
#define PROBE_DEPTH    16u
#define PIECES         2u /* that all of core needs but rbuf_fab_gather() */
#define LENGTH_OF(all) (sizeof(all) / sizeof((all)[0]))

void rbuf_port_name(char name[RBUF_PORT_NAME_MAX], const struct ibv_device *device, uint8_t number)
{
    (void) snprintf(name, RBUF_PORT_NAME_MAX, "%s:%u", ibv_get_device_name((void *) device),
                    number);
}

static int problem_call(const struct rbuf_port *port, const char *call, int error,
                        struct rbuf_problem *problem)
{
    if (error == -ENOMEM) {
        rbuf_problem_set(problem, "memlock", error, "%s: %s", port->name, call);
        rbuf_problem_value(problem, "RLIMIT_MEMLOCK is %zu bytes", rbuf_memlock_limit());
        rbuf_problem_remedy(problem, "raise the limit (\"ulimit -l unlimited\" where the job's "
                                     "processes are started)");
        return error;
    }
    rbuf_problem_set(problem, "device", error, "%s: %s", port->name, call);
    rbuf_problem_errno(problem, error);
    rbuf_problem_remedy(problem, "check that ibv_devinfo works for this user");
    return error;
}

static unsigned mtu_bytes(enum ibv_mtu mtu)
{
    return 128u << mtu;
}

/* Megabits a second after encoding. Codes are powers of two; others count as the slowest. */
static uint32_t bandwidth(const struct ibv_port_attr *attributes)
{
    static const uint32_t lane[] = {[1] = 2000,   [2] = 4000,   [4] = 8000,   [8] = 10000,
                                    [16] = 13636, [32] = 25000, [64] = 50000, [128] = 100000};
    static const uint8_t lanes[] = {[1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2};
    const unsigned speed = attributes->active_speed;
    const unsigned width = attributes->active_width;

    return (speed < LENGTH_OF(lane) && lane[speed] != 0 ? lane[speed] : lane[1]) *
           (width < LENGTH_OF(lanes) && lanes[width] != 0 ? lanes[width] : 1);
}

/* The other side is told the speed in units of 100 Mbit/s, as far as they go. */
static void read_link(struct rbuf_port *port, const struct ibv_port_attr *attributes)
{
    port->address.link_layer = attributes->link_layer == IBV_LINK_LAYER_ETHERNET
                                   ? RBUF_LINK_ETHERNET
                                   : RBUF_LINK_INFINIBAND;
    port->bandwidth_mbps = bandwidth(attributes);
    port->address.speed = port->bandwidth_mbps / 100 < UINT16_MAX
                              ? (uint16_t) (port->bandwidth_mbps / 100)
                              : UINT16_MAX;
}

static int choose_mtu(struct rbuf_port *port, const struct ibv_port_attr *attributes,
                      struct rbuf_problem *problem)
{
    enum ibv_mtu mtu = attributes->active_mtu;

    if (port->options.mtu != 0) {
        mtu = IBV_MTU_256;
        while (mtu < attributes->active_mtu && mtu_bytes(mtu) != port->options.mtu) {
            mtu++;
        }
        if (mtu_bytes(mtu) != port->options.mtu) {
            rbuf_problem_set(problem, "bad-option", -EINVAL, "%s, MTU", port->name);
            rbuf_problem_value(problem, "%u", port->options.mtu);
            rbuf_problem_remedy(problem,
                                "256, 512, 1024, 2048 or 4096, at most the %u bytes that "
                                "the port has active; auto takes those",
                                mtu_bytes(attributes->active_mtu));
            return -EINVAL;
        }
    }
    port->address.mtu = (uint8_t) mtu;
    port->mtu_bytes = mtu_bytes(mtu);
    return 0;
}

static int query_device(struct rbuf_port *port, struct rbuf_problem *problem)
{
    struct ibv_device_attr attributes;
    int error = ibv_query_device(port->context, &attributes);
    unsigned reads;

    if (error != 0) {
        return problem_call(port, "ibv_query_device", -abs(error), problem);
    }
    port->max_queues = (uint32_t) attributes.max_qp;
    port->max_depth = (uint32_t) attributes.max_qp_wr;
    port->max_cq = (uint32_t) attributes.max_cqe;
    port->max_srq = attributes.max_srq > 0 ? (uint32_t) attributes.max_srq_wr : 0;
    port->pieces = port->options.gather && attributes.max_sge >= (int) RBUF_FAB_PIECES
                       ? RBUF_FAB_PIECES
                       : PIECES;
    port->receive_kind = port->max_srq > 0 ? RBUF_RECEIVE_SHARED : RBUF_RECEIVE_OWN;
    reads = attributes.max_qp_init_rd_atom > 0 ? (unsigned) attributes.max_qp_init_rd_atom : 1;
    port->max_rd_atomic = (uint8_t) (reads < READS_MAX ? reads : READS_MAX);
    reads = attributes.max_qp_rd_atom > 0 ? (unsigned) attributes.max_qp_rd_atom : 1;
    port->address.max_rd_atomic = (uint8_t) (reads < READS_MAX ? reads : READS_MAX);
    port->atomics = attributes.atomic_cap != IBV_ATOMIC_NONE;
    port->atomics_with_cpu = attributes.atomic_cap == IBV_ATOMIC_GLOB;
    return 0;
}

static int query_port(struct rbuf_port *port, struct rbuf_problem *problem)
{
    struct ibv_port_attr attributes;
    int error = ibv_query_port(port->context, port->number, &attributes);

    if (error != 0) {
        return problem_call(port, "ibv_query_port", -abs(error), problem);
    }
    port->max_message = attributes.max_msg_sz;
    read_link(port, &attributes);
    if (port->address.link_layer == RBUF_LINK_INFINIBAND) {
        port->address.needs_grh = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
        port->address.lid = attributes.lid;
    }
    error = choose_mtu(port, &attributes, problem);
    if (error == 0) {
        error = rbuf_pkey_choose(port, &attributes, problem);
    }
    return error != 0 ? error : rbuf_gid_choose(port, &attributes, problem);
}

void rbuf_port_survey(struct ibv_context *context, const struct ibv_port_attr *attributes,
                      const struct rbuf_device_options *options, struct rbuf_candidate *candidate)
{
    struct rbuf_port port = {.context = context, .number = candidate->number, .options = *options};
    struct rbuf_problem ignored;
    bool has_gid;

    read_link(&port, attributes);
    has_gid = rbuf_gid_choose(&port, attributes, &ignored) == 0;
    candidate->outside = rbuf_pkey_choose(&port, attributes, &ignored) != 0;
    candidate->link_local = port.address.link_layer == RBUF_LINK_ETHERNET &&
                            (!has_gid || rbuf_gid_is_link_local(port.address.gid));
    candidate->address = port.address;
}

/* Inline room to ask for, bytes, the most first. Adapters refuse what is more than they have, and
 * tell of no limit: so what some are known to have stands here too (irdma 101 and 48, bnxt_re 96,
 * hns 32). */
static const uint32_t inline_rooms[] = {
    RBUF_QUEUE_INLINE_ASKED, 256, 128, 101, 96, 64, 48, 32, 8, 0};

/* A queue pair like those to come, made and thrown away, tells how much goes inline, and is what
 * the adapter is asked about the order of placement. */
static int probe_queue_pair(struct rbuf_port *port, struct rbuf_problem *problem)
{
    struct ibv_cq *cq = ibv_create_cq(port->context, PROBE_DEPTH, NULL, NULL, 0);
    struct ibv_qp *qp = NULL;
    int error = 0;

    if (cq == NULL) {
        return problem_call(port, "ibv_create_cq", errno != 0 ? -errno : -ENOMEM, problem);
    }
    for (size_t i = 0; i < LENGTH_OF(inline_rooms) && qp == NULL; i++) {
        struct ibv_qp_init_attr attributes = {.send_cq = cq,
                                              .recv_cq = cq,
                                              .qp_type = IBV_QPT_RC,
                                              .cap = {.max_send_wr = PROBE_DEPTH,
                                                      .max_recv_wr = 1,
                                                      .max_send_sge = port->pieces,
                                                      .max_recv_sge = 1,
                                                      .max_inline_data = inline_rooms[i]}};

        errno = 0;
        qp = ibv_create_qp(port->pd, &attributes);
        port->max_inline = attributes.cap.max_inline_data;
    }
    if (qp != NULL) {
        rbuf_in_order_decide(port, rbuf_queue_loop_back(qp, port) == 0 ? qp : NULL);
        (void) ibv_destroy_qp(qp);
    } else {
        error = problem_call(port, "ibv_create_qp", errno != 0 ? -errno : -ENOMEM, problem);
    }
    (void) ibv_destroy_cq(cq);
    return error;
}

/* Where order is the user's word alone. If the test sees nothing, that proves nothing. */
static void try_order(struct rbuf_port *port)
{
    struct rbuf_order_probe probe;

    if (port->subblock != RBUF_SUBBLOCK_ON || port->in_order_queried) {
        return;
    }
    rbuf_order_probe_run(port, &probe);
    if (probe.result == RBUF_ORDER_PROBE_EARLY) {
        rbuf_in_order_refute(port, probe.bytes, probe.ending);
    }
}

static int set_up(struct rbuf_port *port, struct rbuf_problem *problem)
{
    int error;

    errno = 0;
    port->pd = ibv_alloc_pd(port->context);
    if (port->pd == NULL) {
        return problem_call(port, "ibv_alloc_pd", errno != 0 ? -errno : -ENOMEM, problem);
    }
    error = query_device(port, problem);
    if (error == 0) {
        error = query_port(port, problem);
    }
    if (error == 0) {
        error = probe_queue_pair(port, problem);
    }
    if (error == 0) {
        try_order(port);
    }
    return error;
}

/* A child that kept the context's descriptors would keep what the adapter has for this process. */
static struct ibv_context *open_context(struct ibv_device *device)
{
    struct ibv_context *context;

    rbuf_close_on_fork_begin();
    context = ibv_open_device(device);
    if (context != NULL) {
        rbuf_close_on_fork_mark(context->cmd_fd);
        rbuf_close_on_fork_mark(context->async_fd);
    }
    rbuf_close_on_fork_end();
    return context;
}

static void close_context(struct ibv_context *context)
{
    rbuf_close_on_fork_begin();
    rbuf_close_on_fork_unmark(context->cmd_fd);
    rbuf_close_on_fork_unmark(context->async_fd);
    (void) ibv_close_device(context);
    rbuf_close_on_fork_end();
}

int rbuf_port_open(struct ibv_device *device, uint8_t number,
                   const struct rbuf_device_options *options, struct rbuf_port **out,
                   struct rbuf_problem *problem)
{
    struct rbuf_port *port = calloc(1, sizeof(*port));
    int error = -ENOMEM;

    if (port == NULL) {
        rbuf_problem_set(problem, "device", error, "%s", ibv_get_device_name(device));
        rbuf_problem_errno(problem, error);
        return error;
    }
    rbuf_port_name(port->name, device, number);
    port->number = number;
    port->options = *options;
    port->options.include = NULL;
    port->options.exclude = NULL;
    TAILQ_INIT(&port->queues);
    TAILQ_INIT(&port->closed);
    TAILQ_INIT(&port->unposted);
    errno = 0;
    port->context = open_context(device);
    if (port->context == NULL) {
        error = problem_call(port, "ibv_open_device", errno != 0 ? -errno : -ENODEV, problem);
    } else {
        (void) fcntl(port->context->async_fd, F_SETFL,
                     fcntl(port->context->async_fd, F_GETFL) | O_NONBLOCK);
        error = set_up(port, problem);
    }
    if (error != 0) {
        rbuf_port_close(port);
        return error;
    }
    *out = port;
    return 0;
}

void rbuf_port_close(struct rbuf_port *port)
{
    struct rbuf_queue_pair *queue;

    /* Their queue pairs are gone, and the completion queues follow: nothing names them any more. */
    while ((queue = TAILQ_FIRST(&port->closed)) != NULL) {
        rbuf_queue_free(queue);
    }
    for (unsigned i = 0; i < port->send_cqs; i++) {
        (void) ibv_destroy_cq(port->send_cq[i].cq);
    }
    if (port->pd != NULL) {
        (void) ibv_dealloc_pd(port->pd);
    }
    if (port->context != NULL) {
        close_context(port->context);
    }
    free(port);
}

static enum rbuf_port_news news_of(const struct rbuf_port *port,
                                   const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
        return event->element.port_num == port->number ? RBUF_PORT_DOWN : RBUF_PORT_NOTED;
    case IBV_EVENT_PORT_ACTIVE:
        return event->element.port_num == port->number ? RBUF_PORT_UP : RBUF_PORT_NOTED;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
        return RBUF_PORT_LOST;
    default:
        return RBUF_PORT_NOTED;
    }
}

enum rbuf_port_news rbuf_port_event(struct rbuf_port *port, const char **text)
{
    struct ibv_async_event event;
    enum rbuf_port_news news;

    if (ibv_get_async_event(port->context, &event) != 0) {
        return RBUF_PORT_NO_NEWS;
    }
    *text = ibv_event_type_str(event.event_type);
    news = news_of(port, &event);
    ibv_ack_async_event(&event);
    return news;
}
