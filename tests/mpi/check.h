/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What every MPI test here uses: messages of known bytes, guards around buffers, the sizes at
 * which a transport changes its mind, a count of what went wrong, and the exit status.
 *
 * A test calls check_begin(), says check_that() of everything it knows, and returns check_end():
 * 0 if every rank found everything right, 1 if not. check_skip() leaves with 77. The counters may
 * be used by several threads.
 */
#ifndef RBUF_TESTS_MPI_CHECK_H
#define RBUF_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CHECK_GUARD = 64,     /* bytes before and behind a guarded buffer */
    CHECK_MAX_LINES = 10, /* failures that one rank describes */
    CHECK_SKIPPED = 77,
    CHECK_PATIENCE_S = 20, /* for what another process does while this one computes */
    CHECK_K = 1024,
    CHECK_M = 1024 * 1024,
};

static atomic_long check_failures;
static atomic_long check_count;
static int check_rank, check_ranks;

/*
 * Around every threshold: inline and sendi, a block's payload (4088) and multiples, the eager
 * limit, the borders of the first chunks (12K, +18K, +27K, ...), a staging buffer, a few large.
 */
static const size_t check_sizes[] = {
    0,
    1,
    7,
    8,
    9,
    63,
    64,
    65,
    255,
    256,
    257,
    4087,
    4088,
    4089,
    2 * 4088 - 1,
    2 * 4088,
    2 * 4088 + 1,
    3 * 4088 - 1,
    3 * 4088,
    3 * 4088 + 1,
    12 * CHECK_K - 33,
    12 * CHECK_K - 32,
    12 * CHECK_K - 1,
    12 * CHECK_K,
    12 * CHECK_K + 1,
    18 * CHECK_K - 1,
    18 * CHECK_K,
    18 * CHECK_K + 1,
    30 * CHECK_K - 1,
    30 * CHECK_K,
    30 * CHECK_K + 1,
    48 * CHECK_K - 100,
    48 * CHECK_K - 1,
    48 * CHECK_K,
    48 * CHECK_K + 1,
    57 * CHECK_K - 1,
    57 * CHECK_K,
    57 * CHECK_K + 1,
    64 * CHECK_K,
    100 * CHECK_K + 5,
    256 * CHECK_K - 1,
    256 * CHECK_K,
    256 * CHECK_K + 1,
    64 * 4088,
    64 * 4088 + 1,
    CHECK_M,
    4 * CHECK_M + 3,
};

enum { CHECK_SIZE_COUNT = sizeof check_sizes / sizeof check_sizes[0] };

/* Counts, and describes the first failures of this rank. Returns `right`. */
static inline bool __attribute__((format(printf, 2, 3)))
check_that(bool right, const char *format, ...)
{
    atomic_fetch_add(&check_count, 1);
    if (right) {
        return true;
    }
    if (atomic_fetch_add(&check_failures, 1) < CHECK_MAX_LINES) {
        char text[256];
        va_list list;
        va_start(list, format);
        vsnprintf(text, sizeof text, format, list);
        va_end(list);
        fprintf(stderr, "wrong: rank %d: %s\n", check_rank, text);
    }
    return false;
}

/* An MPI call that must succeed, for communicators whose errors are returned. */
static inline bool check_mpi(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &length);
    }
    return check_that(code == MPI_SUCCESS, "%s: %s", what, text);
}

static inline void check_begin_threads(int *argc, char ***argv, int wanted, int *provided)
{
    MPI_Init_thread(argc, argv, wanted, provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_ranks);
}

/* Before check_begin(): protocol auto is to think that registrations cost nothing until it knows
 * better, so that it makes some in a short test. */
static inline void check_free_registrations(void)
{
    setenv("OMPI_MCA_btl_rbuf_registration_time", "0", 0);
    setenv("OMPI_MCA_btl_rbuf_registration_page_time", "0", 0);
}

/* Before check_begin(): messages that are longer than receive buffers are by default have a
 * rendezvous, also those that would fit into a ring. */
static inline void check_short_eager(void)
{
    setenv("OMPI_MCA_btl_rbuf_eager_limit", "12288", 0);
}

/* Before check_begin(): every odd rank sets the parameters of rbuf that are given as NAME=VALUE
 * arguments for itself. */
static inline void check_unlike(char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    char name[128];

    if (rank == NULL || atoi(rank) % 2 == 0) {
        return;
    }
    for (char **argument = argv + 1; *argument != NULL; argument++) {
        char *equal = strchr(*argument, '=');

        if (equal != NULL) {
            snprintf(name, sizeof name, "OMPI_MCA_btl_rbuf_%.*s", (int) (equal - *argument),
                     *argument);
            setenv(name, equal + 1, 1);
        }
    }
}

static inline void check_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_ranks);
}

/* Collective: leaves the test with status 77. */
static inline void check_skip(const char *reason)
{
    if (check_rank == 0) {
        printf("skip: %s\n", reason);
    }
    MPI_Finalize();
    exit(CHECK_SKIPPED);
}

/* Before this process ends by itself: says when, for the scripts that wait for the others' end. */
static inline void check_say_end(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(stderr, "victim: killed at %lld.%03ld\n", (long long) now.tv_sec,
            now.tv_nsec / 1000000);
}

/* Ends this process as a crash would. */
static inline _Noreturn void check_die(void)
{
    check_say_end();
    raise(SIGKILL);
    abort();
}

/* True if mpirun was told to use rbuf. */
static inline bool check_is_rbuf(void)
{
    const char *btls = getenv("OMPI_MCA_btl");

    return btls != NULL && btls[0] != '^' && strstr(btls, "rbuf") != NULL;
}

/* Before MPI_Init: small one-sided operations of active epochs are packed (osc/rbuf), if the
 * transport is rbuf. False: it is another one. */
static inline bool check_pack_one_sided(void)
{
    return check_is_rbuf() && setenv("OMPI_MCA_osc", "rdma,rbuf", 1) == 0 &&
           setenv("OMPI_MCA_osc_rbuf_aggregate", "1", 1) == 0;
}

/* Collective: skips unless there are at least `least` ranks. */
static inline void check_need_ranks(int least)
{
    if (check_ranks < least) {
        check_skip("wants more ranks");
    }
}

/* Collective: sums up over the ranks, finalizes; the status to return from main. */
static inline int check_end(void)
{
    long mine[2] = {atomic_load(&check_count), atomic_load(&check_failures)};
    long all[2];

    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (check_rank == 0) {
        printf("%ld checks, %ld wrong\n", all[0], all[1]);
    }
    MPI_Finalize();
    return all[1] == 0 && all[0] > 0 ? 0 : 1;
}

/* The eight bytes at place i of the message `seed`: neighbours and seeds differ in all of them. */
static inline uint64_t check_word(uint64_t seed, uint64_t i)
{
    uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xd1342543de82ef95);

    x ^= x >> 29;
    return x * UINT64_C(0xbf58476d1ce4e5b9);
}

/* The seed of the serial-th message from one rank to another. */
static inline uint64_t check_seed(int from, int to, uint64_t serial)
{
    return serial << 20 | (uint64_t) from << 10 | (uint64_t) to;
}

static inline void check_fill(void *buffer, size_t size, uint64_t seed)
{
    char *bytes = buffer;

    for (size_t i = 0; i < size; i += 8) {
        const uint64_t word = check_word(seed, i / 8);
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
}

/* Compares; the first wrong byte is described with `what`. */
static inline bool check_match(const void *buffer, size_t size, uint64_t seed, const char *what)
{
    const char *bytes = buffer;

    for (size_t i = 0; i < size; i += 8) {
        const uint64_t word = check_word(seed, i / 8);
        if (memcmp(bytes + i, &word, size - i < 8 ? size - i : 8) != 0) {
            return check_that(false, "%s: %zu bytes, wrong at or behind byte %zu", what, size, i);
        }
    }
    return check_that(true, "%s", what);
}

static inline void *check_memory(size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);

    if (memory == NULL) {
        fprintf(stderr, "wrong: rank %d: no memory for %zu bytes\n", check_rank, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Collective: makes a window of so many bytes of each rank, or skips. The caller frees it, then the
 * memory. */
static inline char *check_window(size_t bytes, MPI_Win *win)
{
    char *memory = check_memory(bytes);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_create(memory, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win) !=
        MPI_SUCCESS) {
        check_skip("Open MPI can make no window over this transport");
    }
    return memory;
}

/* Collective: skips if there can be no window. */
static inline void check_need_windows(void)
{
    MPI_Win win;
    char *memory = check_window(1, &win);

    MPI_Win_free(&win);
    free(memory);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Waits for a byte that another process writes, without a call of MPI that makes progress. */
static inline bool check_becomes(const char *byte, char value)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const double start = MPI_Wtime();

    while (*(const volatile char *) byte != value) {
        if (MPI_Wtime() - start > CHECK_PATIENCE_S) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

/* A buffer with CHECK_GUARD known bytes on both sides; freed by check_guarded_free(). */
static inline char *check_guarded(size_t size)
{
    char *base = check_memory(size + 2 * CHECK_GUARD);

    memset(base, 0x5a, size + 2 * CHECK_GUARD);
    return base + CHECK_GUARD;
}

static inline bool check_guards(const char *buffer, size_t size, const char *what)
{
    for (size_t i = 0; i < CHECK_GUARD; i++) {
        if (buffer[-1 - (ptrdiff_t) i] != 0x5a || buffer[size + i] != 0x5a) {
            return check_that(false, "%s: written outside of %zu bytes, %zu away", what, size, i);
        }
    }
    return check_that(true, "%s", what);
}

static inline void check_guarded_free(char *buffer)
{
    free(buffer - CHECK_GUARD);
}

/* A small deterministic generator for sizes and orders. */
static inline uint64_t check_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

#endif
