/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages there and back, one at a time, every byte compared and nothing written around them:
 * the table of sizes at several alignments, every size around two eager limits, multiples of a
 * block's payload, and random sizes. With the argument "brief" only the table, at one alignment.
 */
#include "check.h"

enum { LARGEST = 4 * CHECK_M + 3, MISALIGNED = 64 };

struct buffers {
    char *send, *recv;
};

static void exchange(const struct buffers *buffers, size_t size, size_t offset)
{
    static uint64_t serial;
    const int peer = 1 - check_rank;
    char *send = buffers->send + offset;
    char *recv = buffers->recv + offset;
    MPI_Status status;
    int count;

    serial++;
    check_fill(send, size, check_seed(check_rank, peer, serial));
    memset(recv - 8, 0x5a, size + 16);
    if (check_rank == 0) {
        MPI_Send(send, (int) size, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    }
    MPI_Recv(recv, (int) size, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
    if (check_rank == 1) {
        MPI_Send(send, (int) size, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    check_that((size_t) count == size, "count %d of a message of %zu", count, size);
    check_match(recv, size, check_seed(peer, check_rank, serial), "received");
    for (int i = 1; i <= 8; i++) {
        check_that(recv[-i] == 0x5a && recv[size + (size_t) i - 1] == 0x5a,
                   "%zu bytes at offset %zu: written %d outside", size, offset, i);
    }
}

static void around_thresholds(const struct buffers *buffers)
{
    uint64_t random = 20260801;

    for (size_t size = 17 * CHECK_K - 40; size <= 17 * CHECK_K + 40; size++) {
        exchange(buffers, size, 16);
    }
    for (size_t size = 48 * CHECK_K - 100; size <= 48 * CHECK_K + 40; size++) {
        exchange(buffers, size, 16);
    }
    for (size_t blocks = 1; blocks <= 130; blocks++) {
        exchange(buffers, blocks * 4088 - 1, 16);
        exchange(buffers, blocks * 4088, 16);
        exchange(buffers, blocks * 4088 + 1, 16);
    }
    for (int i = 0; i < 200; i++) {
        exchange(buffers, check_random(&random) % (CHECK_M + CHECK_M / 2),
                 8 + check_random(&random) % 48);
    }
}

int main(int argc, char **argv)
{
    struct buffers buffers;
    bool brief;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    brief = argc > 1 && strcmp(argv[1], "brief") == 0;
    if (check_rank < 2) {
        buffers.send = check_memory(LARGEST + 2 * MISALIGNED);
        buffers.recv = check_memory(LARGEST + 2 * MISALIGNED);
        for (size_t i = 0; i < CHECK_SIZE_COUNT; i++) {
            for (size_t offset = 8; offset < (brief ? 9 : 32); offset += 7) {
                exchange(&buffers, check_sizes[i], offset);
            }
        }
        if (!brief) {
            around_thresholds(&buffers);
        }
        free(buffers.send);
        free(buffers.recv);
    }
    return check_end();
}
