/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Computing that calls nothing: a fixed amount of arithmetic, so that whatever takes the processor
 * meanwhile makes it longer.
 */
#ifndef RBUF_BENCH_COMPUTE_H
#define RBUF_BENCH_COMPUTE_H

/* The amount of work that takes so many microseconds on an idle processor of this machine. */
double bench_compute_work(double microseconds);

/* Does that amount of work. */
void bench_compute(double work);

#endif
