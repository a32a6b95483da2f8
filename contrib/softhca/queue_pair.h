/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The queue pairs of this process. What the application calls is in verbs_qp.c and verbs_post.c.
 *
 * The table changes and is read under the progress lock.
 */
#ifndef SOFTHCA_QUEUE_PAIR_H
#define SOFTHCA_QUEUE_PAIR_H

#include "objects.h"

/* This process's queue pair of that index, NULL if none. Under the progress lock. */
struct queue_pair *queue_pair_at(uint32_t index);

/* Gives a queue pair an index, a number, a shared half and a send queue, all of which nobody sees
 * yet. 0, or ENOMEM. Not from two threads before the first has published. */
int queue_pair_claim(struct queue_pair *qp, const struct ibv_qp_init_attr *attr, uint32_t domain);
/* Shows it to all others. Under the progress lock. */
void queue_pair_publish(struct queue_pair *qp);
/* Takes it back from them; its send queue stays the caller's to free. Under the progress lock. */
void queue_pair_withdraw(struct queue_pair *qp);

/* Puts a queue pair into the error state and flushes its queues. Under the progress lock. */
void queue_pair_fail(struct queue_pair *qp);
/* Fails the queue pairs whose completion queues have been overrun. Under the progress lock. */
void queue_pair_fail_overrun(void);
/* Empties its queues into the reset state. Under the progress lock. */
void queue_pair_reset(struct queue_pair *qp);

/* Forgets all queue pairs; after a fork. */
void queue_pair_reset_table(void);

#endif
