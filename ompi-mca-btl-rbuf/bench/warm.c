/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What comes before the first case (bench/warm.h).
 */
#include "bench/warm.h"

#include <mpi.h>

/* Each rank sends to the one so many behind it, and receives from the one so many before. */
static void exchange(int rank, int ranks, int distance)
{
    const int to = (rank + distance) % ranks;
    const int from = (rank + ranks - distance) % ranks;
    double sent = 0;
    double received;

    for (int i = 0; i < BENCH_WARM_MESSAGES; i++) {
        MPI_Sendrecv(&sent, 1, MPI_DOUBLE, to, 0, &received, 1, MPI_DOUBLE, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

void bench_warm_up(int rank, int ranks)
{
    for (int distance = 1; distance < ranks; distance++) {
        exchange(rank, ranks, distance);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}
