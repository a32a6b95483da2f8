/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A rank that sends to itself, alone and while it exchanges with the others; MPI_Sendrecv around
 * the ring and MPI_Sendrecv_replace, at every size.
 */
#include "check.h"

enum { LARGEST = 4 * CHECK_M + 3 };

static void to_self(char *send, char *recv, size_t size)
{
    check_fill(send, size, size + 1);
    memset(recv, 0, size);
    MPI_Sendrecv(send, (int) size, MPI_BYTE, check_rank, 1, recv, (int) size, MPI_BYTE, check_rank,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_match(recv, size, size + 1, "to self");
}

static void around_ring(char *send, char *recv, size_t size)
{
    const int next = (check_rank + 1) % check_ranks;
    const int previous = (check_rank + check_ranks - 1) % check_ranks;

    check_fill(send, size, check_seed(check_rank, next, size));
    memset(recv, 0, size);
    MPI_Sendrecv(send, (int) size, MPI_BYTE, next, 2, recv, (int) size, MPI_BYTE, previous, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_match(recv, size, check_seed(previous, check_rank, size), "around the ring");
    MPI_Sendrecv_replace(send, (int) size, MPI_BYTE, next, 3, previous, 3, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    check_match(send, size, check_seed(previous, check_rank, size), "replaced");
}

static void self_among_others(char *send, char *recv, size_t size)
{
    char *mine = check_memory(2 * size + 1);
    MPI_Request requests[2];

    check_fill(mine, size, size + 2);
    MPI_Irecv(mine + size, (int) size, MPI_BYTE, check_rank, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(mine, (int) size, MPI_BYTE, check_rank, 4, MPI_COMM_WORLD, &requests[1]);
    around_ring(send, recv, size);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_match(mine + size, size, size + 2, "to self among others");
    free(mine);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    char *send = check_memory(LARGEST);
    char *recv = check_memory(LARGEST);
    for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
        to_self(send, recv, check_sizes[i]);
        around_ring(send, recv, check_sizes[i]);
        self_among_others(send, recv, check_sizes[i]);
    }
    free(send);
    free(recv);
    return check_end();
}
