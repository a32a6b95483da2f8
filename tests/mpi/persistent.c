/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Persistent requests: the same send and receive requests started again and again, with new bytes
 * each time; single starts and MPI_Startall, standard and synchronous sends. Buffered ones are left
 * out: Open MPI 4.1.4 delivers wrong bytes for MPI_Bsend_init over tcp and vader too.
 */
#include "check.h"

enum { SIZES = 6, KINDS = 2, ROUNDS = 25 };

static const size_t sizes[SIZES] = {8, 4088, 12288, 50000, 100 * CHECK_K + 1, CHECK_M};
static const char *const kinds[KINDS] = {"persistent Send", "persistent Ssend"};

static void init_sends(char *const *send, int peer, MPI_Request *requests)
{
    for (int i = 0; i < SIZES; i++) {
        const int n = (int) sizes[i];
        MPI_Send_init(send[i], n, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Ssend_init(send[SIZES + i], n, MPI_BYTE, peer, SIZES + i, MPI_COMM_WORLD,
                       &requests[SIZES + i]);
    }
}

static void run_rounds(char *const *send, char *const *recv, MPI_Request *requests, int peer)
{
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KINDS * SIZES; i++) {
            check_fill(send[i], sizes[i % SIZES],
                       check_seed(check_rank, peer, round * 100 + (uint64_t) i));
            memset(recv[i], 0, sizes[i % SIZES]);
        }
        if (round % 2 == 0) {
            MPI_Startall(2 * KINDS * SIZES, requests);
        } else {
            for (int i = 2 * KINDS * SIZES - 1; i >= 0; i--) {
                MPI_Start(&requests[i]);
            }
        }
        MPI_Waitall(2 * KINDS * SIZES, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < KINDS * SIZES; i++) {
            check_match(recv[i], sizes[i % SIZES],
                        check_seed(peer, check_rank, round * 100 + (uint64_t) i), kinds[i / SIZES]);
        }
    }
}

int main(int argc, char **argv)
{
    char *send[KINDS * SIZES], *recv[KINDS * SIZES];
    MPI_Request requests[2 * KINDS * SIZES];

    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (check_rank < 2) {
        for (int i = 0; i < KINDS * SIZES; i++) {
            send[i] = check_memory(sizes[i % SIZES]);
            recv[i] = check_memory(sizes[i % SIZES]);
        }
        init_sends(send, 1 - check_rank, requests);
        for (int i = 0; i < KINDS * SIZES; i++) {
            MPI_Recv_init(recv[i], (int) sizes[i % SIZES], MPI_BYTE, 1 - check_rank, i,
                          MPI_COMM_WORLD, &requests[KINDS * SIZES + i]);
        }
        run_rounds(send, recv, requests, 1 - check_rank);
        for (int i = 0; i < 2 * KINDS * SIZES; i++) {
            MPI_Request_free(&requests[i]);
        }
        for (int i = 0; i < KINDS * SIZES; i++) {
            free(send[i]);
            free(recv[i]);
        }
    }
    return check_end();
}
