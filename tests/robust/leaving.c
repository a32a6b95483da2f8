/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Preloaded: the rank that LEAVING names is killed within MPI_Finalize, behind its barrier, when
 * the transport gives up its receive queues; or sleeps there for LATE seconds. The others wait for
 * it, or do not.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ibv_srq;

int ibv_destroy_srq(struct ibv_srq *srq);

/* No rank destroys one: they end with the process. */
int ibv_destroy_srq(struct ibv_srq *srq)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *leaving = getenv("LEAVING");
    const char *late = getenv("LATE");

    (void) srq;
    if (rank == NULL || leaving == NULL || strcmp(rank, leaving) != 0) {
        return 0;
    }
    if (late == NULL) {
        raise(SIGKILL);
    }
    sleep((unsigned) atoi(late));
    unsetenv("LATE");
    unsetenv("LEAVING");
    return 0;
}
