/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Creates, connects and closes queue pairs, and gives each its room in a send completion queue
 * (queue_pair.h).
 */
#include "verbs/queue_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "verbs/in_order.h"
#include "verbs/receive.h"

#define FIRST_SEND_CQ 4096u     /* entries; each further one is twice as large */
#define FIRST_DEPTH   128u      /* requests of the first peers' send queues */
#define PSN_MASK      0xffffffu /* 24 bits */
#define GRH_HOPS      64u

static struct rbuf_queue_pair *queue_pair_of(struct rbuf_fab_queue *queue)
{
    return (struct rbuf_queue_pair *) queue;
}

static int problem_step(const struct rbuf_port *port, enum rbuf_channel_id channel,
                        const char *step, int error, struct rbuf_problem *problem)
{
    rbuf_problem_set(problem, "queue-pair", error, "%s, %s channel, %s", port->name,
                     rbuf_channel_name(channel), step);
    rbuf_problem_errno(problem, error);
    if (error == -ENOMEM) {
        rbuf_problem_remedy(problem,
                            "the adapter takes %u queue pairs in all; use shorter send queues, or "
                            "raise the limit of locked memory, which holds them",
                            port->max_queues);
    } else {
        rbuf_problem_remedy(problem, "check the port's state with ibv_devinfo, and the options for "
                                     "GID index, MTU and service level");
    }
    return error;
}

/* A send completion queue with `depth` entries to spare; makes one if there is none. */
static int reserve_entries(struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t depth,
                           struct rbuf_send_cq **out, struct rbuf_problem *problem)
{
    struct rbuf_send_cq *cq;
    uint32_t size;

    for (unsigned i = 0; i < port->send_cqs; i++) {
        cq = &port->send_cq[i];
        if (cq->size - cq->reserved >= depth) {
            cq->reserved += depth;
            *out = cq;
            return 0;
        }
    }
    if (port->send_cqs == RBUF_SEND_CQS_MAX) {
        return problem_step(port, channel, "completion queues", -ENOMEM, problem);
    }
    size = FIRST_SEND_CQ << port->send_cqs;
    size = size < depth ? depth : size;
    size = size > port->max_cq ? port->max_cq : size;
    cq = &port->send_cq[port->send_cqs];
    errno = 0;
    cq->cq = ibv_create_cq(port->context, (int) size, NULL, NULL, 0);
    if (cq->cq == NULL) {
        return problem_step(port, channel, "ibv_create_cq", errno != 0 ? -errno : -ENOMEM, problem);
    }
    cq->size = size;
    cq->reserved = depth;
    port->send_cqs++;
    port->fab.room += size;
    *out = cq;
    return 0;
}

/* The steps of a queue pair to RTS; 0 or a negative errno. */
static int modify_to_init(struct ibv_qp *qp, const struct rbuf_port *port)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
                                     .pkey_index = port->pkey_index,
                                     .port_num = port->number,
                                     .qp_access_flags =
                                         IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};

    if (port->atomics) {
        attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
    }
    return -ibv_modify_qp(qp, &attributes,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

uint32_t rbuf_queue_depth(uint32_t open, uint32_t most)
{
    const uint32_t depth = FIRST_DEPTH / rbuf_parts_of(open);

    return depth < most ? depth : most;
}

static uint32_t most_requests(const struct rbuf_port *port)
{
    return port->max_depth < port->max_cq ? port->max_depth : port->max_cq;
}

/* What rbuf_queue_open() asks of its caller. */
static int check_caller(const struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t depth,
                        struct rbuf_problem *problem)
{
    const uint32_t most = most_requests(port);

    if (depth < 4 || depth > most) {
        problem_step(port, channel, "length of the send queue", -EINVAL, problem);
        rbuf_problem_value(problem, "%u requests", depth);
        rbuf_problem_remedy(problem, "4 to %u are allowed", most);
        return -EINVAL;
    }
    if (port->receive_plan[channel].bytes == 0) {
        return problem_step(port, channel, "opened before its receive queue", -EINVAL, problem);
    }
    return 0;
}

static struct rbuf_queue_pair *allocate(struct rbuf_port *port, enum rbuf_channel_id channel,
                                        uint32_t depth)
{
    struct rbuf_queue_pair *queue = calloc(1, sizeof(*queue));

    if (queue == NULL) {
        return NULL;
    }
    queue->port = port;
    queue->channel = channel;
    queue->state = RBUF_QUEUE_OPEN;
    queue->fab.port = &port->fab;
    queue->fab.depth = depth;
    queue->fab.marker = (struct rbuf_work){.queue = &queue->fab};
    if (getrandom(&queue->psn, sizeof(queue->psn), GRND_NONBLOCK) < 0) {
        queue->psn = (uint32_t) (uintptr_t) queue; /* early in boot; any number will do */
    }
    queue->psn &= PSN_MASK;
    return queue;
}

/* With the inline room that the port is known to have, and never less: what core and glue keep in
 * memory that is not registered relies on it. */
static int create(struct rbuf_queue_pair *queue, struct rbuf_problem *problem)
{
    struct rbuf_port *port = queue->port;
    const struct rbuf_receive *receive = queue->receive;
    struct ibv_qp_init_attr attributes = {
        .send_cq = queue->cq->cq,
        .recv_cq = port->receive_cq,
        .srq = receive->srq,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 0,
        .cap = {.max_send_wr = queue->fab.depth,
                .max_send_sge = port->pieces,
                .max_inline_data = rbuf_queue_inline(port, queue->channel)}};
    int error;

    if (receive->srq == NULL) {
        attributes.cap.max_recv_wr = receive->count;
        attributes.cap.max_recv_sge = 1;
    }

    errno = 0;
    queue->fab.qp = ibv_create_qp(port->pd, &attributes);
    if (queue->fab.qp != NULL) {
        queue->fab.inline_max = attributes.cap.max_inline_data;
        return 0;
    }
    error = errno != 0 ? -errno : -ENOMEM;
    problem_step(port, queue->channel, "ibv_create_qp", error, problem);
    if (error == -EINVAL) {
        rbuf_problem_remedy(problem,
                            "the adapter refuses %u requests of %u bytes inline%s; use shorter "
                            "send queues",
                            queue->fab.depth, rbuf_queue_inline(port, queue->channel),
                            receive->srq == NULL ? ", or so many receives" : "");
    }
    return error;
}

/* The queue pair in state INIT. None is left after an error. */
static int create_in_init(struct rbuf_queue_pair *queue, struct rbuf_problem *problem)
{
    int error = create(queue, problem);

    if (error != 0) {
        return error;
    }
    error = modify_to_init(queue->fab.qp, queue->port);
    if (error != 0) {
        problem_step(queue->port, queue->channel, "to INIT", error, problem);
        (void) ibv_destroy_qp(queue->fab.qp);
    }
    return error;
}

int rbuf_queue_open(struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t depth,
                    struct rbuf_fab_queue **out, struct rbuf_problem *problem)
{
    struct rbuf_queue_pair *queue;
    int error;

    if (depth == 0) {
        depth = rbuf_queue_depth(port->queue_count, most_requests(port));
    }
    error = check_caller(port, channel, depth, problem);
    if (error != 0) {
        return error;
    }
    queue = allocate(port, channel, depth);
    if (queue == NULL) {
        return problem_step(port, channel, "memory of its own", -ENOMEM, problem);
    }
    error = reserve_entries(port, channel, depth, &queue->cq, problem);
    if (error != 0) {
        goto free_queue;
    }
    error = rbuf_receive_join(port, channel, &queue->receive, problem);
    if (error != 0) {
        goto unreserve;
    }
    error = create_in_init(queue, problem);
    if (error != 0) {
        goto leave_receive;
    }
    error = rbuf_receive_start(queue->receive, &queue->fab, problem);
    if (error != 0) {
        goto destroy_qp;
    }
    TAILQ_INSERT_TAIL(&port->queues, queue, link);
    port->queue_count++;
    *out = &queue->fab;
    return 0;

destroy_qp:
    (void) ibv_destroy_qp(queue->fab.qp);
leave_receive:
    rbuf_receive_end(queue->receive);
    rbuf_receive_leave(port, queue->receive);
unreserve:
    queue->cq->reserved -= depth;
free_queue:
    free(queue);
    return error;
}

uint16_t rbuf_queue_window(const struct rbuf_fab_queue *queue)
{
    return ((const struct rbuf_queue_pair *) queue)->receive->window;
}

void rbuf_queue_address(const struct rbuf_fab_queue *queue, struct rbuf_queue_address *address)
{
    const struct ibv_qp *qp = queue->qp;

    *address = (struct rbuf_queue_address){.qpn = qp->qp_num,
                                           .psn = ((const struct rbuf_queue_pair *) queue)->psn};
}

static uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Ethernet is addressed by GID, and so is an InfiniBand port that has no LID. Others take a global
 * route header along if one of the two requires it, as ports of virtual functions do. */
static bool is_global(const struct rbuf_port *port, const struct rbuf_port_address *remote)
{
    return port->address.link_layer == RBUF_LINK_ETHERNET || remote->lid == 0 ||
           port->address.needs_grh != 0 || remote->needs_grh != 0;
}

static int modify_to_rtr(struct ibv_qp *qp, const struct rbuf_port *port,
                         const struct rbuf_port_address *remote,
                         const struct rbuf_queue_address *remote_queue)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR,
                                     .path_mtu =
                                         (enum ibv_mtu) lesser(port->address.mtu, remote->mtu),
                                     .dest_qp_num = remote_queue->qpn,
                                     .rq_psn = remote_queue->psn,
                                     .max_dest_rd_atomic = port->address.max_rd_atomic,
                                     .min_rnr_timer = (uint8_t) port->options.min_rnr_timer,
                                     .ah_attr = {.dlid = remote->lid,
                                                 .sl = (uint8_t) port->options.service_level,
                                                 .port_num = port->number}};

    if (is_global(port, remote)) {
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.sgid_index = (uint8_t) port->gid_index;
        attributes.ah_attr.grh.hop_limit = GRH_HOPS;
        attributes.ah_attr.grh.traffic_class = (uint8_t) port->options.traffic_class;
        memcpy(attributes.ah_attr.grh.dgid.raw, remote->gid, sizeof(remote->gid));
    }
    return -ibv_modify_qp(qp, &attributes,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int modify_to_rts(struct ibv_qp *qp, const struct rbuf_port *port,
                         const struct rbuf_port_address *remote, uint32_t psn)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS,
                                     .timeout = (uint8_t) port->options.timeout,
                                     .retry_cnt = (uint8_t) port->options.retry_count,
                                     .rnr_retry = (uint8_t) port->options.rnr_retry,
                                     .sq_psn = psn,
                                     .max_rd_atomic =
                                         lesser(port->max_rd_atomic, remote->max_rd_atomic)};

    return -ibv_modify_qp(qp, &attributes,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* On Ethernet the kernel asks for the peer's hardware address on the way to RTR, and nobody may
 * answer: the network of a link-local address is whatever its interface leads to, and a tap device
 * leads nowhere. */
static bool is_unanswered(const struct rbuf_port *port, int error)
{
    return port->address.link_layer == RBUF_LINK_ETHERNET &&
           (error == -ETIMEDOUT || error == -EHOSTUNREACH || error == -ENETUNREACH);
}

static int problem_unanswered(const struct rbuf_port *port, enum rbuf_channel_id channel,
                              const struct rbuf_port_address *remote, int error,
                              struct rbuf_problem *problem)
{
    char ours[RBUF_PORT_TRAIT_MAX];
    char theirs[RBUF_PORT_TRAIT_MAX];

    problem_step(port, channel, "to RTR", error, problem);
    rbuf_gid_text(port->address.gid, ours);
    rbuf_gid_text(remote->gid, theirs);
    rbuf_problem_value(problem, "no answer from %s to our GID %u, %s", theirs, port->gid_index,
                       ours);
    if (rbuf_gid_is_link_local(port->address.gid)) {
        rbuf_problem_remedy(
            problem,
            "a link-local GID may lead nowhere: give the interface of %s an IP address, "
            "or name other ports (btl_rbuf_if_exclude)",
            port->name);
    } else {
        rbuf_problem_remedy(problem, "check the network between the two addresses, or name another "
                                     "GID (btl_rbuf_gid_index)");
    }
    return error;
}

int rbuf_queue_loop_back(struct ibv_qp *qp, const struct rbuf_port *port)
{
    const struct rbuf_queue_address itself = {.qpn = qp->qp_num};
    int error = modify_to_init(qp, port);

    if (error == 0) {
        error = modify_to_rtr(qp, port, &port->address, &itself);
    }
    return error != 0 ? error : modify_to_rts(qp, port, &port->address, itself.psn);
}

int rbuf_queue_connect(struct rbuf_fab_queue *fab, struct rbuf_port *port,
                       const struct rbuf_port_address *remote,
                       const struct rbuf_queue_address *remote_queue, struct rbuf_problem *problem)
{
    struct rbuf_queue_pair *queue = queue_pair_of(fab);
    enum rbuf_reach reach = rbuf_address_reach(&port->address, remote);
    int error;

    if (reach != RBUF_REACHABLE) {
        rbuf_problem_set(problem, "unreachable", -ENETUNREACH, "%s", port->name);
        rbuf_problem_value(problem, "%s", rbuf_reach_text(reach));
        rbuf_problem_remedy(problem, "name the ports to use on every machine, or the GID index");
        return -ENETUNREACH;
    }
    error = modify_to_rtr(fab->qp, port, remote, remote_queue);
    if (is_unanswered(port, error)) {
        return problem_unanswered(port, queue->channel, remote, error, problem);
    }
    if (error != 0) {
        return problem_step(port, queue->channel, "to RTR", error, problem);
    }
    error = modify_to_rts(fab->qp, port, remote, queue->psn);
    if (error != 0) {
        return problem_step(port, queue->channel, "to RTS", error, problem);
    }
    queue->state = RBUF_QUEUE_CONNECTED;
    return 0;
}

bool rbuf_queue_in_order(const struct rbuf_fab_queue *fab, const struct rbuf_port *port)
{
    return port->subblock == RBUF_SUBBLOCK_ON &&
           (!port->in_order_queried || rbuf_in_order_ask(fab->qp));
}

void rbuf_queue_error(struct rbuf_fab_queue *fab)
{
    struct rbuf_queue_pair *queue = queue_pair_of(fab);
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};

    /* From now on a failure of this queue is news to nobody. */
    queue->failure_reported = true;
    queue->state = RBUF_QUEUE_FAILED;
    rbuf_receive_stop(queue->receive);
    (void) ibv_modify_qp(fab->qp, &attributes, IBV_QP_STATE);
}

void rbuf_queue_close(struct rbuf_fab_queue *fab)
{
    struct rbuf_queue_pair *queue = queue_pair_of(fab);

    if (fab == NULL) {
        return;
    }
    (void) ibv_destroy_qp(fab->qp);
    fab->qp = NULL;
    rbuf_receive_end(queue->receive);
    queue->state = RBUF_QUEUE_CLOSED;
    queue->closed_at = queue->port->receives_drained;
    queue->failure_reported = true;
    /* Completions of its unsignalled requests may still be queued, and name its marker; those of
     * its own receives name their buffers. */
    TAILQ_REMOVE(&queue->port->queues, queue, link);
    queue->port->queue_count--;
    TAILQ_INSERT_TAIL(&queue->port->closed, queue, link);
    if (fab->marker_busy) {
        rbuf_fab_lose_marker(fab);
    }
}

void rbuf_queue_free(struct rbuf_queue_pair *queue)
{
    queue->cq->reserved -= queue->fab.depth;
    TAILQ_REMOVE(&queue->port->closed, queue, link);
    rbuf_receive_leave(queue->port, queue->receive);
    free(queue);
}

struct rbuf_fab_queue *rbuf_queue_find(struct rbuf_port *port, uint32_t qp_num)
{
    struct rbuf_queue_pair *queue;

    TAILQ_FOREACH(queue, &port->queues, link)
    {
        const struct ibv_qp *qp = queue->fab.qp;

        if (qp->qp_num == qp_num) {
            return &queue->fab;
        }
    }
    return NULL;
}
