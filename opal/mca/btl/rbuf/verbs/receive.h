/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Shared receive queues and their buffers, one for each channel of a port.
 *
 *     POSTED -its completion is polled-> TAKEN -given back-> RECYCLED -post-> POSTED
 *
 * A buffer is in exactly one place: posted, with the caller (from its completion until it is given
 * back), or recycled (given back, not posted yet). All receive queues of a port share one receive
 * completion queue with an entry for every buffer, so it cannot overflow. Receive queues are opened
 * before the first queue pair of the port.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_VERBS_RECEIVE_H
#define RBUF_VERBS_RECEIVE_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "common/problem.h"
#include "core/wire.h"
#include "verbs/memory.h"

struct rbuf_port;
struct rbuf_receive;

enum rbuf_buffer_state { RBUF_BUFFER_POSTED, RBUF_BUFFER_TAKEN, RBUF_BUFFER_RECYCLED };

struct rbuf_buffer {
    void *data;      /* 64-byte aligned */
    uint32_t bytes;  /* capacity */
    uint8_t channel; /* enum rbuf_channel_id */
    enum rbuf_buffer_state state;
    struct rbuf_receive *receive;
    struct ibv_recv_wr wr; /* prebuilt */
    struct ibv_sge sge;
};

struct rbuf_receive {
    struct rbuf_port *port;
    enum rbuf_channel_id channel;
    uint32_t count;      /* buffers */
    uint32_t bytes_each; /* as asked for */
    struct ibv_srq *srq;
    struct rbuf_memory memory;
    struct rbuf_buffer *buffers;
    struct rbuf_buffer *recycled; /* linked through wr.next, wr.wr_id leads back */
    uint32_t recycled_count;
};

/* Makes the receive queue of `channel` and posts `count` buffers of `bytes_each` bytes. Topics:
 * "receive-queue", "memlock", "reg-failed". */
int rbuf_receive_open(struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t count,
                      uint32_t bytes_each, struct rbuf_receive **out, struct rbuf_problem *problem);

/* All queue pairs of the port are closed. */
void rbuf_receive_close(struct rbuf_receive *receive);

/* Gives a buffer back and posts it, with those recycled before it. 0 or a negative errno; then the
 * buffers stay recycled. */
int rbuf_receive_repost(struct rbuf_buffer *buffer);

/* Gives a buffer back without posting it. */
void rbuf_receive_recycle(struct rbuf_buffer *buffer);

/* Posts what is recycled as one list with one doorbell; cheap when there is none. 0 or a negative
 * errno; then what was not taken stays recycled. */
int rbuf_receive_post(struct rbuf_receive *receive);

#endif
