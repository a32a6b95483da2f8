/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What many small puts or gets of a lock_all epoch cost, with one flush: requests and doorbells of
 * each epoch, by rbuf's counters, and the median time of an epoch, microseconds. Rank 0 to rank 1,
 * which waits in a barrier; no two operations are neighbours.
 *
 *     passive_lists [KIND COUNT BYTES EPOCHS]    KIND: put, get, vector (one put with COUNT pieces)
 */
#include "check.h"
#include "common/statistics.h"
#include "counter.h"

enum { MOST = 1024, STRIDE = 1024, KINDS = 3 };

static struct {
    MPI_Win win;
    char *memory, *mine;
    MPI_Datatype pieces;
} shared;

static void issue(const char *kind, int count, int bytes)
{
    if (strcmp(kind, "vector") == 0) {
        MPI_Put(shared.mine, 1, shared.pieces, 1, 0, 1, shared.pieces, shared.win);
        return;
    }
    for (int i = 0; i < count; i++) {
        const MPI_Aint at = (MPI_Aint) i * STRIDE;

        if (strcmp(kind, "put") == 0) {
            MPI_Put(shared.mine + at, bytes, MPI_BYTE, 1, at, bytes, MPI_BYTE, shared.win);
        } else {
            MPI_Get(shared.mine + at, bytes, MPI_BYTE, 1, at, bytes, MPI_BYTE, shared.win);
        }
    }
}

static void measure(const char *kind, int count, int bytes, int epochs)
{
    double *times = check_memory((size_t) epochs * sizeof(*times));
    long requests, doorbells;

    MPI_Type_vector(count, bytes, STRIDE, MPI_BYTE, &shared.pieces);
    MPI_Type_commit(&shared.pieces);
    issue(kind, count, bytes);
    MPI_Win_flush(1, shared.win);
    requests = counter_read("rma_requests");
    doorbells = counter_read("rma_doorbells");
    for (int i = 0; i < epochs; i++) {
        const double start = MPI_Wtime();

        issue(kind, count, bytes);
        MPI_Win_flush(1, shared.win);
        times[i] = (MPI_Wtime() - start) * 1e6;
    }
    requests = counter_read("rma_requests") - requests;
    doorbells = counter_read("rma_doorbells") - doorbells;
    printf("%-6s %4d of %4d bytes: %7.1f requests, %7.1f doorbells, %8.2f us\n", kind, count, bytes,
           (double) requests / epochs, (double) doorbells / epochs, stats_median(times, epochs));
    check_that(requests < 0 || (doorbells > 0 && doorbells <= requests),
               "%s: %ld doorbells for %ld requests", kind, doorbells, requests);
    MPI_Type_free(&shared.pieces);
    free(times);
}

static void measure_all(void)
{
    static const char *const kinds[KINDS] = {"put", "get", "vector"};
    static const int counts[] = {1, 2, 16, 64, 256};

    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            measure(kinds[kind], counts[i], 8, 300);
        }
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    counter_begin();
    MPI_Win_allocate((MPI_Aint) MOST * STRIDE, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                     (void *) &shared.memory, &shared.win);
    memset(shared.memory, 0, (size_t) MOST * STRIDE);
    shared.mine = check_memory((size_t) MOST * STRIDE);
    memset(shared.mine, 1, (size_t) MOST * STRIDE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock_all(0, shared.win);
        if (argc > 4) {
            measure(argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
        } else {
            measure_all();
        }
        MPI_Win_unlock_all(shared.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&shared.win);
    free(shared.mine);
    counter_end();
    return check_end();
}
