/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Computing that calls nothing: a fixed amount of arithmetic, so that whatever takes the processor
 * meanwhile makes it longer; on memory, so does what takes that out of the caches.
 */
#ifndef RBUF_BENCH_COMPUTE_H
#define RBUF_BENCH_COMPUTE_H

#include <stddef.h>

/* The amount of work on so many bytes of memory (0: on none) that takes so many microseconds on an
 * idle processor of this machine. */
double bench_compute_work(size_t bytes, double microseconds);

/* Does that amount of work. All calls have the same number of bytes, or 0. */
void bench_compute(size_t bytes, double work);

#endif
