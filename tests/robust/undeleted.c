/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded: within MPI_Finalize Open MPI finds no process to delete from its transports, which
 * therefore still have them when they are finalized, as those that called after the others were
 * deleted. It unloads the users of transports before that.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

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

    if (!finalizing) {
        return next(count);
    }
    *count = 0;
    return calloc(1, sizeof(void *));
}

void **ompi_proc_get_allocated(size_t *count)
{
    return processes("ompi_proc_get_allocated", count);
}

void **ompi_proc_all(size_t *count)
{
    return processes("ompi_proc_all", count);
}
