/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Raises the soft limit of open files (descriptors.h): to twice its value, or more if the newest
 * descriptor needs that.
 */
#include "connect/descriptors.h"

#include <limits.h>

rlim_t rbuf_descriptors_next(rlim_t soft, rlim_t hard, int fd)
{
    const rlim_t needed = (rlim_t) fd + 1 + RBUF_DESCRIPTORS_SPARE;
    rlim_t next;

    if (soft == RLIM_INFINITY || needed <= soft || soft >= hard) {
        return soft;
    }
    next = 2 * soft > needed ? 2 * soft : needed;
    return next < hard ? next : hard;
}

bool rbuf_descriptors_used(int fd)
{
    struct rlimit limit;
    rlim_t next;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    next = rbuf_descriptors_next(limit.rlim_cur, limit.rlim_max, fd);
    if (next == limit.rlim_cur) {
        return false;
    }
    limit.rlim_cur = next;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

rlim_t rbuf_descriptors_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

bool rbuf_descriptors_raise(void)
{
    const rlim_t soft = rbuf_descriptors_limit();

    /* All below the limit are in use. */
    return soft > 0 && soft < INT_MAX && rbuf_descriptors_used((int) soft);
}
