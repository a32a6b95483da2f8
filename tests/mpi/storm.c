/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Rendezvous storms: everyone sends large messages to everyone at once, so that every rank is
 * asked for more staging than there is while it waits for others itself. Usage: storm [messages a
 * pair [bytes [rounds]]].
 */
#include "check.h"

struct storm {
    int window;
    size_t bytes;
    int rounds;
};

static void blow(const struct storm *storm, int round)
{
    const size_t slots = (size_t) check_ranks * (size_t) storm->window;
    char **send = check_memory(slots * sizeof *send);
    char **recv = check_memory(slots * sizeof *recv);
    MPI_Request *requests = check_memory(2 * slots * sizeof *requests);
    const uint64_t serial = (uint64_t) round * 1000;

    for (size_t at = 0; at < slots; at++) {
        const int peer = (int) (at / (size_t) storm->window);
        const int i = (int) (at % (size_t) storm->window);
        send[at] = check_guarded(storm->bytes);
        recv[at] = check_guarded(storm->bytes);
        check_fill(send[at], storm->bytes, check_seed(check_rank, peer, serial + (uint64_t) i));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t at = 0; at < slots; at++) {
        /* Each rank begins with its right neighbour: nobody is everybody's first. */
        const int step = (int) (at % (size_t) check_ranks);
        const int i = (int) (at / (size_t) check_ranks);
        const int to = (check_rank + 1 + step) % check_ranks;
        const size_t slot = (size_t) to * (size_t) storm->window + (size_t) i;
        MPI_Isend(send[slot], (int) storm->bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[at]);
    }
    for (size_t at = 0; at < slots; at++) {
        MPI_Irecv(recv[at], (int) storm->bytes, MPI_BYTE, (int) (at / (size_t) storm->window),
                  (int) (at % (size_t) storm->window), MPI_COMM_WORLD, &requests[slots + at]);
    }
    MPI_Waitall((int) (2 * slots), requests, MPI_STATUSES_IGNORE);
    for (size_t at = 0; at < slots; at++) {
        const int peer = (int) (at / (size_t) storm->window);
        const int i = (int) (at % (size_t) storm->window);
        check_match(recv[at], storm->bytes, check_seed(peer, check_rank, serial + (uint64_t) i),
                    "in a storm");
        check_guards(recv[at], storm->bytes, "in a storm");
        check_guarded_free(send[at]);
        check_guarded_free(recv[at]);
    }
    free(send);
    free(recv);
    free(requests);
}

int main(int argc, char **argv)
{
    struct storm storm = {.window = 4, .bytes = CHECK_M + 1, .rounds = 3};

    check_begin(&argc, &argv);
    if (argc > 1) {
        storm.window = atoi(argv[1]);
    }
    if (argc > 2) {
        storm.bytes = (size_t) atol(argv[2]);
    }
    if (argc > 3) {
        storm.rounds = atoi(argv[3]);
    }
    for (int round = 0; round < storm.rounds; round++) {
        blow(&storm, round);
    }
    return check_end();
}
