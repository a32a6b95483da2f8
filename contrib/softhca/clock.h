/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The clock of the emulation: CLOCK_MONOTONIC in ns, the same in all processes of a machine.
 *
 * Owns nothing. Any thread of any process: the times of all processes of a machine compare.
 */
#ifndef SOFTHCA_CLOCK_H
#define SOFTHCA_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000ull + (uint64_t) t.tv_nsec;
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Gets the cache line for writing before it is needed, if it is with another processor. Without
 * -mprfchw gcc would get it for reading. */
static inline void fetch_to_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *) line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Takes CPU time until the deadline. */
static inline void spin_until(uint64_t deadline_ns)
{
    while (clock_now() < deadline_ns)
        cpu_relax();
}

#endif
