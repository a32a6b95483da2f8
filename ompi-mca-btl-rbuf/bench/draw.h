/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which messages of a case use their buffers again: drawn at random, but the same on both ranks and
 * in every run, and over all of them exactly as many as were asked for. A copy of the draw draws
 * what it would have drawn.
 */
#ifndef RBUF_BENCH_DRAW_H
#define RBUF_BENCH_DRAW_H

#include <stdbool.h>
#include <stdint.h>

struct bench_draw {
    uint64_t seed;
    int64_t left;      /* messages that are still to be drawn */
    int64_t kept_left; /* of which so many use their buffers again */
    int64_t kept;      /* of all */
};

/* A draw of so many messages, of which `reuse` per cent (rounded) use their buffers again. */
struct bench_draw bench_draw_of(int64_t messages, int reuse);

/* Whether the next message does; to be asked as often as there are messages, not more often. */
bool bench_draw_kept(struct bench_draw *draw);

#endif
