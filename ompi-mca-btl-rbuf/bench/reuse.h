/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which messages of a case use their buffers again: drawn at random, but the same on both ranks and
 * in every run, and over all of them exactly as many as were asked for. A copy of the state
 * draws what that would have drawn.
 */
#ifndef RBUF_BENCH_REUSE_H
#define RBUF_BENCH_REUSE_H

#include <stdbool.h>
#include <stdint.h>

struct bench_reuse {
    uint64_t seed;
    int64_t left;        /* messages that are still to be drawn */
    int64_t reused_left; /* of which so many use their buffers again */
    int64_t reused;      /* of all */
};

/* Begins with so many messages, of which `reuse` per cent (rounded) use their buffers again. */
struct bench_reuse bench_reuse_start(int64_t messages, int reuse);

/* Whether the next message does; to be asked as often as there are messages, not more often. */
bool bench_reuse_next(struct bench_reuse *reuse);

#endif
