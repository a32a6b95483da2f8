/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reliable connected queue pairs: made, connected, put into error, closed.
 *
 * Each reserves its depth in a send completion queue of the port, so that even a flush of every
 * queue pair at once fits. It receives into the shared receive queue of its channel, or one of its
 * own (receive.h).
 *
 * Taking one down: rbuf_queue_error() makes everything posted come back; poll until the works are
 * back and the port's receives_drained has moved, then rbuf_queue_close(): adapters drop receive
 * completions of a queue pair that is destroyed, and their buffers would be lost to the shared
 * receive queue. Completions of unsignalled requests that are still in the completion queue then
 * are dropped by rbuf_poll().
 *
 *     OPEN -connect-> CONNECTED
 *     OPEN, CONNECTED -error, or a completion with one-> FAILED -close-> CLOSED
 *     CLOSED: destroyed, with its own receive buffers; freed when its completions are polled off
 *
 * Threads: the caller holds the module's lock.
 */
#ifndef RBUF_VERBS_QUEUE_PAIR_H
#define RBUF_VERBS_QUEUE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/problem.h"
#include "core/base/wire.h"
#include "verbs/port.h"
#include "verbs/fabric.h"

/* Bytes that are to travel inside a request. Every request of a send queue has room for them: what
 * small messages gain is not spent on the bulk channel, where only small puts use it. */
#define RBUF_QUEUE_INLINE_ASKED 512u
#define RBUF_QUEUE_INLINE_BULK  256u

/* What queue pairs of the channel get on the port, bytes. */
static inline uint32_t rbuf_queue_inline(const struct rbuf_port *port, enum rbuf_channel_id channel)
{
    return channel == RBUF_BULK && port->max_inline > RBUF_QUEUE_INLINE_BULK
               ? RBUF_QUEUE_INLINE_BULK
               : port->max_inline;
}

enum rbuf_queue_state {
    RBUF_QUEUE_OPEN,
    RBUF_QUEUE_CONNECTED,
    RBUF_QUEUE_FAILED,
    RBUF_QUEUE_CLOSED
};

struct rbuf_queue_pair {
    struct rbuf_fab_queue fab; /* first: the one converts into the other */
    struct rbuf_port *port;
    enum rbuf_channel_id channel;
    enum rbuf_queue_state state;
    bool failure_reported; /* of an unsignalled request */
    uint32_t psn;
    uint32_t closed_at; /* the port's receives_drained of then */
    struct rbuf_send_cq *cq;
    struct rbuf_receive *receive;
    TAILQ_ENTRY(rbuf_queue_pair) link;
};

/* Requests that a send queue has room for where the user has not said, on a port with so many queue
 * pairs open already and an adapter that takes at most `most`. Pure. */
uint32_t rbuf_queue_depth(uint32_t open, uint32_t most);

/* A queue pair in state INIT with room for `depth` requests; 0: as many as rbuf_queue_depth() says.
 * Topics "queue-pair", and those of its own receive queue. */
int rbuf_queue_open(struct rbuf_port *port, enum rbuf_channel_id channel, uint32_t depth,
                    struct rbuf_fab_queue **out, struct rbuf_problem *problem);

/* Messages that the peer may have under way to it. */
uint16_t rbuf_queue_window(const struct rbuf_fab_queue *queue);

/* What to send to the other side. */
void rbuf_queue_address(const struct rbuf_fab_queue *queue, struct rbuf_queue_address *address);

/* INIT to RTR to RTS. Topics "queue-pair", "unreachable". */
int rbuf_queue_connect(struct rbuf_fab_queue *queue, struct rbuf_port *port,
                       const struct rbuf_port_address *remote,
                       const struct rbuf_queue_address *remote_queue, struct rbuf_problem *problem);

/* Of a queue pair that is connected: whether the bytes of a write into this side appear in
 * ascending order. The port says what to expect (in_order.h); an adapter that was asked answers for
 * one queue pair at a time, as it depends on the path. */
bool rbuf_queue_in_order(const struct rbuf_fab_queue *queue, const struct rbuf_port *port);

/* Brings a queue pair in RESET to RTS, connected to itself. 0 or a negative errno. */
int rbuf_queue_loop_back(struct ibv_qp *qp, const struct rbuf_port *port);

/* Moves the queue pair to ERR: all that is posted comes back with an error. May be repeated. */
void rbuf_queue_error(struct rbuf_fab_queue *queue);

/* Destroys it. NULL is left alone. None of its own receive buffers is with the caller. */
void rbuf_queue_close(struct rbuf_fab_queue *queue);

/* For the port's own files: frees one that is CLOSED, and gives back what it had reserved. */
void rbuf_queue_free(struct rbuf_queue_pair *queue);

/* The open queue pair of that number, or NULL; a linear search, for error paths. */
struct rbuf_fab_queue *rbuf_queue_find(struct rbuf_port *port, uint32_t qp_num);

#endif
