/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The many-peer test: the processes of a job, as many as take part, each with a core, passing small
 * messages.
 *
 * A process exists from when it is first asked for, and knows another one (has a struct rbuf_peer
 * for it) from when it was told to, or when they first talk: so a job of any size can be played
 * with those few of its processes that matter, while some of them know everybody.
 *
 * There is no time. A process is stepped when something was sent to it, in the order of who was
 * first, unless it is held: then it does nothing, as one that computes. Nothing depends on anything
 * but the calls made here.
 *
 * Each message carries its number among those of the same two processes, and the job counts those
 * that arrive out of order.
 */
#ifndef RBUF_JOB_H
#define RBUF_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/core.h"

struct job;
struct job_process;

/* One process as seen by another one. */
struct job_link {
    struct job_process *owner;
    struct job_link *other; /* the same two seen from the other side; NULL: not connected */
    uint32_t rank;          /* of the other process */
    struct rbuf_peer *peer;
    struct rbuf_mailbox *mailbox;
    struct rbuf_fab_queue queue[RBUF_CHANNELS];
    uint64_t sent;
    uint64_t received;
    struct job_link *next; /* of the owner's */
};

struct rbuf_buffer { /* core's opaque receive buffer: a letter */
    unsigned channel;
    uint32_t bytes;
    STAILQ_ENTRY(rbuf_buffer) link;
    _Alignas(16) unsigned char data[];
};

struct job_signal {
    struct rbuf_work *work;
    STAILQ_ENTRY(job_signal) link;
};

STAILQ_HEAD(job_inbox, rbuf_buffer);
STAILQ_HEAD(job_signals, job_signal);
TAILQ_HEAD(job_awake, job_process);

/* What happened at a process; set it to zero to count anew. */
struct job_counts {
    uint64_t sent;
    uint64_t received;
    uint64_t by_ring; /* of those received */
    uint64_t passes;  /* over the polling set */
    uint64_t looked;  /* rings looked at in them */
};

struct job_process {
    struct job *job;
    uint32_t rank;
    struct rbuf_core core;
    struct job_link *links;  /* to the processes that it knows */
    struct job_link **table; /* the same, hashed by rank */
    uint32_t table_size;     /* a power of two */
    uint32_t known;
    struct job_inbox inbox;
    struct job_signals signals;
    struct rbuf_ring_memory **rings; /* leased to core */
    uint32_t ring_count;
    struct job_counts counts;
    bool held;
    bool awake; /* in the job's list */
    TAILQ_ENTRY(job_process) awake_link;
    struct job_process *next;
};

struct job_options {
    uint32_t ranks;
    struct rbuf_ring_options ring;
    uint16_t window;      /* receive credits of a channel */
    uint32_t ring_memory; /* most rings that a process has memory for */
};

struct job {
    struct job_options options;
    struct job_process **processes; /* by rank */
    struct job_process *first;      /* of those that exist */
    struct job_awake awake;
    void *staging; /* of all cores: nothing is staged */
    uint64_t disorder;
    uint64_t lost_peers;
};

/* What the component's parameters are by default, in a job of so many ranks. */
struct job_options job_defaults(uint32_t ranks);

struct job *job_open(const struct job_options *options);
void job_close(struct job *job);

struct job_process *job_process(struct job *job, uint32_t rank);
struct job_link *job_know(struct job_process *process, uint32_t rank);

/* Sends a message of `bytes`, at least 8, now or when there is a credit. */
void job_send(struct job *job, uint32_t from, uint32_t to, uint32_t bytes);

/* Until nobody who is not held has anything to do. */
void job_run(struct job *job);

void job_hold(struct job_process *process);
void job_release(struct job_process *process);

/* NULL, or what is wrong after job_run() with nobody held. */
const char *job_wrong(const struct job *job);

#endif
