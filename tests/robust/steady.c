/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Checked traffic that goes on for a while and meets new peers on its way: ranks 0 and 1 exchange
 * all the time, and in equal intervals rank 0 greets one more of the others, which wait for it, and
 * with it a queue pair is set up. Usage: steady [seconds].
 */
#include "check.h"

#include <unistd.h>

enum { LARGE = 200 * CHECK_K + 3, GREETING = 60 * CHECK_K, TAG_MORE = 1, TAG_GREETING = 2 };

static void exchange(char *send, char *recv, size_t size, int peer, uint64_t serial, int tag)
{
    check_fill(send, size, check_seed(check_rank, peer, serial));
    MPI_Sendrecv(send, (int) size, MPI_BYTE, peer, tag, recv, (int) size, MPI_BYTE, peer, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_match(recv, size, check_seed(peer, check_rank, serial), "exchanged");
}

/* A queue pair is set up by what rank 0 sends: the other one has waited without a word. */
static void greet(char *buffer, int peer)
{
    check_fill(buffer, GREETING, check_seed(0, peer, 0));
    MPI_Send(buffer, GREETING, MPI_BYTE, peer, TAG_GREETING, MPI_COMM_WORLD);
    MPI_Recv(buffer, GREETING, MPI_BYTE, peer, TAG_GREETING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_match(buffer, GREETING, check_seed(peer, 0, 0), "greeted back");
}

static void be_greeted(char *buffer)
{
    MPI_Recv(buffer, GREETING, MPI_BYTE, 0, TAG_GREETING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_match(buffer, GREETING, check_seed(0, check_rank, 0), "greeted");
    check_fill(buffer, GREETING, check_seed(check_rank, 0, 0));
    MPI_Send(buffer, GREETING, MPI_BYTE, 0, TAG_GREETING, MPI_COMM_WORLD);
}

/* Rank 0 says before each round whether there is one. */
static void keep_on(char *send, char *recv, double seconds)
{
    static const size_t sizes[] = {8, 1000, 5000, 12288, 60000, LARGE};
    const double start = MPI_Wtime();
    int greeted = 1;
    int more = 1;

    for (uint64_t round = 0; more; round++) {
        const double passed = MPI_Wtime() - start;

        if (check_rank == 0) {
            more = passed < seconds || round < 10;
            if (greeted + 1 < check_ranks &&
                (!more || passed > seconds * greeted / (check_ranks - 1))) {
                greeted++;
                greet(send, greeted);
            }
            more = more || greeted + 1 < check_ranks;
            MPI_Send(&more, 1, MPI_INT, 1, TAG_MORE, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&more, 1, MPI_INT, 0, TAG_MORE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (more) {
            exchange(send, recv, sizes[round % 6], 1 - check_rank, round, TAG_MORE);
        }
    }
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 3;
    char *send, *recv;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    send = check_memory(LARGE);
    recv = check_memory(LARGE);
    if (check_rank < 2) {
        keep_on(send, recv, seconds);
    } else {
        be_greeted(recv);
    }
    free(send);
    free(recv);
    return check_end();
}
