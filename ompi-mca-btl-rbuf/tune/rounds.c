/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Rank 0 looks at the clock and tells the other rank whether there is one more round.
 */
#include "tune/rounds.h"

#include <mpi.h>
#include <stdio.h>

#include "common/clock.h"

static bool quiet;

void tune_rounds_quiet(void)
{
    quiet = true;
}

void tune_rounds_open(struct tune_rounds *rounds, const char *what, double seconds)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !quiet) {
        fprintf(stderr, "rbuf-tune: %s (%.1f s)\n", what, seconds);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    *rounds = (struct tune_rounds){.end_ns = clock_ns() + seconds * 1e9};
}

bool tune_rounds_next(struct tune_rounds *rounds, struct tune_samples *samples)
{
    int more = rounds->rounds < TUNE_GROUPS || clock_ns() < rounds->end_ns;

    more = more && rounds->rounds < TUNE_ROUNDS;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    samples->rounds = rounds->rounds;
    rounds->rounds += more;
    return more;
}
