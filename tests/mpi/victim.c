/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A rank that is killed in the middle of large transfers. It does not return: the runner checks
 * that mpirun ends, soon and with a failure. Rank 1 dies after some rounds with messages of both
 * directions under way, plain bytes and, every second one, blocks of a strided type; the others go
 * on exchanging with it and with each other until somebody ends them.
 *
 * Usage: victim [exit]: it leaves by _exit(0) instead, which a launcher may take for a good end.
 */
#include "check.h"

#include <unistd.h>

enum { WINDOW = 4, SIZE = 2 * CHECK_M, STRIDE = 128, ROUNDS_TO_LIVE = 20 };

static _Noreturn void end(bool exits)
{
    if (exits) {
        check_say_end();
        _exit(0);
    }
    check_die();
}

int main(int argc, char **argv)
{
    const bool exits = argc > 1 && strcmp(argv[1], "exit") == 0;
    MPI_Request requests[2 * WINDOW * 16];

    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (check_ranks > 16) {
        check_skip("at most 16 ranks");
    }
    char *send = check_memory(SIZE);
    char *recv = check_memory((size_t) WINDOW * 16 * SIZE);
    MPI_Datatype blocks;
    check_fill(send, SIZE, 1);
    MPI_Type_vector(SIZE / STRIDE, STRIDE / 2, STRIDE, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    for (int round = 0;; round++) {
        int n = 0, done = 0;
        for (int i = 0; i < WINDOW * check_ranks; i++) {
            const int peer = i % check_ranks;
            const int tag = i / check_ranks;
            const MPI_Datatype type = tag % 2 == 0 ? MPI_BYTE : blocks;
            const int count = tag % 2 == 0 ? SIZE : 1;
            MPI_Irecv(recv + (size_t) i * SIZE, count, type, peer, tag, MPI_COMM_WORLD,
                      &requests[n++]);
            MPI_Isend(send, count, type, peer, tag, MPI_COMM_WORLD, &requests[n++]);
        }
        if (check_rank == 1 && round == ROUNDS_TO_LIVE) {
            for (int i = 0; i < 20 && !done; i++) {
                MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
            }
            end(exits);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
}
