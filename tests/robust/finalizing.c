/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded: what Open MPI finds when MPI_Finalize, behind its barrier, asks for the processes to
 * delete from its transports. The environment says which:
 *
 *     LINGER=SECONDS   all ranks but the first sleep before they are told, once: they are there
 *                      while the first takes its leave
 *     UNDELETED=1      none, so that transports still have them when they are finalized, as those
 *                      that called after the others were deleted. Open MPI unloads the users of
 *                      transports before that.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static enum { RUNNING, FINALIZING, LINGERED } state;

int MPI_Finalize(void);
void **ompi_proc_get_allocated(size_t *count);
void **ompi_proc_all(size_t *count);

int MPI_Finalize(void)
{
    int (*next)(void) = (int (*)(void)) dlsym(RTLD_NEXT, "MPI_Finalize");

    state = FINALIZING;
    return next();
}

static void linger(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *seconds = getenv("LINGER");

    if (state == FINALIZING && rank != NULL && atoi(rank) > 0 && seconds != NULL) {
        state = LINGERED;
        sleep((unsigned) atoi(seconds));
    }
}

static void **processes(const char *name, size_t *count)
{
    void **(*next)(size_t *) = (void **(*) (size_t *) ) dlsym(RTLD_NEXT, name);

    if (state != RUNNING && getenv("UNDELETED") != NULL) {
        *count = 0;
        return calloc(1, sizeof(void *));
    }
    linger();
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
