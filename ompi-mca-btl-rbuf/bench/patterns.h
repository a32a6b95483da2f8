/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The exchanges whose time is taken. Only what a transport does is on the clock: buffers are
 * ready, and both ranks have just left a barrier.
 */
#ifndef RBUF_BENCH_PATTERNS_H
#define RBUF_BENCH_PATTERNS_H

#include "bench/buffers.h"

/* What one case exchanges in each repetition. */
struct bench_exchange {
    enum bench_pattern pattern;
    int rank, ranks;
    int window, burst;
    int sets; /* of window buffers: the exchanges of a burst use one after the other */
    double late_us;
    size_t working_set; /* bytes that are computed on */
    const struct bench_buffers *buffers;
    MPI_Request *requests; /* two a message */
    MPI_Win win;           /* MPI_WIN_NULL: none is open */
    double hidden;         /* result of the overlap patterns: the share of the transfer, 0 to 1 */
};

/* How many messages this pattern needs buffers for, of `sets` windows. */
int bench_slots(enum bench_pattern pattern, int window, int sets);

/* How many of them `rank` receives, from *first on. */
int bench_received(enum bench_pattern pattern, int slots, int rank, int *first);

/* Collective: makes the buffers of this repetition a window, if one is needed and none is open; it
 * is closed before they are unmapped. */
void bench_exchange_open(struct bench_exchange *exchange);
void bench_exchange_close(struct bench_exchange *exchange);

/*
 * Collective; the time of one message in microseconds, the same on all ranks. Sets
 * `hidden` in the overlap patterns.
 */
double bench_exchange_time(struct bench_exchange *exchange);

#endif
