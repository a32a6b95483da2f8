/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receive queues and their buffers. A port's are of one kind (enum rbuf_receive_kind):
 *
 *     SHARED   a shared receive queue for each channel of the port, with as many buffers as the
 *              user says. All peers take from them; a sender that finds none posted tries again.
 *     OWN      on adapters without those: each queue pair has a receive queue of its own, with a
 *              buffer for each message of its peer's window and an eighth of them more, its slack.
 *              What takes a buffer is sent with a credit alone, so one is posted whenever it comes.
 *
 * A buffer is in exactly one place: posted; with the caller, from its completion until it is given
 * back; or recycled, which is given back and not posted yet. An own queue posts by itself as soon
 * as as many buffers as its slack are recycled. So there is always a posted buffer for each credit
 * that the peer may be told of.
 *
 * All receive queues of a port share one receive completion queue with an entry for every buffer,
 * so it cannot overflow. Shared ones are opened before the first queue pair of the port; with own
 * ones it grows as queue pairs are opened.
 *
 *     STOPPED -started-> OPEN -its queue pair is in error-> STOPPED -is destroyed-> CLOSED
 *     STOPPED: buffers come back and are not posted. CLOSED: the memory of the buffers is gone, and
 *     completions that are still polled are dropped. Shared ones are OPEN until they are freed.
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_VERBS_RECEIVE_H
#define RBUF_VERBS_RECEIVE_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/problem.h"
#include "core/base/wire.h"
#include "verbs/port.h"
#include "verbs/memory.h"

struct rbuf_receive;

struct rbuf_buffer {
    void *data;      /* 64-byte aligned */
    uint32_t bytes;  /* capacity */
    uint8_t channel; /* enum rbuf_channel_id */
    struct rbuf_receive *receive;
    struct ibv_recv_wr wr; /* prebuilt */
    struct ibv_sge sge;
};

enum rbuf_receive_state { RBUF_RECEIVE_STOPPED, RBUF_RECEIVE_OPEN, RBUF_RECEIVE_CLOSED };

struct rbuf_receive {
    struct rbuf_port *port;
    enum rbuf_channel_id channel;
    enum rbuf_receive_state state;
    uint16_t window;              /* messages that a peer may have under way */
    uint32_t count;               /* buffers */
    uint32_t batch;               /* posted as soon as so many are recycled */
    uint32_t bytes_each;          /* as asked for */
    struct ibv_srq *srq;          /* SHARED */
    struct rbuf_fab_queue *queue; /* OWN: whose it is, from rbuf_receive_start() on */
    struct rbuf_memory memory;
    struct rbuf_buffer *buffers;
    struct rbuf_buffer *recycled; /* linked through wr.next, wr.wr_id leads back */
    uint32_t recycled_count;
    TAILQ_ENTRY(rbuf_receive) unposted; /* on the port's list while OPEN with something recycled */
};

/* For own queues, pure: the window that a peer gets where the plan says `window`, on a port with so
 * many queue pairs open already, and the buffers for a window. */
uint16_t rbuf_receive_own_window(uint32_t open, uint16_t window);
uint32_t rbuf_receive_own_count(uint16_t window);

/* What the channel's queue pairs, which are opened afterwards, receive into. SHARED: the receive
 * queue is made and its buffers are posted; OWN: only the completion queue is made. Topics:
 * "receive-queue", "memlock", "reg-failed". */
int rbuf_receive_open(struct rbuf_port *port, enum rbuf_channel_id channel,
                      const struct rbuf_receive_plan *plan, struct rbuf_problem *problem);

/* All queue pairs of the port are closed. A channel that was not opened is left alone. */
void rbuf_receive_close(struct rbuf_port *port, enum rbuf_channel_id channel);

/*
 * For queue pairs. The receive queue for a new one of the channel: SHARED that of all, OWN a new
 * one, of which nothing is posted before the queue pair is made and started with. Topics as above.
 */
int rbuf_receive_join(struct rbuf_port *port, enum rbuf_channel_id channel,
                      struct rbuf_receive **out, struct rbuf_problem *problem);
int rbuf_receive_start(struct rbuf_receive *receive, struct rbuf_fab_queue *queue,
                       struct rbuf_problem *problem);

/* The queue pair is in error, is destroyed; no completion that names it is left to be polled. They
 * do nothing to shared ones, which may be gone before the last of these. */
void rbuf_receive_stop(struct rbuf_receive *receive);
void rbuf_receive_end(struct rbuf_receive *receive);
void rbuf_receive_leave(struct rbuf_port *port, struct rbuf_receive *receive);

/* Gives a buffer back, to be posted with others. */
void rbuf_receive_recycle(struct rbuf_buffer *buffer);

/* Posts the recycled buffers as one list with one doorbell; costs little when there are none. 0 or
 * a negative errno; buffers that the adapter did not take stay recycled. */
int rbuf_receive_post(struct rbuf_receive *receive);

/* The same for all receive queues of the port. Returns one that has no posted buffer at all since
 * the adapter took none: senders to it would try for ever. NULL: there is no such queue. */
const struct rbuf_receive *rbuf_receive_post_all(struct rbuf_port *port);

#endif
