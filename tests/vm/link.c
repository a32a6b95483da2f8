/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Two ranks whose link is cut by somebody else. They do not return: the runner sees how they end.
 *
 *     link transfer   rank 0 sends large messages without end, rank 1 only receives them
 *     link wait       rank 1 waits for a message, rank 0 for one of rank 1: nothing is under way
 *     link compute SECONDS
 *                     rank 0 calls nothing of MPI for so long, while rank 1 waits for a large
 * message of it; this one ends well, with the bytes checked
 *
 * "link: ready" is printed when rank 1 has got the first message.
 */
#include "check.h"

#include <time.h>

enum { SIZE = 4 * CHECK_M };

static void say_ready(void)
{
    if (check_rank == 1) {
        printf("link: ready\n");
        fflush(stdout);
    }
}

static void message(char *buffer, uint64_t serial)
{
    if (check_rank == 0) {
        check_fill(buffer, SIZE, check_seed(0, 1, serial));
        MPI_Send(buffer, SIZE, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(buffer, SIZE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, SIZE, check_seed(0, 1, serial), "received");
    }
}

static void compute(double seconds)
{
    const struct timespec rest = {.tv_nsec = 10000000};
    const double until = MPI_Wtime() + seconds;

    while (MPI_Wtime() < until) {
        nanosleep(&rest, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    char *buffer;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    buffer = check_memory(SIZE);
    message(buffer, 0);
    say_ready();
    if (strcmp(mode, "compute") == 0) {
        if (check_rank == 0) {
            compute(argc > 2 ? atof(argv[2]) : 60);
        }
        message(buffer, 1);
        return check_end();
    }
    for (uint64_t serial = 1; strcmp(mode, "transfer") == 0; serial++) {
        message(buffer, serial);
    }
    MPI_Recv(buffer, SIZE, MPI_BYTE, 1 - check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_that(false, "rank %d got a message that nobody sent", check_rank);
    return 1;
}
