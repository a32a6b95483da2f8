/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages that arrive before anyone asked for them: the receiver stays away until the sender has
 * sent all it can, then takes them in another order. Eager ones in numbers that exceed any pool
 * of receive buffers, large ones that wait in their rendezvous.
 */
#include "check.h"

enum { EAGER = 3000, LARGE = 40, LARGE_SIZE = 150 * CHECK_K + 11 };

static size_t eager_size(int i)
{
    return (size_t) (i * 37 % 4200);
}

static void run_sender(int peer)
{
    static MPI_Request requests[EAGER + LARGE];
    char *eager = check_memory((size_t) EAGER * 4200);
    char *large = check_memory((size_t) LARGE * LARGE_SIZE);
    int n = 0;

    for (int i = 0; i < EAGER; i++) {
        char *buffer = eager + (size_t) i * 4200;
        check_fill(buffer, eager_size(i), (uint64_t) i);
        MPI_Isend(buffer, (int) eager_size(i), MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[n++]);
    }
    for (int i = 0; i < LARGE; i++) {
        char *buffer = large + (size_t) i * LARGE_SIZE;
        check_fill(buffer, LARGE_SIZE, (uint64_t) (EAGER + i));
        MPI_Isend(buffer, LARGE_SIZE, MPI_BYTE, peer, EAGER + i, MPI_COMM_WORLD, &requests[n++]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, peer, EAGER + LARGE, MPI_COMM_WORLD);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    free(eager);
    free(large);
}

static void receive(int peer, int tag, size_t size, char *buffer)
{
    MPI_Status status;
    int count;

    memset(buffer, 0, size);
    MPI_Recv(buffer, LARGE_SIZE, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    check_that((size_t) count == size, "tag %d: %d bytes, not %zu", tag, count, size);
    check_match(buffer, size, (uint64_t) tag, "unexpected");
}

static void run_receiver(int peer)
{
    char *buffer = check_memory(LARGE_SIZE);

    /* The last message's arrival says that all before it have been sent. */
    MPI_Recv(NULL, 0, MPI_BYTE, peer, EAGER + LARGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = LARGE - 1; i >= 0; i -= 2) {
        receive(peer, EAGER + i, LARGE_SIZE, buffer);
    }
    for (int i = EAGER - 1; i >= 0; i--) {
        receive(peer, i, eager_size(i), buffer);
    }
    for (int i = LARGE - 2; i >= 0; i -= 2) {
        receive(peer, EAGER + i, LARGE_SIZE, buffer);
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    for (int sender = 0; sender < 2; sender++) {
        if (check_rank == sender) {
            run_sender(1 - sender);
        } else if (check_rank == 1 - sender) {
            run_receiver(sender);
        }
    }
    return check_end();
}
