/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What memory this process has for itself. Pages of files do not count.
 */
#ifndef RBUF_TESTS_MPI_USAGE_H
#define RBUF_TESTS_MPI_USAGE_H

#include <malloc.h>
#include <stdio.h>

#include "check.h"

struct usage {
    long private; /* bytes that are resident, and in no file */
    long heap;    /* of these, allocated */
};

static inline struct usage usage_now(void)
{
    const struct mallinfo2 heap = mallinfo2();
    struct usage usage = {.heap = (long) (heap.uordblks + heap.hblkhd)};
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    long kb;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Anonymous: %ld", &kb) == 1) {
            usage.private = kb * CHECK_K;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return usage;
}

#endif
