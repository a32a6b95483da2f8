/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A program that uses large buffers in turn, in a steady rhythm: the benchmark of figure 1 of Li et
 * al., "Scalable Memory Registration for High Performance Networks Using Helper Threads", 2011.
 * Rank 0 sends to rank 1 from each buffer in turn, and both go without MPI for a while behind each
 * message.
 *
 *     rhythm [--buffers N] [--size BYTES] [--pause MS] [--turns N] [--fresh] [--csv]
 *
 * Prints for rank 0 the median time of a send, us, and the most memory that was registered for the
 * program's buffers, bytes, seen every ms. --fresh: each message has a buffer of its own, and all
 * are kept. --csv: all that was seen, as ms,bytes.
 */
#include "counter.h"

#include <time.h>

#include "common/statistics.h"

enum { TAG = 5, BUFFERS_MOST = 4096, SAMPLES_MOST = 100000 };

struct options {
    int buffers, pause_ms, turns;
    size_t size;
    bool fresh, csv;
};

static struct {
    double start_us;
    long at_start; /* bytes that rbuf has registered for itself */
    long peak;
    int count;
    double ms[SAMPLES_MOST];
    long bytes[SAMPLES_MOST];
} seen;

static double now_us(void)
{
    return 1e6 * MPI_Wtime();
}

static void look(void)
{
    const long bytes = counter_read("pinned") - seen.at_start;

    seen.peak = bytes > seen.peak ? bytes : seen.peak;
    if (seen.count < SAMPLES_MOST) {
        seen.ms[seen.count] = (now_us() - seen.start_us) / 1000;
        seen.bytes[seen.count++] = bytes;
    }
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

static double exchange(const struct options *options, unsigned char *buffer, int message)
{
    const unsigned char value = (unsigned char) (message + 1);
    double start, took;

    memset(buffer, check_rank == 0 ? value : 0, options->size);
    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    if (check_rank == 0) {
        MPI_Send(buffer, (int) options->size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(buffer, (int) options->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    took = now_us() - start;
    for (size_t i = 0; i < options->size; i += 4096) {
        check_that(buffer[i] == value, "message %d, byte %zu", message, i);
    }
    look();
    return took;
}

static void run(const struct options *options)
{
    const int messages = options->turns * options->buffers;
    const int buffers = options->fresh ? messages : options->buffers;
    unsigned char **buffer = calloc((size_t) buffers, sizeof(*buffer));
    double *took = calloc((size_t) messages, sizeof(*took));

    for (int i = 0; i < buffers; i++) {
        buffer[i] = malloc(options->size);
    }
    seen.start_us = now_us();
    for (int i = 0; i < messages; i++) {
        took[i] = exchange(options, buffer[i % buffers], i);
        go_without_mpi(options);
    }
    if (check_rank == 0 && options->csv) {
        for (int i = 0; i < seen.count; i++) {
            printf("%.1f,%ld\n", seen.ms[i], seen.bytes[i]);
        }
    } else if (check_rank == 0) {
        printf("rhythm: send_us=%.1f registered=%ld\n", stats_median(took, messages), seen.peak);
    }
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
        } else if (strcmp(argv[i], "--csv") == 0) {
            options->csv = true;
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
    return options->buffers > 0 && options->turns > 0 && options->size > 0 &&
           options->size <= INT32_MAX && options->turns <= BUFFERS_MOST / options->buffers;
}

int main(int argc, char **argv)
{
    struct options options = {.buffers = 3, .size = 5000000, .pause_ms = 20, .turns = 10};

    check_begin(&argc, &argv);
    if (!read_options(argc, argv, &options) || check_ranks != 2) {
        fprintf(stderr, "rhythm: two ranks, and the options of its head\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    counter_begin();
    MPI_Barrier(MPI_COMM_WORLD);
    seen.at_start = counter_read("pinned");
    run(&options);
    counter_end();
    return check_end();
}
