/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * MPI_THREAD_MULTIPLE in one epoch of one window: several threads of each rank put, get and
 * accumulate to the next one at once. With "packed" by osc/rbuf, and then also: accumulates of
 * unlike derived types, longer than a message, whose target posts late.
 *
 * With "flushes" threads flush accumulates of a passive epoch on and on, one target or all, while
 * another one flushes all: what it asked for is answered, though there is never a moment without
 * a question.
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

enum {
    THREADS = 4,
    SMALL = 504,   /* bytes of a put or get that is packed */
    LARGE = 10000, /* that is not */
    BOTH = SMALL + LARGE,
    LONG = 6000,         /* ints of an accumulate */
    AREA = 4 * LONG * 5, /* bytes of each thread in a window */
    COUNTER = THREADS * AREA,
    WINDOW = COUNTER + 8,
    ROUNDS = 20,
    LATE = 50000 /* us */
};

enum synchronisation { FENCE, GROUPS, LOCK_ALL, SYNCHRONISATIONS };

static struct {
    char *memory;
    MPI_Win win;
    MPI_Group next, previous;
    pthread_barrier_t barrier;
    enum synchronisation how;
    int round;
} shared;

static int neighbour(int distance)
{
    return (check_rank + distance + check_ranks) % check_ranks;
}

static void begin(void)
{
    if (shared.how == FENCE) {
        MPI_Win_fence(0, shared.win);
    } else if (shared.how == GROUPS) {
        MPI_Win_post(shared.previous, 0, shared.win);
        MPI_Win_start(shared.next, 0, shared.win);
    } else {
        MPI_Win_lock_all(0, shared.win);
    }
}

static void end(void)
{
    if (shared.how == FENCE) {
        MPI_Win_fence(0, shared.win);
    } else if (shared.how == GROUPS) {
        MPI_Win_complete(shared.win);
        MPI_Win_wait(shared.win);
    } else {
        MPI_Win_unlock_all(shared.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* An epoch with `work` done by all threads, each of which is given its number. */
static void epoch(void *(*work)(void *) )
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    begin();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) {
            fprintf(stderr, "wrong: rank %d: no thread\n", check_rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    end();
}

static uint64_t seed_of(int from, int thread)
{
    return check_seed(from, thread, (uint64_t) shared.round);
}

/* Where the part of a thread's bytes is that is put or got first, or second. */
static int part_at(int thread, int which, int *size)
{
    const bool small = (thread + which + shared.round) % 2 == 0;

    *size = small ? SMALL : LARGE;
    return small ? 0 : SMALL;
}

/* The memory of puts stays until the epoch is over. */
static char *sources[THREADS];

static void *put(void *argument)
{
    const int thread = *(const int *) argument;
    static const int64_t one = 1;
    int size;

    check_fill(sources[thread], BOTH, seed_of(check_rank, thread));
    pthread_barrier_wait(&shared.barrier);
    for (int which = 0; which < 2; which++) {
        const int at = part_at(thread, which, &size);

        check_mpi(MPI_Put(sources[thread] + at, size, MPI_BYTE, neighbour(1),
                          (MPI_Aint) thread * AREA + at, size, MPI_BYTE, shared.win),
                  "MPI_Put");
    }
    check_mpi(MPI_Accumulate(&one, 1, MPI_INT64_T, neighbour(1), COUNTER, 1, MPI_INT64_T, MPI_SUM,
                             shared.win),
              "MPI_Accumulate");
    return NULL;
}

static void *get(void *argument)
{
    const int thread = *(const int *) argument;
    int size;

    memset(sources[thread], 0, BOTH);
    pthread_barrier_wait(&shared.barrier);
    for (int which = 0; which < 2; which++) {
        const int at = part_at(thread, which, &size);

        check_mpi(MPI_Get(sources[thread] + at, size, MPI_BYTE, neighbour(1),
                          (MPI_Aint) thread * AREA + at, size, MPI_BYTE, shared.win),
                  "MPI_Get");
    }
    return NULL;
}

static void put_and_get(enum synchronisation how)
{
    int64_t *counter = (int64_t *) (void *) (shared.memory + COUNTER);

    shared.how = how;
    for (shared.round = 0; shared.round < ROUNDS; shared.round++) {
        *counter = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        epoch(put);
        check_that(*counter == THREADS, "%d threads added one: the sum is %lld", THREADS,
                   (long long) *counter);
        epoch(get);
        for (int thread = 0; thread < THREADS; thread++) {
            check_match(shared.memory + (size_t) thread * AREA, BOTH,
                        seed_of(neighbour(-1), thread), "put");
            check_match(sources[thread], BOTH, seed_of(check_rank, thread), "get");
        }
    }
}

/* ---- unlike types ---- */

static int ints[LONG];

/* Each second int, each third, and so on. */
static void *add(void *argument)
{
    const int thread = *(const int *) argument;
    MPI_Datatype type;

    MPI_Type_vector(LONG, 1, 2 + thread, MPI_INT, &type);
    MPI_Type_commit(&type);
    check_mpi(MPI_Accumulate(ints, LONG, MPI_INT, neighbour(1), (MPI_Aint) thread * AREA, 1, type,
                             MPI_SUM, shared.win),
              "MPI_Accumulate");
    MPI_Type_free(&type);
    return NULL;
}

static void check_sums(int thread)
{
    const int *sums = (const int *) (void *) (shared.memory + (size_t) thread * AREA);
    int wrong = 0;

    for (int i = 0; i < LONG * (2 + thread) && i < AREA / 4; i++) {
        wrong += sums[i] != (i % (2 + thread) == 0 ? i / (2 + thread) + 1 : 0);
    }
    check_that(wrong == 0, "thread %d's accumulate: %d ints are wrong", thread, wrong);
}

/* Odd ranks post when the even ones, all of whose threads have begun, have nowhere to send to. */
static void unlike_types(void)
{
    memset(shared.memory, 0, WINDOW);
    for (int i = 0; i < LONG; i++) {
        ints[i] = i + 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    shared.how = GROUPS;
    if (check_rank % 2 == 1) {
        usleep(LATE);
    }
    epoch(add);
    for (int thread = 0; thread < THREADS; thread++) {
        check_sums(thread);
    }
}

/* ---- flushes ---- */

enum { FLUSHES = 300, FLUSHERS = 3 };

static atomic_bool flushing;

/* The first of the threads flushes all, the others one target each, on and on. */
static void *flush_on(void *argument)
{
    const int thread = *(const int *) argument;
    const long one = 1;
    long found;

    while (atomic_load(&flushing)) {
        const int target = neighbour(1 + thread % (check_ranks - 1));

        MPI_Fetch_and_op(&one, &found, MPI_LONG, target, 8l * (1 + thread), MPI_SUM, shared.win);
        if (thread == 0) {
            MPI_Win_flush_all(shared.win);
        } else {
            MPI_Win_flush(target, shared.win);
        }
    }
    return NULL;
}

/* A flush, of all or of a target in turn, has brought what this thread asked for. */
static void flush_beside(int turn, long *found)
{
    const long one = 1;

    for (int target = 0; target < check_ranks; target++) {
        found[target] = -1;
        MPI_Fetch_and_op(&one, &found[target], MPI_LONG, target, 8l * (10 + check_rank), MPI_SUM,
                         shared.win);
    }
    if (turn % 2 == 0) {
        MPI_Win_flush_all(shared.win);
    }
    for (int target = 0; target < check_ranks; target++) {
        if (turn % 2 != 0) {
            MPI_Win_flush(target, shared.win);
        }
        check_that(found[target] == turn, "turn %d: %ld from rank %d", turn, found[target], target);
    }
}

static void flushes(void)
{
    long *found = calloc((size_t) check_ranks, sizeof(long));
    pthread_t threads[FLUSHERS];
    int numbers[FLUSHERS];

    memset(shared.memory, 0, WINDOW);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, shared.win);
    atomic_store(&flushing, true);
    for (int i = 0; i < FLUSHERS; i++) {
        numbers[i] = i;
        check_that(pthread_create(&threads[i], NULL, flush_on, &numbers[i]) == 0, "no thread");
    }
    for (int turn = 0; turn < FLUSHES; turn++) {
        flush_beside(turn, found);
    }
    atomic_store(&flushing, false);
    for (int i = 0; i < FLUSHERS; i++) {
        pthread_join(threads[i], NULL);
    }
    MPI_Win_unlock_all(shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
    free(found);
}

int main(int argc, char **argv)
{
    const bool flushes_alone = argc > 1 && strcmp(argv[1], "flushes") == 0 &&
                               check_pack_one_sided() &&
                               setenv("OMPI_MCA_osc_rbuf_passive", "1", 1) == 0;
    const bool packed = argc > 1 && strcmp(argv[1], "packed") == 0 && check_pack_one_sided();
    MPI_Group world;
    int provided, rank;

    check_begin_threads(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        check_skip("this Open MPI has no MPI_THREAD_MULTIPLE");
    }
    check_need_ranks(2);
    pthread_barrier_init(&shared.barrier, NULL, THREADS);
    shared.memory = check_window(WINDOW, &shared.win);
    MPI_Win_set_errhandler(shared.win, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    rank = neighbour(1);
    MPI_Group_incl(world, 1, &rank, &shared.next);
    rank = neighbour(-1);
    MPI_Group_incl(world, 1, &rank, &shared.previous);
    for (int i = 0; i < THREADS; i++) {
        sources[i] = check_memory(BOTH);
    }
    for (int how = 0; how < SYNCHRONISATIONS && !flushes_alone; how++) {
        put_and_get((enum synchronisation) how);
    }
    if (flushes_alone) {
        flushes();
    }
    if (packed) {
        unlike_types();
    }
    for (int i = 0; i < THREADS; i++) {
        free(sources[i]);
    }
    MPI_Group_free(&shared.next);
    MPI_Group_free(&shared.previous);
    MPI_Group_free(&world);
    MPI_Win_free(&shared.win);
    free(shared.memory);
    return check_end();
}
