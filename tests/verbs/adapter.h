/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * An adapter to test on: an opened port with its receive queues, and queue pairs that are connected
 * to each other in one process.
 */
#ifndef RBUF_TEST_ADAPTER_H
#define RBUF_TEST_ADAPTER_H

#include "unit.h"

#include <time.h>

#include "verbs/completion.h"
#include "verbs/device.h"
#include "verbs/memory.h"
#include "verbs/queue_pair.h"
#include "verbs/receive.h"

#define ADAPTER_NONE     77 /* exit status of a test without one: skipped */
#define ADAPTER_BUFFERS  32u
#define ADAPTER_BYTES    4096u
#define ADAPTER_PATIENCE 20 /* s */
#define ADAPTER_ACCESS   (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct adapter {
    struct rbuf_port **ports;
    size_t count;
    struct rbuf_port *port; /* the first */
};

/* Two queue pairs of one channel, each the other's peer. */
struct adapter_pair {
    struct rbuf_fab_queue *a;
    struct rbuf_fab_queue *b;
};

/* Short time-outs: a dead peer is noticed in a second or so. */
static inline struct rbuf_device_options adapter_options(void)
{
    return (struct rbuf_device_options){.gid_index = RBUF_GID_AUTOMATIC,
                                        .timeout = 14,
                                        .retry_count = 3,
                                        .rnr_retry = 7,
                                        .min_rnr_timer = 12};
}

/* Whether there is one; says why not. */
static inline bool adapter_there(void)
{
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;
    struct rbuf_port **ports;
    size_t count;

    if (rbuf_ports_open(&options, &ports, &count, &problem) != 0) {
        printf("skipped: %s: %s: %s\n", problem.topic, problem.what, problem.value);
        return false;
    }
    rbuf_ports_close(ports, count);
    return true;
}

/* Of a call that must not fail. */
static inline void adapter_ok(int error, const struct rbuf_problem *problem)
{
    ck_assert_msg(error == 0, "%s: %s: %s (%s)", problem->topic, problem->what, problem->value,
                  problem->remedy);
}

static inline void adapter_open(struct adapter *adapter)
{
    const struct rbuf_receive_plan plan = {
        .shared = ADAPTER_BUFFERS, .window = ADAPTER_BUFFERS, .bytes = ADAPTER_BYTES};
    struct rbuf_device_options options = adapter_options();
    struct rbuf_problem problem;

    adapter_ok(rbuf_ports_open(&options, &adapter->ports, &adapter->count, &problem), &problem);
    adapter->port = adapter->ports[0];
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        adapter_ok(rbuf_receive_open(adapter->port, (enum rbuf_channel_id) i, &plan, &problem),
                   &problem);
    }
}

static inline void adapter_close(struct adapter *adapter)
{
    for (int i = 0; i < RBUF_CHANNELS; i++) {
        rbuf_receive_close(adapter->port, (enum rbuf_channel_id) i);
    }
    rbuf_ports_close(adapter->ports, adapter->count);
}

static inline struct adapter_pair adapter_connect(struct adapter *adapter,
                                                  enum rbuf_channel_id channel, uint32_t depth)
{
    struct rbuf_port *port = adapter->port;
    struct rbuf_queue_address address;
    struct rbuf_problem problem;
    struct adapter_pair pair;

    adapter_ok(rbuf_queue_open(port, channel, depth, &pair.a, &problem), &problem);
    adapter_ok(rbuf_queue_open(port, channel, depth, &pair.b, &problem), &problem);
    rbuf_queue_address(pair.b, &address);
    adapter_ok(rbuf_queue_connect(pair.a, port, &port->address, &address, &problem), &problem);
    rbuf_queue_address(pair.a, &address);
    adapter_ok(rbuf_queue_connect(pair.b, port, &port->address, &address, &problem), &problem);
    return pair;
}

static inline void adapter_disconnect(const struct adapter_pair *pair)
{
    rbuf_queue_close(pair->a);
    rbuf_queue_close(pair->b);
}

/* Registered memory, which rbuf_memory_free() gives back; access as IBV_ACCESS_... */
static inline void adapter_allocate(struct adapter *adapter, size_t bytes, int access,
                                    struct rbuf_memory *memory)
{
    struct rbuf_problem problem;

    adapter_ok(rbuf_memory_allocate(adapter->port, bytes, access, memory, &problem), &problem);
}

/* Gives a buffer back and posts it, with those given back before it. */
static inline int adapter_repost(struct rbuf_buffer *buffer)
{
    rbuf_receive_recycle(buffer);
    return rbuf_receive_post(buffer->receive);
}

/* rbuf_poll() of one completion, without those of own receive queues that a queue pair in error
 * gives back: they are none. */
static inline int adapter_poll(struct rbuf_port *port, struct rbuf_completion *completion)
{
    int got = rbuf_poll(port, completion, 1);

    if (got == 1 && completion->kind == RBUF_COMPLETION_RECEIVED && completion->status != 0 &&
        port->receive_kind == RBUF_RECEIVE_OWN) {
        ck_assert_int_eq(completion->wc, IBV_WC_WR_FLUSH_ERR);
        ck_assert_int_eq(adapter_repost(completion->buffer), 0);
        got = 0;
    }
    return got;
}

/* Polls until there is one, which there must be. */
static inline struct rbuf_completion adapter_next(struct rbuf_port *port)
{
    time_t end = time(NULL) + ADAPTER_PATIENCE;
    struct rbuf_completion completion = {0};
    int got;

    do {
        got = adapter_poll(port, &completion);
    } while (got == 0 && time(NULL) < end);
    ck_assert_int_eq(got, 1);
    return completion;
}

/* Polls for a while and wants nothing. */
static inline void adapter_quiet(struct rbuf_port *port)
{
    struct rbuf_completion completion;

    for (int i = 0; i < 2000; i++) {
        ck_assert_int_eq(adapter_poll(port, &completion), 0);
    }
}

#endif
