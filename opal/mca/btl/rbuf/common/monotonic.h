/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The time since some moment in the past, ns. It never goes back.
 */
#ifndef RBUF_COMMON_MONOTONIC_H
#define RBUF_COMMON_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* Exact to some ns: for what is measured. */
static inline uint64_t mca_btl_rbuf_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000ull + (uint64_t) now.tv_nsec;
}

/* In steps of some ms: core's intervals are milliseconds and more, and this costs a few ns. */
static inline uint64_t mca_btl_rbuf_coarse_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t) now.tv_sec * 1000000000ull + (uint64_t) now.tv_nsec;
}

#endif
