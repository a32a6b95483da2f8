/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The clock that all times are taken by: monotonic, of this machine alone. Readings of two machines
 * are never compared. Any thread.
 */
#ifndef RBUF_COMMON_CLOCK_H
#define RBUF_COMMON_CLOCK_H

#include <time.h>

/* Nanoseconds since some time in the past. */
static inline double clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

/* Microseconds since then. */
static inline double clock_us(void)
{
    return clock_ns() * 1e-3;
}

#endif
