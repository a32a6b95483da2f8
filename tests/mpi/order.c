/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages of one tag do not overtake: sizes jump between inline, eager and large, so that they
 * take different paths through the transport, and each must be received in the order of sending.
 * The receiver uses wildcards and knows a message by its size and its bytes. First one way at a
 * time, then both at once: more rendezvous wait on either side than a ring has slots, with answers
 * to its own among them.
 */
#include "check.h"

enum { MESSAGES = 2000, AT_ONCE = 50, BOTH_WAYS = 200, ROUNDS = 6 };

static const size_t sizes[] = {0,     8,       300 * CHECK_K, 64,        12 * CHECK_K, 50 * CHECK_K,
                               1,     4088,    256,           4096 * 25, 12256,        12257,
                               70001, 3 * 4088};

static size_t size_of(int i)
{
    return sizes[(size_t) i * 5 % (sizeof sizes / sizeof sizes[0])];
}

static void send_all(int peer)
{
    static char *buffers[AT_ONCE];
    MPI_Request requests[AT_ONCE];

    for (int i = 0; i < AT_ONCE; i++) {
        buffers[i] = check_memory(300 * CHECK_K);
    }
    for (int start = 0; start < MESSAGES; start += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            const size_t size = size_of(start + i);
            check_fill(buffers[i], size, (uint64_t) (start + i));
            MPI_Isend(buffers[i], (int) size, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        free(buffers[i]);
    }
}

static void receive_all(void)
{
    char *buffer = check_memory(300 * CHECK_K);

    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status;
        int count;
        MPI_Recv(buffer, 300 * CHECK_K, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        check_that((size_t) count == size_of(i), "message %d has %d bytes, not %zu: overtaken", i,
                   count, size_of(i));
        check_match(buffer, (size_t) count, (uint64_t) i, "in order");
    }
    free(buffer);
}

static void check_order(const MPI_Status *status, const char *buffer, int i)
{
    int count;

    MPI_Get_count(status, MPI_BYTE, &count);
    check_that((size_t) count == size_of(i), "message %d has %d bytes, not %zu: overtaken", i,
               count, size_of(i));
    check_match(buffer, (size_t) count, (uint64_t) i, "in order, both ways");
}

static void exchange(int peer, int first, char *const *send, char *const *receive)
{
    static MPI_Request requests[2 * BOTH_WAYS];
    static MPI_Status statuses[2 * BOTH_WAYS];

    for (int i = 0; i < BOTH_WAYS; i++) {
        check_fill(send[i], size_of(first + i), (uint64_t) (first + i));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BOTH_WAYS; i++) {
        MPI_Irecv(receive[i], 300 * CHECK_K, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[i]);
    }
    for (int i = 0; i < BOTH_WAYS; i++) {
        MPI_Isend(send[i], (int) size_of(first + i), MPI_BYTE, peer, 3, MPI_COMM_WORLD,
                  &requests[BOTH_WAYS + i]);
    }
    MPI_Waitall(2 * BOTH_WAYS, requests, statuses);
    for (int i = 0; i < BOTH_WAYS; i++) {
        check_order(&statuses[i], receive[i], first + i);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* which the next wildcards are not to match */
}

static void exchange_all(int peer)
{
    static char *send[BOTH_WAYS], *receive[BOTH_WAYS];

    for (int i = 0; i < BOTH_WAYS; i++) {
        send[i] = check_memory(300 * CHECK_K);
        receive[i] = check_memory(300 * CHECK_K);
    }
    for (int round = 0; round < ROUNDS; round++) {
        exchange(peer, round * BOTH_WAYS, send, receive);
    }
    for (int i = 0; i < BOTH_WAYS; i++) {
        free(send[i]);
        free(receive[i]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    for (int round = 0; round < 2; round++) {
        if (check_rank == round) {
            send_all(1 - round);
        } else if (check_rank == 1 - round) {
            receive_all();
        }
    }
    if (check_rank < 2) {
        exchange_all(1 - check_rank);
    }
    return check_end();
}
