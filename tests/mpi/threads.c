/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI_THREAD_MULTIPLE: four threads a rank exchange with the thread of the same number in the next
 * rank, each under its own tag, all at once: blocking and non-blocking, eager and large, in the
 * world and in a communicator of the thread's own. Usage: threads [rounds].
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, LARGEST = 600 * CHECK_K };

static const size_t sizes[] = {8, 4088,   12 * CHECK_K - 50, 12289, 40000, 4089, 100 * CHECK_K,
                               0, LARGEST};

static int rounds = 60;

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comm;
};

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
    char *send = check_memory(LARGEST);
    char *recv = check_memory(LARGEST);

    for (int round = 0; round < rounds; round++) {
        exchange(worker, round, send, recv);
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
