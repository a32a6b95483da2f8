/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A program that uses large buffers in turn, in a steady rhythm: the benchmark of figure 1 of Li et
 * al., "Scalable Memory Registration for High Performance Networks Using Helper Threads", 2011, and
 * one that transposes as NAS FT does. All go without MPI for a while between.
 *
 *     rhythm [--alltoall] [--buffers N] [--size BYTES] [--pause MS] [--turns N] [--fresh]
 *            [--csv FILE] [--where]
 *
 * Rank 0 sends to the others from each buffer in turn. --alltoall: all exchange with all, out of
 * each buffer into the next one. --fresh: each exchange has buffers of its own, and all are kept.
 *
 * Prints for rank 0 the median and mean time of an exchange, us, that of the whole run, s, and the
 * most memory that was registered for the program's buffers, bytes, seen every ms. --csv: all
 * changes that were seen, and how it ended, as seconds,bytes. --where: at the end, for each rank,
 * the processors that its helper thread may use, and what it has used of them, us.
 */
#include "counter.h"

#include <time.h>

#include "common/statistics.h"
#include "thread_of.h"

enum { TAG = 5, BUFFERS_MOST = 4096 };

struct options {
    int buffers, pause_ms, turns;
    size_t size;
    bool fresh, alltoall, where;
    const char *csv;
};

static struct {
    double start_us;
    long at_start; /* bytes that rbuf has registered for itself */
    long last;
    long peak;
    FILE *csv; /* NULL: none is wanted */
} seen;

static double now_us(void)
{
    return 1e6 * MPI_Wtime();
}

/* What is registered of the program's buffers now. */
static void look(void)
{
    const long bytes = counter_read("pinned") - seen.at_start;
    const double s = (now_us() - seen.start_us) / 1e6;

    if (seen.csv != NULL && bytes != seen.last) {
        fprintf(seen.csv, "%.4f,%ld\n", s, bytes);
    }
    seen.last = bytes;
    seen.peak = bytes > seen.peak ? bytes : seen.peak;
}

/* Stands for a computation that leaves a core idle. */
static void go_without_mpi(const struct options *options)
{
    const struct timespec ms = {.tv_nsec = 1000000};

    for (int i = 0; i < options->pause_ms; i++) {
        nanosleep(&ms, NULL);
        look();
    }
}

static unsigned char value_of(int message, int from, int to)
{
    return (unsigned char) (1 + message + 16 * from + to);
}

static void check_block(const unsigned char *block, size_t size, int message, int from)
{
    for (size_t i = 0; i < size; i += 4096) {
        check_that(block[i] == value_of(message, from, check_rank), "message %d, byte %zu", message,
                   i);
    }
}

/* The time of the exchange. */
static double send(const struct options *options, unsigned char *buffer, int message, int to)
{
    double start, took;

    memset(buffer, check_rank == 0 ? value_of(message, 0, to) : 0, options->size);
    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    if (check_rank == 0) {
        MPI_Send(buffer, (int) options->size, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    } else if (check_rank == to) {
        MPI_Recv(buffer, (int) options->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    took = now_us() - start;
    if (check_rank == to) {
        check_block(buffer, options->size, message, 0);
    }
    return took;
}

static double send_to_all(const struct options *options, unsigned char *buffer, int message)
{
    double took = 0;

    for (int to = 1; to < check_ranks; to++) {
        took += send(options, buffer, message, to);
    }
    return took;
}

static double all_to_all(const struct options *options, unsigned char *from, unsigned char *to,
                         int message)
{
    const size_t size = options->size / (size_t) check_ranks;
    double start, took;

    for (int i = 0; i < check_ranks; i++) {
        memset(from + (size_t) i * size, value_of(message, check_rank, i), size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    MPI_Alltoall(from, (int) size, MPI_BYTE, to, (int) size, MPI_BYTE, MPI_COMM_WORLD);
    took = now_us() - start;
    for (int i = 0; i < check_ranks; i++) {
        check_block(to + (size_t) i * size, size, message, i);
    }
    return took;
}

static void report(double *took, int messages)
{
    const double s = (now_us() - seen.start_us) / 1e6;
    double sum = 0;

    for (int i = 0; i < messages; i++) {
        sum += took[i];
    }
    if (check_rank == 0) {
        printf("rhythm: exchange_us=%.1f mean_us=%.1f run_s=%.3f registered=%ld\n",
               stats_median(took, messages), sum / messages, s, seen.peak);
    }
}

/* One line a rank, which rank 0 prints. */
static void tell_where(void)
{
    const struct thread_of own = thread_of("rbuf-helper");
    struct thread_of *all = calloc((size_t) check_ranks, sizeof(*all));

    MPI_Gather(&own, (int) sizeof(own), MPI_BYTE, all, (int) sizeof(own), MPI_BYTE, 0,
               MPI_COMM_WORLD);
    for (int i = 0; check_rank == 0 && i < check_ranks; i++) {
        printf("rhythm: rank=%d helper_cpus=%s helper_us=%ld\n", i, all[i].cpus, all[i].us);
    }
    free(all);
}

static void run(const struct options *options)
{
    const int messages = options->turns * options->buffers;
    const int buffers = options->fresh ? messages + 1 : options->buffers;
    unsigned char **buffer = calloc((size_t) buffers, sizeof(*buffer));
    double *took = calloc((size_t) messages, sizeof(*took));

    for (int i = 0; i < buffers; i++) {
        buffer[i] = malloc(options->size);
    }
    seen.start_us = now_us();
    for (int i = 0; i < messages; i++) {
        took[i] = options->alltoall
                      ? all_to_all(options, buffer[i % buffers], buffer[(i + 1) % buffers], i)
                      : send_to_all(options, buffer[i % buffers], i);
        look();
        go_without_mpi(options);
    }
    report(took, messages);
    for (int i = 0; i < buffers; i++) {
        free(buffer[i]);
    }
    free(buffer);
    free(took);
}

static bool read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--fresh") == 0) {
            options->fresh = true;
        } else if (strcmp(argv[i], "--alltoall") == 0) {
            options->alltoall = true;
        } else if (strcmp(argv[i], "--where") == 0) {
            options->where = true;
        } else if (i + 1 < argc && strcmp(argv[i], "--csv") == 0) {
            options->csv = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--buffers") == 0) {
            options->buffers = atoi(argv[++i]);
        } else if (i + 1 < argc && strcmp(argv[i], "--size") == 0) {
            options->size = (size_t) atol(argv[++i]);
        } else if (i + 1 < argc && strcmp(argv[i], "--pause") == 0) {
            options->pause_ms = atoi(argv[++i]);
        } else if (i + 1 < argc && strcmp(argv[i], "--turns") == 0) {
            options->turns = atoi(argv[++i]);
        } else {
            return false;
        }
    }
    return options->buffers > options->alltoall && options->turns > 0 && options->size > 0 &&
           options->size <= INT32_MAX && options->turns <= BUFFERS_MOST / options->buffers;
}

int main(int argc, char **argv)
{
    struct options options = {.buffers = 3, .size = 5000000, .pause_ms = 20, .turns = 10};

    check_begin(&argc, &argv);
    if (!read_options(argc, argv, &options) || check_ranks < 2) {
        fprintf(stderr, "rhythm: two ranks or more, and the options of its head\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (check_rank == 0 && options.csv != NULL) {
        seen.csv = fopen(options.csv, "w");
        check_that(seen.csv != NULL, "%s cannot be written", options.csv);
    }
    counter_begin();
    MPI_Barrier(MPI_COMM_WORLD);
    seen.at_start = counter_read("pinned");
    run(&options);
    if (options.where) {
        tell_where();
    }
    counter_end();
    if (seen.csv != NULL) {
        fprintf(seen.csv, "%.4f,%ld\n", (now_us() - seen.start_us) / 1e6, seen.last);
        fclose(seen.csv);
    }
    return check_end();
}
