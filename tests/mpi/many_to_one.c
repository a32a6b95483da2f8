/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * All ranks send to rank 0, which receives from anyone: each source's messages arrive whole and in
 * its order. Small ones come in floods that no flow control but the transport's own holds back.
 */
#include "check.h"

enum { MESSAGES = 600, LARGEST = 200 * CHECK_K, WINDOW = 32 };

static size_t size_of(int source, int i)
{
    static const size_t sizes[] = {8, 40,  4088,  100, 12300, 64,     1,
                                   0, 700, 33333, 256, 50000, LARGEST};

    return sizes[(size_t) (i * 7 + source) % (sizeof sizes / sizeof sizes[0])];
}

static void flood(int target)
{
    MPI_Request requests[WINDOW];
    char *buffers = check_memory((size_t) WINDOW * LARGEST);

    for (int start = 0; start < MESSAGES; start += WINDOW) {
        const int n = MESSAGES - start < WINDOW ? MESSAGES - start : WINDOW;
        for (int i = 0; i < n; i++) {
            char *buffer = buffers + (size_t) i * LARGEST;
            const size_t size = size_of(check_rank, start + i);
            check_fill(buffer, size, check_seed(check_rank, target, (uint64_t) (start + i)));
            MPI_Isend(buffer, (int) size, MPI_BYTE, target, check_rank, MPI_COMM_WORLD,
                      &requests[i]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
    free(buffers);
}

static void drain(void)
{
    char *buffer = check_memory(LARGEST);
    int *next = check_memory((size_t) check_ranks * sizeof *next);

    memset(next, 0, (size_t) check_ranks * sizeof *next);
    for (int n = 0; n < (check_ranks - 1) * MESSAGES; n++) {
        MPI_Status status;
        int count;
        MPI_Recv(buffer, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        const int source = status.MPI_SOURCE;
        const int i = next[source]++;
        check_that(status.MPI_TAG == source, "tag %d from rank %d", status.MPI_TAG, source);
        check_that((size_t) count == size_of(source, i), "message %d of rank %d has %d bytes", i,
                   source, count);
        check_match(buffer, (size_t) count, check_seed(source, check_rank, (uint64_t) i), "flood");
    }
    free(buffer);
    free(next);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    for (int target = 0; target < 2; target++) {
        if (check_rank == target) {
            drain();
        } else {
            flood(target);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return check_end();
}
