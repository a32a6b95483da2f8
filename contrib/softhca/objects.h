/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The process's own side of the verbs objects, each behind the structure that libibverbs hands to
 * the application. Structures alone; the functions are in the files that the objects are named
 * after.
 *
 * Threads: every object that applications may use from several threads has a spin lock. Lock order:
 * progress, then a queue pair's post lock, then a receive queue's, then a completion queue's. No
 * other process sees any of this but queue_pair_entry and memory_region_entry, see segment.h.
 */
#ifndef SOFTHCA_OBJECTS_H
#define SOFTHCA_OBJECTS_H

#include "segment.h"

#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

/* Requests that one ibv_wr_start()..ibv_wr_complete() may collect. */
#define BATCH_REQUESTS 128
#define BATCH_SGE      512

/* Providers' own structures embed ibv_device at their head and are larger: programs that ask a
 * device whether it is theirs read behind it. */
struct device {
    struct ibv_device device;
    uint8_t behind[4096];
    const struct device_setting *setting;
};

/* The settings of the device that a context is of. */
static inline const struct device_setting *device_setting(const struct ibv_context *context)
{
    return ((const struct device *) context->device)->setting;
}

struct device_context {
    struct verbs_context verbs;
    int async_write_fd;
    struct device_context *next; /* in the list of all, see event.c */
};

struct protection_domain {
    struct ibv_pd pd;
    uint32_t number;
};

struct memory_region {
    struct ibv_mr mr;
    struct memory_region_entry *entry;
    struct memory_region *next; /* in the list of all, see stale.c */
};

struct completion_channel {
    struct ibv_comp_channel channel;
    int write_fd;
};

enum arming { CQ_UNARMED, CQ_ARMED, CQ_ARMED_SOLICITED };

struct completion_queue {
    struct ibv_cq cq;
    pthread_spinlock_t lock;
    enum arming arming;
    _Atomic bool overrun; /* takes no more entries; its queue pairs fail */
    uint32_t capacity;
    uint32_t announced;          /* count of entries up to the last event */
    _Atomic uint32_t head, tail; /* counts; written under lock, tail read without */
    struct ibv_wc *entries;
};

struct receive_request {
    uint64_t wr_id;
    uint32_t n_sge;
    struct ibv_sge sge[MAX_SGE];
};

struct receive_queue {
    pthread_spinlock_t lock;
    uint32_t capacity, max_sge;
    uint32_t head, tail;                 /* counts */
    uint32_t limit;                      /* shared queues: event below this many, 0 = none */
    uint64_t hidden_since_ns;            /* by an injected fault, see fault.h */
    struct shared_receive_queue *shared; /* NULL for a queue pair's own */
    struct receive_request *entries;
};

struct shared_receive_queue {
    struct ibv_srq srq;
    struct receive_queue queue;
};

struct address_handle {
    struct ibv_ah ah;
    struct ibv_ah_attr attr;
};

/* Work requests gathered between ibv_wr_start and ibv_wr_complete. */
struct batch {
    struct ibv_send_wr requests[BATCH_REQUESTS];
    struct ibv_sge sge[BATCH_SGE];
    uint32_t n_requests, n_sge;
    int error;
};

struct queue_pair {
    union {
        struct ibv_qp qp;
        struct ibv_qp_ex ex;
    };
    struct queue_pair_entry *entry;
    uint32_t index;
    bool extended;
    struct batch *batch; /* extended only */
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    pthread_spinlock_t post_lock;
    uint64_t n_posted;  /* for injected errors */
    uint64_t bandwidth; /* of the slower of its two links; set when it is connected */
    struct receive_queue *receives;
    struct receive_queue own_receives;
    /* Under the progress lock. */
    struct receive_request receiving; /* taken from the receive queue for the peer's current send */
    bool has_receive;
    bool broken; /* has refused a request and is about to fail */
    /* How long before they arrive this side wants to know of these requests of the peer. */
    uint64_t lookahead_from, lookahead_to, lookahead_ns;
    uint64_t next_read;
    uint64_t reads_end;      /* behind the last read or atomic that may not count as executed yet */
    uint64_t retire_from_ns; /* nothing completes before; see engine.c */
    uint64_t push_from_ns;   /* nothing is to be pushed before; see push.c */
    uint64_t seen_polls, seen_polls_ns; /* of the peer's port, see push.c */
    uint64_t requester_polls;           /* the same, as this side's agent last saw it */
    bool peer_is_silent;                /* for long, and has not polled since */
    uint64_t unreachable_since;
    uint64_t next_check;
};

static inline struct device_context *to_device_context(struct ibv_context *context)
{
    return (struct device_context *) ((uint8_t *) context -
                                      offsetof(struct verbs_context, context));
}
static inline struct queue_pair *to_queue_pair(struct ibv_qp *qp)
{
    return (struct queue_pair *) qp;
}
static inline struct completion_queue *to_completion_queue(struct ibv_cq *cq)
{
    return (struct completion_queue *) cq;
}

#endif
