/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI_Cancel of receives: one that nobody sends to is cancelled, its buffer is left alone, and the
 * message that comes afterwards goes to the receive that is posted then, not to the old one.
 */
#include "check.h"

enum { ROUNDS = 50 };

static void receiver(size_t size, int round)
{
    char *cancelled = check_memory(size);
    char *wanted = check_memory(size);
    MPI_Request request;
    MPI_Status status;
    int was_cancelled;
    size_t touched = 0;

    memset(cancelled, 0x11, size);
    MPI_Irecv(cancelled, (int) size, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &was_cancelled);
    check_that(was_cancelled, "a receive of %zu bytes was not cancelled", size);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 6, MPI_COMM_WORLD);
    MPI_Recv(wanted, (int) size, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &status);
    check_match(wanted, size, (uint64_t) round, "after a cancelled receive");
    for (size_t i = 0; i < size; i++) {
        touched += cancelled[i] != 0x11;
    }
    check_that(touched == 0, "%zu bytes written into a cancelled receive", touched);
    free(cancelled);
    free(wanted);
}

static void sender(size_t size, int round)
{
    char *buffer = check_memory(size);

    check_fill(buffer, size, (uint64_t) round);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, (int) size, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    free(buffer);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 4088, 49153, 70000, CHECK_M};

    check_begin(&argc, &argv);
    check_need_ranks(2);
    for (int round = 0; round < ROUNDS; round++) {
        const size_t size = sizes[(size_t) round % (sizeof sizes / sizeof sizes[0])];
        if (check_rank == 0) {
            sender(size, round);
        } else if (check_rank == 1) {
            receiver(size, round);
        }
    }
    return check_end();
}
