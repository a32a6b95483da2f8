/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Ever more memory under way at once: windows of growing messages in both directions, each from and
 * to a buffer of its own, so that what can be registered runs out at some point at one side or
 * both. Usage: growing [largest message, MB].
 */
#include "check.h"

enum { WINDOW = 8 };

static void window(size_t size, int peer, uint64_t serial)
{
    MPI_Request requests[2 * WINDOW];
    char *send[WINDOW], *recv[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        send[i] = check_memory(size);
        recv[i] = check_memory(size);
        check_fill(send[i], size, check_seed(check_rank, peer, serial + (uint64_t) i));
        memset(recv[i], 0, size);
        MPI_Irecv(recv[i], (int) size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(send[i], (int) size, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW; i++) {
        check_match(recv[i], size, check_seed(peer, check_rank, serial + (uint64_t) i), "grown");
        free(send[i]);
        free(recv[i]);
    }
}

/* One side has all the memory: the source of one large message, or its target. */
static void one_way(size_t size, int from)
{
    char *buffer = check_memory(size);

    if (check_rank == from) {
        check_fill(buffer, size, size);
        MPI_Send(buffer, (int) size, MPI_BYTE, 1 - from, 99, MPI_COMM_WORLD);
    } else {
        MPI_Recv(buffer, (int) size, MPI_BYTE, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, size, size, "one way");
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    const size_t largest = (size_t) (argc > 1 ? atoi(argv[1]) : 4) * CHECK_M;
    uint64_t serial = 0;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    for (size_t size = 64 * CHECK_K + 1; size <= largest; size *= 2) {
        window(size, 1 - check_rank, serial);
        one_way(size, 0);
        one_way(size, 1);
        serial += WINDOW;
    }
    return check_end();
}
