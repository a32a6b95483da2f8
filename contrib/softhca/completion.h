/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Completion queues as those see them that fill them, and completion events. What the application
 * calls is in verbs_cq.c.
 *
 * Owns no list: queues are the application's. See completion.c for states and threads.
 */
#ifndef SOFTHCA_COMPLETION_H
#define SOFTHCA_COMPLETION_H

#include "objects.h"

/* Adds an entry and wakes the channel if armed. A queue that is full is overrun: the entry is lost
 * and the device's application has an event. Any thread. */
void completion_push(struct completion_queue *cq, const struct ibv_wc *wc, bool solicited);
/* Adds the entry of a work request that is flushed. Any thread. */
void completion_push_flushed(struct completion_queue *cq, uint64_t wr_id, uint32_t number,
                             enum ibv_wc_opcode opcode);
/* The next entry, or the next solicited one, raises an event. Any thread. */
void completion_arm(struct completion_queue *cq, bool solicited_only);
/* Whether a queue has been overrun since this was last asked. Any thread. */
bool completion_overrun(void);
/* Drops what a queue pair that goes away has left in a queue. Any thread. */
void completion_purge(struct completion_queue *cq, uint32_t queue_pair);

/* Whether a queue holds anything. Any thread. */
static inline bool completion_has_entries(struct completion_queue *cq)
{
    return atomic_load_explicit(&cq->tail, memory_order_acquire) !=
           atomic_load_explicit(&cq->head, memory_order_relaxed);
}

#endif
