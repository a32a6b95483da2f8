/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI_THREAD_MULTIPLE: four threads a rank exchange with the thread of the same number in the next
 * rank, each under its own tag, all at once: blocking and non-blocking, eager and large, packed and
 * not, in the world and in a communicator of the thread's own. Usage: threads [rounds].
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, LARGEST = 600 * CHECK_K, BLOCK = 64 };

static const size_t sizes[] = {8, 4088,   12 * CHECK_K - 50, 49153, 60000, 4089, 100 * CHECK_K,
                               0, LARGEST};

static int rounds = 60;

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comm;
};

/* So many blocks, the last one first: packed, and no byte is left out. */
static MPI_Datatype backwards(size_t blocks)
{
    MPI_Datatype type;

    MPI_Type_create_hvector((int) blocks, BLOCK, -BLOCK, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void exchange_packed(const struct worker *worker, int round, char *send, char *recv)
{
    const int next = (check_rank + 1) % check_ranks;
    const int previous = (check_rank + check_ranks - 1) % check_ranks;
    const size_t blocks = sizes[(size_t) round % (sizeof sizes / sizeof sizes[0])] / BLOCK + 1;
    const uint64_t serial = (uint64_t) round * THREADS + (uint64_t) worker->number;
    MPI_Datatype type = backwards(blocks);

    check_fill(send, blocks * BLOCK, check_seed(check_rank, next, serial));
    memset(recv, 0, blocks * BLOCK);
    MPI_Sendrecv(send + (blocks - 1) * BLOCK, 1, type, next, worker->number,
                 recv + (blocks - 1) * BLOCK, 1, type, previous, worker->number, worker->comm,
                 MPI_STATUS_IGNORE);
    check_match(recv, blocks * BLOCK, check_seed(previous, check_rank, serial), "packed");
    MPI_Type_free(&type);
}

static void exchange(const struct worker *worker, int round, char *send, char *recv)
{
    const int next = (check_rank + 1) % check_ranks;
    const int previous = (check_rank + check_ranks - 1) % check_ranks;
    const size_t at = (size_t) (round + 3 * worker->number) % (sizeof sizes / sizeof sizes[0]);
    const size_t size = sizes[at];
    const uint64_t serial = (uint64_t) round * THREADS + (uint64_t) worker->number;
    const MPI_Comm comm = round % 2 == 0 ? MPI_COMM_WORLD : worker->comm;

    check_fill(send, size, check_seed(check_rank, next, serial));
    memset(recv, 0, size);
    if (round % 3 == 0) {
        MPI_Sendrecv(send, (int) size, MPI_BYTE, next, worker->number, recv, (int) size, MPI_BYTE,
                     previous, worker->number, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Request requests[2];
        int done = 0;
        MPI_Isend(send, (int) size, MPI_BYTE, next, worker->number, comm, &requests[0]);
        MPI_Irecv(recv, (int) size, MPI_BYTE, previous, worker->number, comm, &requests[1]);
        while (round % 3 == 1 && !done) {
            MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    check_match(recv, size, check_seed(previous, check_rank, serial), "between threads");
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    char *send = check_memory(LARGEST + BLOCK);
    char *recv = check_memory(LARGEST + BLOCK);

    for (int round = 0; round < rounds; round++) {
        exchange(worker, round, send, recv);
        exchange_packed(worker, round, send, recv);
    }
    free(send);
    free(recv);
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS];
    int provided;

    check_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        check_skip("this Open MPI has no MPI_THREAD_MULTIPLE");
    }
    if (argc > 1) {
        rounds = atoi(argv[1]);
    }
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fprintf(stderr, "wrong: rank %d: no thread\n", check_rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        MPI_Comm_free(&workers[i].comm);
    }
    return check_end();
}
