/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded: all ranks but the first sleep LINGER seconds within MPI_Finalize, behind its barrier,
 * before Open MPI deletes the processes from its transports. So they are there while the first
 * takes its leave.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static bool finalizing;

int MPI_Finalize(void);
void **ompi_proc_get_allocated(size_t *count);
void **ompi_proc_all(size_t *count);

int MPI_Finalize(void)
{
    int (*next)(void) = (int (*)(void)) dlsym(RTLD_NEXT, "MPI_Finalize");

    finalizing = true;
    return next();
}

static void **processes(const char *name, size_t *count)
{
    void **(*next)(size_t *) = (void **(*) (size_t *) ) dlsym(RTLD_NEXT, name);
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *seconds = getenv("LINGER");

    if (finalizing && rank != NULL && atoi(rank) > 0 && seconds != NULL) {
        finalizing = false; /* once */
        sleep((unsigned) atoi(seconds));
    }
    return next(count);
}

void **ompi_proc_get_allocated(size_t *count)
{
    return processes("ompi_proc_get_allocated", count);
}

void **ompi_proc_all(size_t *count)
{
    return processes("ompi_proc_all", count);
}
