/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receive queues, a queue pair's own and shared ones.
 *
 * A queue is private to its process. Any thread; all under the queue's spin lock.
 */
#ifndef SOFTHCA_RECEIVE_QUEUE_H
#define SOFTHCA_RECEIVE_QUEUE_H

#include "objects.h"

/* Sets up a queue of so many receives of at most so many elements. 0 or ENOMEM. */
int receive_queue_init(struct receive_queue *queue, uint32_t capacity, uint32_t max_sge);
void receive_queue_destroy(struct receive_queue *queue);
/* Takes the oldest receive; false if none is posted. Any thread. */
bool receive_queue_take(struct receive_queue *queue, struct receive_request *out);

#endif
