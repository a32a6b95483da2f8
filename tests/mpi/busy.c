/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A peer that computes: rank 1 makes no MPI call for some seconds while large and small messages
 * to it and from it wait. Nobody may take that for a failure, everything arrives afterwards, and
 * a third rank's traffic with rank 0 does not wait for it. Usage: busy [seconds].
 */
#include "check.h"

#include <time.h>

enum { LARGE = 8, SMALL = 200, LARGE_SIZE = CHECK_M + 7, OTHER = 8 };

static void compute(double seconds)
{
    const double until = MPI_Wtime() + seconds;
    volatile double x = 1;

    while (MPI_Wtime() < until) {
        struct timespec rest = {.tv_nsec = 1000000};
        for (int i = 0; i < 100000; i++) {
            x = x * 1.0000001 + 1e-9;
        }
        nanosleep(&rest, NULL); /* leave the core to the others where cores are few */
    }
}

/* Rank 0's and rank 1's side of the traffic that waits: posts all, calls `between`, waits. */
struct waiting {
    char *large[LARGE], *large_in[LARGE], *small, *small_in;
    MPI_Request requests[2 * (LARGE + SMALL)];
};

static void post(struct waiting *w, int peer)
{
    int n = 0;

    w->small = check_memory(SMALL * 64);
    w->small_in = check_memory(SMALL * 64);
    for (int i = 0; i < LARGE; i++) {
        w->large[i] = check_memory(LARGE_SIZE);
        w->large_in[i] = check_memory(LARGE_SIZE);
        check_fill(w->large[i], LARGE_SIZE, check_seed(check_rank, peer, (uint64_t) i));
        MPI_Irecv(w->large_in[i], LARGE_SIZE, MPI_BYTE, peer, i, MPI_COMM_WORLD, &w->requests[n++]);
        MPI_Isend(w->large[i], LARGE_SIZE, MPI_BYTE, peer, i, MPI_COMM_WORLD, &w->requests[n++]);
    }
    for (int i = 0; i < SMALL; i++) {
        check_fill(w->small + i * 64, 64, check_seed(check_rank, peer, 100 + (uint64_t) i));
        MPI_Irecv(w->small_in + i * 64, 64, MPI_BYTE, peer, LARGE + i, MPI_COMM_WORLD,
                  &w->requests[n++]);
        MPI_Isend(w->small + i * 64, 64, MPI_BYTE, peer, LARGE + i, MPI_COMM_WORLD,
                  &w->requests[n++]);
    }
}

static void collect(struct waiting *w, int peer)
{
    MPI_Waitall(2 * (LARGE + SMALL), w->requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < LARGE; i++) {
        check_match(w->large_in[i], LARGE_SIZE, check_seed(peer, check_rank, (uint64_t) i),
                    "waited for");
        free(w->large[i]);
        free(w->large_in[i]);
    }
    for (int i = 0; i < SMALL; i++) {
        check_match(w->small_in + i * 64, 64, check_seed(peer, check_rank, 100 + (uint64_t) i),
                    "waited for");
    }
    free(w->small);
    free(w->small_in);
}

/* Ranks 0 and 2 exchange while rank 1 is away; the seconds it took. */
static double meanwhile(int peer)
{
    char *send = check_memory(LARGE_SIZE);
    char *recv = check_memory(LARGE_SIZE);
    const double start = MPI_Wtime();

    for (uint64_t i = 0; i < OTHER; i++) {
        check_fill(send, LARGE_SIZE, check_seed(check_rank, peer, i));
        MPI_Sendrecv(send, LARGE_SIZE, MPI_BYTE, peer, 5000, recv, LARGE_SIZE, MPI_BYTE, peer, 5000,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(recv, LARGE_SIZE, check_seed(peer, check_rank, i), "meanwhile");
    }
    free(send);
    free(recv);
    return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    struct waiting w;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank < 2) {
        post(&w, 1 - check_rank);
    }
    if (check_rank == 1) {
        compute(seconds);
    } else if (check_ranks > 2 && (check_rank == 0 || check_rank == 2)) {
        const double took = meanwhile(2 - check_rank);
        check_that(took < seconds * 0.9, "the traffic of ranks 0 and 2 took %.1f s of %.1f", took,
                   seconds);
    }
    if (check_rank < 2) {
        collect(&w, 1 - check_rank);
    }
    return check_end();
}
