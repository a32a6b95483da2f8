/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The registration queue: what the helper is to register, and what it gives up if it is not used
 * (the RQ of the paper that predictor.h cites, section 3.2).
 *
 * Each slot of the table of regions (mr.h) has one item or none. Items are ordered by when they
 * are due. Deadlines are adjusted: between two registrations there is time for the later one and
 * for one deregistration (rbuf_registration_queue's gap), so the helper meets them all; earlier
 * ones are brought forward where they are closer.
 *
 * Invariant: `order` holds the items that are something, by deadline; the due times of
 * registrations are in that order, too, and none is behind its deadline.
 *
 * Threads: the helper alone.
 */
#ifndef RBUF_CORE_HELPER_REGISTRATION_QUEUE_H
#define RBUF_CORE_HELPER_REGISTRATION_QUEUE_H

#include <stdint.h>
#include <sys/queue.h>

enum rbuf_queued {
    RBUF_QUEUED_NOTHING,
    RBUF_QUEUED_REGISTER, /* by due_ns it has to be registered */
    RBUF_QUEUED_LAPSE     /* it is registered: if it is idle at due_ns, it was not used in time */
};

struct rbuf_queue_item {
    enum rbuf_queued kind;
    uint64_t deadline_ns; /* as predicted */
    uint64_t due_ns;      /* adjusted */
    uint64_t cost_ns;     /* of registering it */
    uint64_t lapse_ns;    /* when its use will not come any more */
    TAILQ_ENTRY(rbuf_queue_item) link;
};

struct rbuf_registration_queue {
    struct rbuf_queue_item *item; /* one a slot */
    TAILQ_HEAD(rbuf_queue_order, rbuf_queue_item) order;
    uint32_t count; /* of those in order */
};

#define RBUF_QUEUE_EMPTY UINT32_MAX

/* -ENOMEM, else 0. */
int rbuf_registration_queue_open(struct rbuf_registration_queue *queue, uint32_t slots);
void rbuf_registration_queue_close(struct rbuf_registration_queue *queue);

/* Gives the slot this item instead of what it had; RBUF_QUEUED_NOTHING removes it. `gap_ns`
 * is the cost of one deregistration. */
void rbuf_registration_queue_set(struct rbuf_registration_queue *queue, uint32_t slot,
                                 const struct rbuf_queue_item *item, uint64_t gap_ns);

/* The slot whose item of that kind is due first, or RBUF_QUEUE_EMPTY. */
uint32_t rbuf_registration_queue_first(const struct rbuf_registration_queue *queue,
                                       enum rbuf_queued kind);

#endif
