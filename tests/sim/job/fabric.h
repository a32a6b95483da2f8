/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The fabric as core sees it when many processes are simulated and time does not matter: a write is
 * a copy, a send is a letter in the other process's inbox, and both are complete when they are
 * posted. Order is kept as on a queue pair: what a send follows is in memory when it is read.
 */
#ifndef RBUF_JOB_FABRIC_H
#define RBUF_JOB_FABRIC_H

#define NULL_FABRIC_INLINE 220u
#define NULL_FABRIC_ROOM   128u

#include "../../null_fabric.h"

struct job_link;

struct rbuf_fab_queue {
    struct job_link *link; /* whose it is */
    unsigned channel;
};

/* Something was written into the memory of the process at the other end. */
void job_wrote(struct rbuf_fab_queue *queue);

/* `signal` comes back at the next step of the process that sends. */
void job_post_letter(struct rbuf_fab_queue *queue, const struct rbuf_fab_piece *pieces,
                     unsigned count, struct rbuf_work *signal);

static inline void null_fabric_wrote(struct rbuf_fab_queue *queue)
{
    job_wrote(queue);
}

static inline enum rbuf_fab_status rbuf_fab_send(struct rbuf_fab_queue *queue,
                                                 const struct rbuf_fab_piece *pieces,
                                                 unsigned count, bool inlined,
                                                 struct rbuf_work *work)
{
    (void) inlined;
    job_post_letter(queue, pieces, count, work);
    return RBUF_FAB_OK;
}

#endif
