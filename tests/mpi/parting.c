/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * More ranks than cores, all connected to all, end at about the same time, each when it gets to
 * run. No rank may take the going of another for its death, which would show as an error at the end
 * of a job that was right.
 */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Request *requests;
    int *words;

    check_begin(&argc, &argv);
    requests = check_memory((size_t) check_ranks * 2 * sizeof(MPI_Request));
    words = check_memory((size_t) check_ranks * sizeof(int));
    for (int i = 0; i < check_ranks; i++) {
        MPI_Irecv(&words[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(&check_rank, 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * check_ranks, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < check_ranks; i++) {
        check_that(words[i] == i, "rank %d says that it is %d", i, words[i]);
    }
    free(words);
    free(requests);
    return check_end();
}
