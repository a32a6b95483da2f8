/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A rank that is killed while the others only wait for its message: nothing of theirs is under way
 * that could fail. All have exchanged something with it before. Whoever is left waits in MPI_Recv
 * until the transport, or mpirun, ends it.
 */
#include "check.h"

#include <time.h>

int main(int argc, char **argv)
{
    const struct timespec a_while = {.tv_sec = 1};
    char word[8] = "";

    check_begin(&argc, &argv);
    check_need_ranks(2);
    for (int i = 0; i < check_ranks; i++) {
        if (check_rank == 1 && i != 1) {
            MPI_Send(word, 8, MPI_BYTE, i, 0, MPI_COMM_WORLD);
        }
    }
    if (check_rank != 1) {
        MPI_Recv(word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(word, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fprintf(stderr, "wrong: rank %d got a message that nobody sent\n", check_rank);
        return 1;
    }
    nanosleep(&a_while, NULL);
    check_die();
}
