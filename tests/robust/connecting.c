/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A rank that is killed while the others set up their queue pairs with it: it makes no MPI call, so
 * that their calls are heard by its listener and not answered, and dies. The others wait for a
 * message to go out, large enough to need the peer.
 */
#include "check.h"

#include <time.h>

int main(int argc, char **argv)
{
    const struct timespec a_while = {.tv_sec = 1, .tv_nsec = 500000000};
    char *buffer;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    buffer = check_memory(CHECK_M);
    check_fill(buffer, CHECK_M, 0);
    if (check_rank != 1) {
        MPI_Send(buffer, CHECK_M, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        fprintf(stderr, "wrong: rank %d has sent a message that nobody took\n", check_rank);
        return 1;
    }
    nanosleep(&a_while, NULL);
    check_die();
}
