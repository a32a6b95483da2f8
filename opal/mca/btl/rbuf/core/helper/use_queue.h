/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Uses of memory: what the threads of the application leave for the helper to predict
 * from, and the queue that they leave it in.
 *
 * The queue is circular and bounded. A full one refuses a use, which costs a prediction and
 * nothing else: registrations do not pass through here (mr.h has a list for them that is never
 * full).
 *
 * Threads: rbuf_use_queue_put() in any thread, rbuf_use_queue_get() in the helper. A cell's turn
 * tells whose it is. A writer claims the cell by compare-and-swap of `tail`, fills it and stores
 * its turn with release; the reader loads the turn with acquire, reads, and stores it with release
 * for the writer of the next round, who loads it with acquire.
 */
#ifndef RBUF_CORE_HELPER_USE_QUEUE_H
#define RBUF_CORE_HELPER_USE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum rbuf_use_kind { RBUF_USE_SEND, RBUF_USE_RECEIVE };

struct rbuf_use {
    uint64_t time_ns;     /* when its memory was wanted */
    uint64_t frames;      /* hash of the application's outermost stack frames; 0: not known */
    uint64_t base;        /* address of the buffer */
    uint64_t bytes;       /* > 0 */
    uint64_t register_ns; /* what registering it on the spot took; 0: it was registered */
    uint32_t peer;
    enum rbuf_use_kind kind;
};

struct rbuf_use_cell {
    _Atomic uint64_t turn;
    struct rbuf_use use;
};

struct rbuf_use_queue {
    struct rbuf_use_cell *cell;
    uint64_t mask;         /* cells - 1 */
    _Atomic uint64_t tail; /* the next slot to write */
    uint64_t head;         /* the next slot to read; the helper's */
    _Atomic uint64_t lost; /* queue that were refused */
};

/* `cells` is a power of two, at least 2. -ENOMEM, else 0. */
int rbuf_use_queue_open(struct rbuf_use_queue *queue, uint32_t cells);
void rbuf_use_queue_close(struct rbuf_use_queue *queue);

/* False: the queue is full, and the use is lost and counted. */
bool rbuf_use_queue_put(struct rbuf_use_queue *queue, const struct rbuf_use *use);

/* At least half of its slots are taken: the helper should be woken. Any thread. */
bool rbuf_use_queue_half_full(const struct rbuf_use_queue *queue);

/* False: there is none. */
bool rbuf_use_queue_get(struct rbuf_use_queue *queue, struct rbuf_use *use);

#endif
