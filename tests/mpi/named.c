/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Two messages from the same buffer, as benchmarks send them, with small ones between: more than
 * the receiver has room for. When it asks for the first one, the second one's rendezvous still
 * waits to leave, and both have early data (core/rendezvous/early.h).
 */
#include "check.h"

#include <unistd.h>

enum { ROUNDS = 8, WARM = 2, SMALL = 600, BYTES = 100 * CHECK_K, AWAY_US = 20000 };

enum { TAG_LARGE, TAG_SMALL, TAG_LATER, TAG_READY };

static void run_sender(int peer)
{
    static MPI_Request requests[SMALL + 2];
    static char small[8];
    char *buffer = check_memory(BYTES);

    for (int round = 0; round < ROUNDS; round++) {
        int n = 0;

        check_fill(buffer, BYTES, (uint64_t) round);
        MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Isend(buffer, BYTES, MPI_BYTE, peer, TAG_LARGE, MPI_COMM_WORLD, &requests[n++]);
        for (int i = 0; i < SMALL && round >= WARM; i++) {
            MPI_Isend(small, sizeof small, MPI_BYTE, peer, TAG_SMALL, MPI_COMM_WORLD,
                      &requests[n++]);
        }
        MPI_Isend(buffer, BYTES, MPI_BYTE, peer, TAG_LATER, MPI_COMM_WORLD, &requests[n++]);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
    free(buffer);
}

static void receive(int peer, int tag, int round, char *buffer)
{
    memset(buffer, 0, BYTES);
    MPI_Recv(buffer, BYTES, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_match(buffer, BYTES, (uint64_t) round, "from the same buffer");
}

/* Away until the sender has no room left, in which early data come; then the message is seen before
 * anybody asks for it. */
static void run_receiver(int peer)
{
    char *buffer = check_memory(BYTES);
    char small[8];

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_READY, MPI_COMM_WORLD);
        usleep(AWAY_US);
        MPI_Probe(peer, TAG_LARGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive(peer, TAG_LARGE, round, buffer);
        for (int i = 0; i < SMALL && round >= WARM; i++) {
            MPI_Recv(small, sizeof small, MPI_BYTE, peer, TAG_SMALL, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        receive(peer, TAG_LATER, round, buffer);
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (check_rank == 0) {
        run_sender(1);
    } else if (check_rank == 1) {
        run_receiver(0);
    }
    return check_end();
}
