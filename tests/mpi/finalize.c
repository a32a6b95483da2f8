/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The last messages before MPI_Finalize: rank 0 sends, frees its requests and finalizes at once;
 * rank 1 receives everything late. Nothing is lost, nobody hangs. With "nothing" as argument no
 * message is sent at all.
 */
#include "check.h"

#include <time.h>

enum { MESSAGES = 6 };

static const size_t sizes[MESSAGES] = {0, 64, 4088, 49152, 60 * CHECK_K, CHECK_M};

static void send_and_forget(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        /* Never freed: the transfer may still be under way when main returns. */
        char *buffer = check_memory(sizes[i]);
        MPI_Request request;
        check_fill(buffer, sizes[i], (uint64_t) i);
        MPI_Isend(buffer, (int) sizes[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
}

static void receive_late(void)
{
    const struct timespec late = {.tv_nsec = 300000000};
    char *buffer = check_memory(sizes[MESSAGES - 1]);

    nanosleep(&late, NULL);
    for (int i = MESSAGES - 1; i >= 0; i--) {
        MPI_Recv(buffer, (int) sizes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, sizes[i], (uint64_t) i, "before finalize");
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (argc == 1 && check_rank == 0) {
        send_and_forget();
    } else if (argc == 1 && check_rank == 1) {
        receive_late();
        printf("%ld checks, %ld wrong\n", atomic_load(&check_count), atomic_load(&check_failures));
    }
    /* No collective call here: it would wait for what this test wants to see drained. */
    MPI_Finalize();
    return atomic_load(&check_failures) == 0 ? 0 : 1;
}
