/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A program that finalizes with messages open, whose requests it has freed: from rank 0 one to the
 * last rank, on an adapter that takes its time, and more to rank 1, whose memory cannot be pinned
 * as long as that one has its own pinned. Open MPI deletes rank 1 first.
 *
 *     pending BYTES COUNT    of a message; messages to rank 1
 */
#include "check.h"

enum { START_MS = 300 };

static void open_send(int to, int bytes)
{
    char *mine = check_memory((size_t) bytes);
    MPI_Request request;

    memset(mine, 1, (size_t) bytes);
    MPI_Isend(mine, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

static void open_receive(int from, int bytes)
{
    char *mine = check_memory((size_t) bytes);
    MPI_Request request;

    MPI_Irecv(mine, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    const int bytes = argc > 1 ? atoi(argv[1]) : 4 * CHECK_M, count = argc > 2 ? atoi(argv[2]) : 1;
    double start;
    int last;

    check_begin(&argc, &argv);
    check_need_ranks(3);
    last = check_ranks - 1;
    if (check_rank == 0) {
        open_send(last, bytes);
    } else if (check_rank == last) {
        open_receive(0, bytes);
    }
    for (int i = 0; i < count && check_rank < 2; i++) {
        if (check_rank == 0) {
            open_send(1, bytes);
        } else {
            open_receive(0, bytes);
        }
    }
    start = MPI_Wtime();
    while (MPI_Wtime() - start < START_MS / 1e3) {
        int flag;

        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    check_that(true, "begun");
    return check_end();
}
