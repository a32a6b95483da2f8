/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A process that has sent what it had to send, and calls MPI no more for a while: what it has sent
 * arrives meanwhile. To peers that it has never spoken to, to one that calls at the same moment,
 * and to one that comes late, when the sender has long used up its credits.
 *
 * Four ranks: 0 and 3 send and compute, 1 and 2 receive; so that the caller's name is once the
 * smaller one, once the larger one. `computing threads` runs with MPI_THREAD_MULTIPLE.
 */
#include "check.h"

#include <time.h>

#define COMPUTE_S 2.9
#define SOON_S    2.4 /* until which what was sent has to be there, beside other jobs */
#define LATE_S    0.3 /* that the receiver of a burst comes late */
#define STEP_S    3.1
#define BURST     200 /* messages of each size; a sender leaves when some 250 of them wait */

static const int burst_sizes[] = {40000, 4000, 8, 0};

static void pass_time(double seconds)
{
    const struct timespec time = {.tv_sec = (time_t) seconds,
                                  .tv_nsec = (long) ((seconds - (double) (time_t) seconds) * 1e9)};

    nanosleep(&time, NULL);
}

static bool computes(void)
{
    return check_rank == 0 || check_rank == 3;
}

/* Without a word of MPI's in between: as if each had waited for a signal. */
static void meet(double start, int step)
{
    const double due = start + step * STEP_S;
    const double now = MPI_Wtime();

    if (due > now) {
        pass_time(due - now);
    }
}

static void send_words(int to, int count, int size, void *buffer)
{
    for (int i = 0; i < count; i++) {
        check_fill(buffer, (size_t) size, check_seed(check_rank, to, (uint64_t) i));
        MPI_Send(buffer, size, MPI_BYTE, to, size, MPI_COMM_WORLD);
    }
}

static void receive_words(int from, int count, int size, void *buffer, const char *what)
{
    const double start = MPI_Wtime();
    double taken;

    for (int i = 0; i < count; i++) {
        MPI_Recv(buffer, size, MPI_BYTE, from, size, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, (size_t) size, check_seed(from, check_rank, (uint64_t) i), what);
    }
    taken = MPI_Wtime() - start;
    check_that(taken < SOON_S, "%s: %d messages of %d bytes from %d took %.1f s", what, count, size,
               from, taken);
}

/* The first words between the two. */
static void first_words(int partner, void *buffer)
{
    if (computes()) {
        send_words(partner, 3, 8, buffer);
        pass_time(COMPUTE_S);
    } else {
        receive_words(partner, 3, 8, buffer, "first words");
    }
}

/* Likewise, but both call. */
static void first_words_of_both(int partner, void *buffer)
{
    send_words(partner, 1, 8, buffer);
    if (computes()) {
        pass_time(COMPUTE_S);
        receive_words(partner, 1, 8, buffer, "first words of the other");
    } else {
        receive_words(partner, 1, 8, buffer, "first words of both");
    }
}

static void bursts(int partner, void *buffer)
{
    if (!computes()) {
        pass_time(LATE_S);
    }
    for (size_t i = 0; i < sizeof burst_sizes / sizeof burst_sizes[0]; i++) {
        if (computes()) {
            send_words(partner, BURST, burst_sizes[i], buffer);
        } else {
            receive_words(partner, BURST, burst_sizes[i], buffer, "a burst");
        }
    }
    if (computes()) {
        pass_time(COMPUTE_S);
    }
}

int main(int argc, char **argv)
{
    const bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    void *buffer = check_memory(CHECK_M);
    double start;
    int provided;

    check_begin_threads(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    check_need_ranks(4);
    start = MPI_Wtime();
    if (check_rank < 4) {
        first_words(check_rank ^ 1, buffer);
        meet(start, 1);
        first_words_of_both(check_rank ^ 2, buffer);
        meet(start, 2);
        bursts(check_rank ^ 1, buffer);
    }
    free(buffer);
    return check_end();
}
