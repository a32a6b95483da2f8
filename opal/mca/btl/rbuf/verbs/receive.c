/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See receive.h. */
#include "verbs/receive.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/device.h"

#define BUFFER_ALIGNMENT 64u /* bytes, a cache line */

static const char *channel_name(enum rbuf_channel_id channel)
{
    return channel == RBUF_CONTROL ? "control" : "bulk";
}

static int problem_step(const struct rbuf_receive *receive, const char *step, int error,
                        struct rbuf_problem *problem)
{
    rbuf_problem_set(problem, "receive-queue", error, "%s, %s channel, %s", receive->port->name,
                     channel_name(receive->channel), step);
    rbuf_problem_errno(problem, error);
    rbuf_problem_remedy(problem, "use fewer receive buffers");
    return error;
}

/* Makes the receive completion queue anew with room for `count` more. It is not in use yet: no
 * queue pair is there. (Resizing would do too, but not every adapter can.) */
static int enlarge_completion_queue(struct rbuf_receive *receive, uint32_t count,
                                    struct rbuf_problem *problem)
{
    struct rbuf_port *port = receive->port;
    struct ibv_cq *larger;

    if (!TAILQ_EMPTY(&port->queues)) {
        return problem_step(receive, "opened after the first queue pair", -EBUSY, problem);
    }
    errno = 0;
    larger = ibv_create_cq(port->context, (int) (port->receive_entries + count), NULL, NULL, 0);
    if (larger == NULL) {
        return problem_step(receive, "ibv_create_cq", errno != 0 ? -errno : -ENOMEM, problem);
    }
    if (port->receive_cq != NULL) {
        (void) ibv_destroy_cq(port->receive_cq);
    }
    port->receive_cq = larger;
    port->receive_entries += count;
    return 0;
}

static int check_limits(const struct rbuf_receive *receive, struct rbuf_problem *problem)
{
    const struct rbuf_port *port = receive->port;
    uint64_t entries = (uint64_t) port->receive_entries + receive->count;

    if (port->max_srq == 0) {
        problem_step(receive, "shared receive queue", -ENOTSUP, problem);
        rbuf_problem_value(problem, "the adapter has no shared receive queues");
        rbuf_problem_remedy(problem, "use an adapter that has, or another transport");
        return -ENOTSUP;
    }
    if (receive->count == 0 || receive->count > port->max_srq || entries > port->max_cq) {
        rbuf_problem_set(problem, "receive-queue", -EINVAL, "%s, %s channel", port->name,
                         channel_name(receive->channel));
        rbuf_problem_value(problem,
                           "%u buffers wanted; the adapter takes %u in one receive queue and %u in "
                           "all of a port",
                           receive->count, port->max_srq, port->max_cq);
        rbuf_problem_remedy(problem, "use fewer receive buffers");
        return -EINVAL;
    }
    return 0;
}

/* Lays the buffers out and recycles them all, to be posted. */
static void prepare_buffers(struct rbuf_receive *receive, uint32_t stride)
{
    for (uint32_t i = receive->count; i-- > 0;) {
        struct rbuf_buffer *buffer = &receive->buffers[i];

        buffer->data = (unsigned char *) receive->memory.base + (size_t) i * stride;
        buffer->bytes = receive->bytes_each;
        buffer->channel = (uint8_t) receive->channel;
        buffer->state = RBUF_BUFFER_TAKEN;
        buffer->receive = receive;
        buffer->sge = (struct ibv_sge){.addr = (uintptr_t) buffer->data,
                                       .length = buffer->bytes,
                                       .lkey = receive->memory.mr->lkey};
        buffer->wr = (struct ibv_recv_wr){
            .wr_id = (uintptr_t) buffer, .sg_list = &buffer->sge, .num_sge = 1};
        rbuf_receive_recycle(buffer);
    }
}

int rbuf_receive_open(struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t count,
                      uint32_t bytes_each, struct rbuf_receive **out, struct rbuf_problem *problem)
{
    uint32_t stride = (bytes_each + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    struct ibv_srq_init_attr attributes = {.attr = {.max_wr = count, .max_sge = 1}};
    struct rbuf_receive *receive = calloc(1, sizeof(*receive));
    struct rbuf_receive local = {
        .port = port, .channel = channel, .count = count, .bytes_each = bytes_each};
    int error = check_limits(&local, problem);

    if (error != 0) {
        goto free_receive;
    }
    error = -ENOMEM;
    local.buffers = calloc(count, sizeof(*local.buffers));
    if (receive == NULL || local.buffers == NULL) {
        problem_step(&local, "memory of its own", error, problem);
        goto free_receive;
    }
    *receive = local;
    error = rbuf_memory_allocate(port, (size_t) count * stride, 0, &receive->memory, problem);
    if (error != 0) {
        goto free_receive;
    }
    errno = 0;
    receive->srq = ibv_create_srq(port->pd, &attributes);
    if (receive->srq == NULL) {
        error = problem_step(receive, "ibv_create_srq", errno != 0 ? -errno : -ENOMEM, problem);
        goto free_memory;
    }
    error = enlarge_completion_queue(receive, count, problem);
    if (error != 0) {
        goto destroy_srq;
    }
    port->receive[channel] = receive;
    prepare_buffers(receive, stride);
    error = rbuf_receive_post(receive);
    if (error != 0) {
        problem_step(receive, "ibv_post_srq_recv", error, problem);
        rbuf_receive_close(receive);
        return error;
    }
    *out = receive;
    return 0;

destroy_srq:
    (void) ibv_destroy_srq(receive->srq);
free_memory:
    rbuf_memory_free(&receive->memory);
free_receive:
    free(local.buffers);
    free(receive);
    return error;
}

void rbuf_receive_close(struct rbuf_receive *receive)
{
    struct rbuf_port *port = receive->port;

    port->receive[receive->channel] = NULL;
    port->receive_entries -= receive->count;
    (void) ibv_destroy_srq(receive->srq);
    if (port->receive_entries == 0) {
        (void) ibv_destroy_cq(port->receive_cq);
        port->receive_cq = NULL;
    }
    rbuf_memory_free(&receive->memory);
    free(receive->buffers);
    free(receive);
}

void rbuf_receive_recycle(struct rbuf_buffer *buffer)
{
    struct rbuf_receive *receive = buffer->receive;

    buffer->state = RBUF_BUFFER_RECYCLED;
    buffer->wr.next = receive->recycled != NULL ? &receive->recycled->wr : NULL;
    receive->recycled = buffer;
    receive->recycled_count++;
}

int rbuf_receive_post(struct rbuf_receive *receive)
{
    struct ibv_recv_wr *request;
    struct ibv_recv_wr *bad = NULL;
    int error;

    if (receive->recycled == NULL) {
        return 0;
    }
    error = ibv_post_srq_recv(receive->srq, &receive->recycled->wr, &bad);
    request = &receive->recycled->wr;
    /* What precedes the bad one was taken. Without an error all were, and bad means nothing. */
    while (request != NULL && (error == 0 || request != bad)) {
        ((struct rbuf_buffer *) (uintptr_t) request->wr_id)->state = RBUF_BUFFER_POSTED;
        receive->recycled_count--;
        request = request->next;
    }
    receive->recycled = request != NULL ? (struct rbuf_buffer *) (uintptr_t) request->wr_id : NULL;
    return error > 0 ? -error : error;
}

int rbuf_receive_repost(struct rbuf_buffer *buffer)
{
    rbuf_receive_recycle(buffer);
    return rbuf_receive_post(buffer->receive);
}
