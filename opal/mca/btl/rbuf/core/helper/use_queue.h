/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Points of communication: what the threads of the application leave for the helper to predict
 * from, and the queue that they leave it in.
 *
 * The queue is circular and bounded. A full one refuses a point, which costs a prediction and
 * nothing else: registrations do not pass through here (mr.h has a list for them that is never
 * full).
 *
 * Threads: rbuf_points_put() in any thread, rbuf_points_get() in the helper. A cell's turn tells
 * whose it is. A writer claims the cell by compare-and-swap of `tail`, fills it and stores its turn
 * with release; the reader loads the turn with acquire, reads, and stores it with release for the
 * writer of the next round, who loads it with acquire.
 */
#ifndef RBUF_CORE_HELPER_POINTS_H
#define RBUF_CORE_HELPER_POINTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum rbuf_point_kind { RBUF_POINT_SEND, RBUF_POINT_RECEIVE };

struct rbuf_point {
    uint64_t time_ns;     /* when its memory was wanted */
    uint64_t frames;      /* hash of the application's outermost stack frames; 0: not known */
    uint64_t base;        /* address of the buffer */
    uint64_t bytes;       /* > 0 */
    uint64_t register_ns; /* what registering it on the spot took; 0: it was registered */
    uint32_t peer;
    enum rbuf_point_kind kind;
};

struct rbuf_points_cell {
    _Atomic uint64_t turn;
    struct rbuf_point point;
};

struct rbuf_points {
    struct rbuf_points_cell *cell;
    uint64_t mask;         /* cells - 1 */
    _Atomic uint64_t tail; /* the next place to write */
    uint64_t head;         /* the next place to read; the helper's */
    _Atomic uint64_t lost; /* points that were refused */
};

/* `cells` is a power of two, at least 2. -ENOMEM, else 0. */
int rbuf_points_open(struct rbuf_points *points, uint32_t cells);
void rbuf_points_close(struct rbuf_points *points);

/* False: the queue is full, and the point is lost and counted. */
bool rbuf_points_put(struct rbuf_points *points, const struct rbuf_point *point);

/* At least half of its places are taken: the helper should be woken. Any thread. */
bool rbuf_points_half_full(const struct rbuf_points *points);

/* False: there is none. */
bool rbuf_points_get(struct rbuf_points *points, struct rbuf_point *point);

#endif
