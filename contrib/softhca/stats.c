/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counters of what this process has asked of its device. Registered bytes count every registration
 * in full, also where two overlap, as a device counts them.
 *
 * Owns the counters. Any thread: they are atomic and hold up nothing, so that a line written while
 * others count is not of one moment.
 */
#define _GNU_SOURCE

#include "stats.h"
#include "config.h"
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic uint64_t requests, bytes, registrations, deregistrations, registered, peak, stale;

void stats_request(uint64_t length)
{
    atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, length, memory_order_relaxed);
}

void stats_registered(uint64_t length)
{
    uint64_t now = atomic_fetch_add(&registered, length) + length;
    uint64_t old = atomic_load(&peak);

    atomic_fetch_add_explicit(&registrations, 1, memory_order_relaxed);
    while (old < now && !atomic_compare_exchange_weak(&peak, &old, now))
        ;
}

void stats_deregistered(uint64_t length)
{
    atomic_fetch_sub(&registered, length);
    atomic_fetch_add_explicit(&deregistrations, 1, memory_order_relaxed);
}

void stats_stale(void)
{
    atomic_fetch_add_explicit(&stale, 1, memory_order_relaxed);
}

uint64_t stats_registered_now(void)
{
    return atomic_load(&registered);
}

void stats_write(void)
{
    char line[512];
    int fd, n;

    if (!config.stats[0])
        return;
    n = snprintf(line, sizeof(line),
                 "{\"pid\": %d, \"registrations\": %lu, \"deregistrations\": %lu, "
                 "\"registered_bytes\": %lu, \"peak_registered_bytes\": %lu, "
                 "\"work_requests\": %lu, \"bytes\": %lu, \"stale_accesses\": %lu}\n",
                 (int) getpid(), atomic_load(&registrations), atomic_load(&deregistrations),
                 atomic_load(&registered), atomic_load(&peak), atomic_load(&requests),
                 atomic_load(&bytes), atomic_load(&stale));
    fd = open(config.stats, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line, (size_t) n) != n) /* one write, so that lines stay whole */
        report("%s: %s", config.stats, strerror(errno));
    if (fd >= 0)
        close(fd);
}
