/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A wrong program: each rank sends so many messages of so many bytes (the arguments) to the next
 * one, which receives none, and finalizes. Each says when it is through.
 */
#include "check.h"

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 1;
    const int bytes = argc > 2 ? atoi(argv[2]) : 8;
    char *buffer = check_memory((size_t) bytes);
    MPI_Request request;

    check_begin(&argc, &argv);
    check_fill(buffer, (size_t) bytes, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        MPI_Isend(buffer, bytes, MPI_BYTE, (check_rank + 1) % check_ranks, 0, MPI_COMM_WORLD,
                  &request);
    }
    MPI_Finalize();
    printf("rank %d is through\n", check_rank);
    free(buffer);
    return 0;
}
