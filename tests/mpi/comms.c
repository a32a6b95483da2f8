/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Communicators keep their traffic apart: the same tag and peer in the world, two duplicates, a
 * split by parity and the reversed world, all under way at once and received in another order.
 * Then communicators made and freed in a row with large messages in between.
 */
#include "check.h"

enum { COMMS = 5, CYCLES = 20 };

static const size_t sizes[] = {8, 4088, 49153, 60 * CHECK_K, 700 * CHECK_K};

static void all_at_once(MPI_Comm *comms, size_t size)
{
    char *send[COMMS], *recv[COMMS];
    MPI_Request sends[COMMS];

    for (int c = 0; c < COMMS; c++) {
        int rank, ranks;
        MPI_Comm_rank(comms[c], &rank);
        MPI_Comm_size(comms[c], &ranks);
        send[c] = check_memory(size);
        recv[c] = check_memory(size);
        check_fill(send[c], size, check_seed(rank, (rank + 1) % ranks, (uint64_t) c));
        MPI_Isend(send[c], (int) size, MPI_BYTE, (rank + 1) % ranks, 1, comms[c], &sends[c]);
    }
    for (int c = COMMS - 1; c >= 0; c--) {
        int rank, ranks;
        MPI_Comm_rank(comms[c], &rank);
        MPI_Comm_size(comms[c], &ranks);
        const int from = (rank + ranks - 1) % ranks;
        MPI_Request request;
        MPI_Irecv(recv[c], (int) size, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_match(recv[c], size, check_seed(from, rank, (uint64_t) c), "in its communicator");
    }
    MPI_Waitall(COMMS, sends, MPI_STATUSES_IGNORE);
    for (int c = 0; c < COMMS; c++) {
        free(send[c]);
        free(recv[c]);
    }
}

static void make_and_free(int cycle)
{
    const size_t size = 50 * CHECK_K + (size_t) cycle * 4088;
    const int next = (check_rank + 1) % check_ranks;
    const int previous = (check_rank + check_ranks - 1) % check_ranks;
    char *send = check_memory(size);
    char *recv = check_memory(size);
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check_fill(send, size, check_seed(check_rank, next, (uint64_t) cycle));
    MPI_Sendrecv(send, (int) size, MPI_BYTE, next, 1, recv, (int) size, MPI_BYTE, previous, 1, comm,
                 MPI_STATUS_IGNORE);
    check_match(recv, size, check_seed(previous, check_rank, (uint64_t) cycle), "short-lived");
    MPI_Comm_free(&comm);
    free(send);
    free(recv);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[COMMS];

    check_begin(&argc, &argv);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_dup(comms[1], &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[4]);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        all_at_once(comms, sizes[i]);
    }
    for (int c = 1; c < COMMS; c++) {
        MPI_Comm_free(&comms[c]);
    }
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        make_and_free(cycle);
    }
    return check_end();
}
