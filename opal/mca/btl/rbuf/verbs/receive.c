/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Creates receive queues, owns their buffers and posts them in lists (receive.h). */
#include "verbs/receive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define BUFFER_ALIGNMENT 64u   /* bytes, a cache line */
#define OWN_ENTRIES      8192u /* of the completion queue of own receive queues, to begin with */
#define OWN_SLACK        8u    /* part of the window that an own queue has buffers for besides */
#define OWN_LEAST        4u    /* of a window, if the plan has so many */

static const char *remedy(const struct rbuf_port *port)
{
    return port->receive_kind == RBUF_RECEIVE_SHARED
               ? "use fewer receive buffers"
               : "the adapter has no shared receive queues, so each queue pair has buffers of its "
                 "own, one for each credit of its peer: give fewer credits";
}

static int problem_step(const struct rbuf_port *port, enum rbuf_channel_id channel,
                        const char *step, int error, struct rbuf_problem *problem)
{
    rbuf_problem_set(problem, "receive-queue", error, "%s, %s channel, %s", port->name,
                     rbuf_channel_name(channel), step);
    rbuf_problem_errno(problem, error);
    rbuf_problem_remedy(problem, "%s", remedy(port));
    return error;
}

static uint32_t own_slack(uint16_t window)
{
    return window < OWN_SLACK ? 1 : window / OWN_SLACK;
}

uint16_t rbuf_receive_own_window(uint32_t open, uint16_t window)
{
    const uint16_t part = (uint16_t) (window / rbuf_parts_of(open));
    const uint16_t least = window < OWN_LEAST ? window : OWN_LEAST;

    return part > least ? part : least;
}

uint32_t rbuf_receive_own_count(uint16_t window)
{
    return window + own_slack(window);
}

/* ---- the receive completion queue ---- */

static int create_completion_queue(struct rbuf_port *port, enum rbuf_channel_id channel,
                                   uint32_t size, struct rbuf_problem *problem)
{
    struct ibv_cq *made;

    errno = 0;
    made = ibv_create_cq(port->context, (int) size, NULL, NULL, 0);
    if (made == NULL) {
        return problem_step(port, channel, "ibv_create_cq", errno != 0 ? -errno : -ENOMEM, problem);
    }
    if (port->receive_cq != NULL) {
        (void) ibv_destroy_cq(port->receive_cq);
    }
    port->receive_cq = made;
    port->receive_cq_size = size;
    return 0;
}

/* Makes it anew with room for `count` more. It is not in use yet: no queue pair is there. (Resizing
 * would do too, but not every adapter can.) */
static int enlarge_unused(struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t count,
                          struct rbuf_problem *problem)
{
    int error;

    if (!TAILQ_EMPTY(&port->queues)) {
        return problem_step(port, channel, "opened after the first queue pair", -EBUSY, problem);
    }
    error = create_completion_queue(port, channel, port->receive_entries + count, problem);
    if (error == 0) {
        port->receive_entries += count;
    }
    return error;
}

static int problem_entries(const struct rbuf_port *port, enum rbuf_channel_id channel,
                           uint32_t count, int error, struct rbuf_problem *problem)
{
    problem_step(port, channel, "ibv_resize_cq", error, problem);
    rbuf_problem_value(problem,
                       "%u receives of %u queue pairs and %u more; the completion queue has %u "
                       "entries, the adapter takes %u",
                       port->receive_entries, port->queue_count, count, port->receive_cq_size,
                       port->max_cq);
    return error;
}

/* Reserves `count` entries of the one that queue pairs use already, which doubles if need be. */
static int reserve_entries(struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t count,
                           struct rbuf_problem *problem)
{
    const uint64_t wanted = (uint64_t) port->receive_entries + count;
    uint64_t size = port->receive_cq_size;
    int error = 0;

    while (size < wanted) {
        size *= 2;
    }
    size = size < port->max_cq ? size : port->max_cq;
    if (wanted > size) {
        return problem_entries(port, channel, count, -ENOSPC, problem);
    }
    if (size != port->receive_cq_size) {
        error = -abs(ibv_resize_cq(port->receive_cq, (int) size));
    }
    if (error != 0) {
        return problem_entries(port, channel, count, error, problem);
    }
    port->receive_cq_size = (uint32_t) size;
    port->receive_entries += count;
    return 0;
}

/* ---- queues of either kind ---- */

/* Lays the buffers out and recycles them all, to be posted. */
static void prepare_buffers(struct rbuf_receive *receive, uint32_t stride)
{
    for (uint32_t i = receive->count; i-- > 0;) {
        struct rbuf_buffer *buffer = &receive->buffers[i];

        buffer->data = (unsigned char *) receive->memory.base + (size_t) i * stride;
        buffer->bytes = receive->bytes_each;
        buffer->channel = (uint8_t) receive->channel;
        buffer->receive = receive;
        buffer->sge = (struct ibv_sge){.addr = (uintptr_t) buffer->data,
                                       .length = buffer->bytes,
                                       .lkey = receive->memory.mr->lkey};
        buffer->wr = (struct ibv_recv_wr){
            .wr_id = (uintptr_t) buffer, .sg_list = &buffer->sge, .num_sge = 1};
        rbuf_receive_recycle(buffer);
    }
}

/* Own ones are many, and their memory is worth no huge pages. */
static int allocate(struct rbuf_port *port, size_t bytes, struct rbuf_memory *memory,
                    struct rbuf_problem *problem)
{
    return port->receive_kind == RBUF_RECEIVE_OWN
               ? rbuf_memory_allocate_small(port, bytes, 0, memory, problem)
               : rbuf_memory_allocate(port, bytes, 0, memory, problem);
}

/* One with its buffers, STOPPED. */
static int make(struct rbuf_port *port, enum rbuf_channel_id channel, uint16_t window,
                struct rbuf_receive **out, struct rbuf_problem *problem)
{
    const bool own = port->receive_kind == RBUF_RECEIVE_OWN;
    const struct rbuf_receive_plan *plan = &port->receive_plan[channel];
    const uint32_t count = own ? rbuf_receive_own_count(window) : plan->shared;
    const uint32_t stride =
        (plan->bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    struct rbuf_receive *receive = calloc(1, sizeof(*receive));
    struct rbuf_buffer *buffers = calloc(count, sizeof(*buffers));
    int error = -ENOMEM;

    if (receive == NULL || buffers == NULL) {
        problem_step(port, channel, "memory of its own", error, problem);
        goto free_receive;
    }
    *receive = (struct rbuf_receive){.port = port,
                                     .channel = channel,
                                     .state = RBUF_RECEIVE_STOPPED,
                                     .window = window,
                                     .count = count,
                                     .batch = own ? own_slack(window) : UINT32_MAX,
                                     .bytes_each = plan->bytes,
                                     .buffers = buffers};
    error = allocate(port, (size_t) count * stride, &receive->memory, problem);
    if (error != 0) {
        goto free_receive;
    }
    prepare_buffers(receive, stride);
    *out = receive;
    return 0;

free_receive:
    free(buffers);
    free(receive);
    return error;
}

static void unmake(struct rbuf_receive *receive)
{
    rbuf_memory_free(&receive->memory);
    free(receive->buffers);
    free(receive);
}

/* STOPPED to OPEN: posts all that there is. */
static int open_posting(struct rbuf_receive *receive, struct rbuf_problem *problem)
{
    int error;

    receive->state = RBUF_RECEIVE_OPEN;
    TAILQ_INSERT_TAIL(&receive->port->unposted, receive, unposted);
    error = rbuf_receive_post(receive);
    if (error != 0) {
        problem_step(receive->port, receive->channel,
                     receive->srq != NULL ? "ibv_post_srq_recv" : "ibv_post_recv", error, problem);
    }
    return error;
}

/* OPEN to STOPPED. */
static void stop(struct rbuf_receive *receive)
{
    if (receive->state == RBUF_RECEIVE_OPEN) {
        receive->state = RBUF_RECEIVE_STOPPED;
        if (receive->recycled != NULL) {
            TAILQ_REMOVE(&receive->port->unposted, receive, unposted);
        }
    }
}

/* ---- shared ones ---- */

static void close_shared(struct rbuf_receive *receive)
{
    struct rbuf_port *port = receive->port;

    stop(receive);
    port->receive[receive->channel] = NULL;
    port->receive_entries -= receive->count;
    (void) ibv_destroy_srq(receive->srq);
    unmake(receive);
}

static int open_shared(struct rbuf_port *port, enum rbuf_channel_id channel,
                       struct rbuf_problem *problem)
{
    const struct rbuf_receive_plan *plan = &port->receive_plan[channel];
    struct ibv_srq_init_attr attributes = {.attr = {.max_wr = plan->shared, .max_sge = 1}};
    struct rbuf_receive *receive;
    int error = make(port, channel, plan->window, &receive, problem);

    if (error != 0) {
        return error;
    }
    errno = 0;
    receive->srq = ibv_create_srq(port->pd, &attributes);
    if (receive->srq == NULL) {
        error =
            problem_step(port, channel, "ibv_create_srq", errno != 0 ? -errno : -ENOMEM, problem);
        goto unmake_receive;
    }
    error = enlarge_unused(port, channel, receive->count, problem);
    if (error != 0) {
        goto destroy_srq;
    }
    port->receive[channel] = receive;
    error = open_posting(receive, problem);
    if (error != 0) {
        close_shared(receive);
    }
    return error;

destroy_srq:
    (void) ibv_destroy_srq(receive->srq);
unmake_receive:
    unmake(receive);
    return error;
}

/* ---- for the port ---- */

static int check_plan(const struct rbuf_port *port, enum rbuf_channel_id channel,
                      const struct rbuf_receive_plan *plan, struct rbuf_problem *problem)
{
    const bool own = port->receive_kind == RBUF_RECEIVE_OWN;
    const uint32_t count = own ? rbuf_receive_own_count(plan->window) : plan->shared;
    const uint32_t most = own ? port->max_depth : port->max_srq;
    const uint64_t entries = (own ? 0 : (uint64_t) port->receive_entries) + count;

    if (count == 0 || count > most || entries > port->max_cq) {
        problem_step(port, channel, "its length", -EINVAL, problem);
        rbuf_problem_value(problem,
                           "%u buffers wanted; the adapter takes %u in one receive queue and %u in "
                           "all of a port",
                           count, most, port->max_cq);
        return -EINVAL;
    }
    return 0;
}

int rbuf_receive_open(struct rbuf_port *port, enum rbuf_channel_id channel,
                      const struct rbuf_receive_plan *plan, struct rbuf_problem *problem)
{
    int error = check_plan(port, channel, plan, problem);

    if (error != 0) {
        return error;
    }
    port->receive_plan[channel] = *plan;
    if (port->receive_kind == RBUF_RECEIVE_SHARED) {
        error = open_shared(port, channel, problem);
    } else if (port->receive_cq == NULL) {
        error = create_completion_queue(
            port, channel, OWN_ENTRIES < port->max_cq ? OWN_ENTRIES : port->max_cq, problem);
    }
    if (error != 0) {
        port->receive_plan[channel] = (struct rbuf_receive_plan){0};
    }
    return error;
}

void rbuf_receive_close(struct rbuf_port *port, enum rbuf_channel_id channel)
{
    bool open = false;

    if (port->receive[channel] != NULL) {
        close_shared(port->receive[channel]);
    }
    port->receive_plan[channel] = (struct rbuf_receive_plan){0};
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        open = open || port->receive_plan[i].bytes != 0;
    }
    if (!open && port->receive_cq != NULL) {
        (void) ibv_destroy_cq(port->receive_cq);
        port->receive_cq = NULL;
        port->receive_cq_size = 0;
    }
}

/* ---- for queue pairs ---- */

int rbuf_receive_join(struct rbuf_port *port, enum rbuf_channel_id channel,
                      struct rbuf_receive **out, struct rbuf_problem *problem)
{
    const uint16_t window =
        rbuf_receive_own_window(port->queue_count, port->receive_plan[channel].window);
    const uint32_t count = rbuf_receive_own_count(window);
    int error;

    if (port->receive_kind == RBUF_RECEIVE_SHARED) {
        *out = port->receive[channel];
        return 0;
    }
    error = reserve_entries(port, channel, count, problem);
    if (error != 0) {
        return error;
    }
    error = make(port, channel, window, out, problem);
    if (error != 0) {
        port->receive_entries -= count;
    }
    return error;
}

int rbuf_receive_start(struct rbuf_receive *receive, struct rbuf_fab_queue *queue,
                       struct rbuf_problem *problem)
{
    if (receive->port->receive_kind == RBUF_RECEIVE_SHARED) {
        return 0;
    }
    receive->queue = queue;
    return open_posting(receive, problem);
}

void rbuf_receive_stop(struct rbuf_receive *receive)
{
    if (receive->port->receive_kind == RBUF_RECEIVE_OWN) {
        stop(receive);
    }
}

void rbuf_receive_end(struct rbuf_receive *receive)
{
    if (receive->port->receive_kind == RBUF_RECEIVE_OWN) {
        stop(receive);
        receive->state = RBUF_RECEIVE_CLOSED;
        rbuf_memory_free(&receive->memory);
    }
}

void rbuf_receive_leave(struct rbuf_port *port, struct rbuf_receive *receive)
{
    if (port->receive_kind == RBUF_RECEIVE_OWN) {
        port->receive_entries -= receive->count;
        unmake(receive);
    }
}

/* ---- buffers ---- */

void rbuf_receive_recycle(struct rbuf_buffer *buffer)
{
    struct rbuf_receive *receive = buffer->receive;

    if (receive->recycled == NULL && receive->state == RBUF_RECEIVE_OPEN) {
        TAILQ_INSERT_TAIL(&receive->port->unposted, receive, unposted);
    }
    buffer->wr.next = receive->recycled != NULL ? &receive->recycled->wr : NULL;
    receive->recycled = buffer;
    receive->recycled_count++;
    if (receive->recycled_count >= receive->batch) {
        (void) rbuf_receive_post(receive); /* what is refused stays for rbuf_receive_post_all() */
    }
}

static int post_list(struct rbuf_receive *receive, struct ibv_recv_wr *first,
                     struct ibv_recv_wr **bad)
{
    return receive->srq != NULL ? ibv_post_srq_recv(receive->srq, first, bad)
                                : ibv_post_recv(receive->queue->qp, first, bad);
}

int rbuf_receive_post(struct rbuf_receive *receive)
{
    struct ibv_recv_wr *request;
    struct ibv_recv_wr *bad = NULL;
    int error;

    if (receive->recycled == NULL || receive->state != RBUF_RECEIVE_OPEN) {
        return 0;
    }
    error = post_list(receive, &receive->recycled->wr, &bad);
    request = &receive->recycled->wr;
    /* What precedes the bad one was taken. Without an error all were, and bad means nothing. */
    while (request != NULL && (error == 0 || request != bad)) {
        receive->recycled_count--;
        request = request->next;
    }
    receive->recycled = request != NULL ? (struct rbuf_buffer *) (uintptr_t) request->wr_id : NULL;
    if (receive->recycled == NULL) {
        TAILQ_REMOVE(&receive->port->unposted, receive, unposted);
    }
    return error > 0 ? -error : error;
}

const struct rbuf_receive *rbuf_receive_post_all(struct rbuf_port *port)
{
    struct rbuf_receive *receive = TAILQ_FIRST(&port->unposted);
    const struct rbuf_receive *dry = NULL;

    while (receive != NULL) {
        struct rbuf_receive *next = TAILQ_NEXT(receive, unposted);

        if (rbuf_receive_post(receive) != 0 && receive->recycled_count == receive->count) {
            dry = receive;
        }
        receive = next;
    }
    return dry;
}
