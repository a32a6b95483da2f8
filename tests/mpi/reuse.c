/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A program that uses some of its buffers again and others once: two ranks, messages of one size,
 * of which a given part goes from and into buffers of a small pool and the rest from and into
 * memory that is mapped for the message and unmapped after it.
 *
 *     reuse [--size BYTES] [--percent REUSED] [--messages N] [--warm N] [--pool N]
 *           [--pattern pingpong|both|overlap] [--side both|sender|receiver] [--work US] [--life N]
 *
 * Prints one line on rank 0: the size, the percentage, the mean time of a message in us, those of
 * messages with reused and with fresh buffers, and whether all bytes were right. The first --warm
 * messages (none) are checked but not counted. A time is the slower rank's; preparing and checking
 * buffers is off the clock. Hiccups of the machine, more than 110 % of the median of their kind and
 * 200 us (which is more than a registration takes), count as that much.
 *
 * pingpong: a message there, then one back, halved. both: two that cross. overlap: two that cross
 * while either rank computes for --work us (as long as the wire takes, if 0), looking in on MPI
 * sixteen times. --side says whose buffers are fresh in a fresh message. --life: buffers of the
 * pool are unmapped and mapped anew after so many uses (0: never).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/statistics.h"

enum { TAG = 11, POOL_MAX = 64, LOOKS = 16 };
enum pattern { PINGPONG, BOTH, OVERLAP };
enum side { EITHER, SENDER, RECEIVER };

struct options {
    size_t size;
    int percent, messages, warm, pool, life;
    double work_us;
    enum pattern pattern;
    enum side side;
};

/* A mapping, and how often it may be used yet. */
struct buffer {
    char *bytes;
    int left;
};

struct run {
    struct options options;
    struct buffer send[POOL_MAX], recv[POOL_MAX];
    int rank;
    long wrong;
    double *time[2]; /* of fresh and reused messages, us */
    int count[2];
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double) t.tv_sec + 1e-3 * (double) t.tv_nsec;
}

static char *map(size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED) {
        fprintf(stderr, "reuse: no memory for %zu bytes\n", size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return bytes;
}

/* The same numbers on both ranks. */
static uint32_t draw(void)
{
    static uint64_t state = 20261121;

    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (state >> 33);
}

static uint64_t word(int rank, int serial, size_t i)
{
    return ((uint64_t) (serial + 1) << 40) + ((uint64_t) (rank + 1) << 38) + i * 0x10001;
}

static void fill(char *bytes, size_t size, int rank, int serial)
{
    uint64_t *words = (uint64_t *) (void *) bytes;

    for (size_t i = 0; i < size / 8; i++) {
        words[i] = word(rank, serial, i);
    }
}

static void check(struct run *run, const char *bytes, size_t size, int serial)
{
    const uint64_t *words = (const uint64_t *) (const void *) bytes;

    for (size_t i = 0; i < size / 8; i++) {
        if (words[i] != word(1 - run->rank, serial, i)) {
            run->wrong++;
            fprintf(stderr, "reuse: rank %d: message %d is wrong at byte %zu\n", run->rank, serial,
                    8 * i);
            return;
        }
    }
}

/* The buffer of the pool; mapped anew when it has lived its life. */
static char *pooled(const struct options *options, struct buffer *buffer)
{
    if (options->life > 0 && buffer->left == 0 && buffer->bytes != NULL) {
        munmap(buffer->bytes, options->size);
        buffer->bytes = NULL;
    }
    if (buffer->bytes == NULL) {
        buffer->bytes = map(options->size);
        buffer->left = options->life;
    }
    buffer->left--;
    return buffer->bytes;
}

static double pingpong(const struct run *run, char *send, char *recv)
{
    const int size = (int) run->options.size;
    const double start = now_us();

    if (run->rank == 0) {
        MPI_Send(send, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(recv, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(recv, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(send, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
    return (now_us() - start) / 2;
}

static void compute(double us)
{
    const double start = now_us();
    volatile double x = 1;

    while (now_us() - start < us) {
        for (int i = 0; i < 100; i++) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

static double crossing(const struct run *run, char *send, char *recv)
{
    const struct options *options = &run->options;
    const double start = now_us();
    MPI_Request requests[2];
    int done;

    MPI_Irecv(recv, (int) options->size, MPI_BYTE, 1 - run->rank, TAG, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(send, (int) options->size, MPI_BYTE, 1 - run->rank, TAG, MPI_COMM_WORLD,
              &requests[1]);
    for (int i = 0; i < LOOKS && options->pattern == OVERLAP; i++) {
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        compute(options->work_us / LOOKS);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return now_us() - start;
}

static void exchange(struct run *run, int serial)
{
    const struct options *options = &run->options;
    const bool reused = (int) (draw() % 100) < options->percent;
    const int place = (int) (draw() % (uint32_t) options->pool);
    const bool fresh_send = !reused && options->side != RECEIVER;
    const bool fresh_recv = !reused && options->side != SENDER;
    char *send = fresh_send ? map(options->size) : pooled(options, &run->send[place]);
    char *recv = fresh_recv ? map(options->size) : pooled(options, &run->recv[place]);
    double mine, time;

    fill(send, options->size, run->rank, serial);
    memset(recv, 0, options->size);
    MPI_Barrier(MPI_COMM_WORLD);
    mine = options->pattern == PINGPONG ? pingpong(run, send, recv) : crossing(run, send, recv);
    MPI_Allreduce(&mine, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    check(run, recv, options->size, serial);
    if (fresh_send) {
        munmap(send, options->size);
    }
    if (fresh_recv) {
        munmap(recv, options->size);
    }
    if (serial >= options->warm) {
        run->time[reused][run->count[reused]++] = time;
    }
}

/* Of one kind, hiccups cut down; 0 if there is none. */
static double sum_of(double *times, int count)
{
    double sum = 0, most;

    if (count == 0) {
        return 0;
    }
    most = 1.1 * stats_median(times, count) + 200;
    for (int i = 0; i < count; i++) {
        sum += times[i] < most ? times[i] : most;
    }
    return sum;
}

static bool read_options(struct options *options, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];

        if (strcmp(name, "--size") == 0) {
            options->size = strtoull(value, NULL, 0) & ~(size_t) 7;
        } else if (strcmp(name, "--percent") == 0) {
            options->percent = atoi(value);
        } else if (strcmp(name, "--messages") == 0) {
            options->messages = atoi(value);
        } else if (strcmp(name, "--warm") == 0) {
            options->warm = atoi(value);
        } else if (strcmp(name, "--pool") == 0) {
            options->pool = atoi(value);
        } else if (strcmp(name, "--life") == 0) {
            options->life = atoi(value);
        } else if (strcmp(name, "--work") == 0) {
            options->work_us = atof(value);
        } else if (strcmp(name, "--pattern") == 0) {
            options->pattern = strcmp(value, "both") == 0      ? BOTH
                               : strcmp(value, "overlap") == 0 ? OVERLAP
                                                               : PINGPONG;
        } else if (strcmp(name, "--side") == 0) {
            options->side = strcmp(value, "sender") == 0     ? SENDER
                            : strcmp(value, "receiver") == 0 ? RECEIVER
                                                             : EITHER;
        } else {
            return false;
        }
    }
    return argc % 2 == 1 && options->size > 0 && options->pool > 0 && options->pool <= POOL_MAX &&
           options->messages > 0 && options->warm >= 0;
}

int main(int argc, char **argv)
{
    static struct run run = {
        .options = {.size = 1 << 20, .percent = 50, .messages = 200, .pool = 4}};
    struct options *options = &run.options;
    double sum[2];
    long wrong;
    int ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!read_options(options, argc, argv) || ranks != 2) {
        if (run.rank == 0) {
            fputs("reuse: wants two ranks, and pairs of options and values as its source says\n",
                  stderr);
        }
        MPI_Finalize();
        return 2;
    }
    options->work_us = options->work_us > 0 ? options->work_us : (double) options->size / 1400;
    for (int i = 0; i < 2; i++) {
        run.time[i] = calloc((size_t) options->messages, sizeof(double));
    }
    for (int serial = 0; serial < options->warm + options->messages; serial++) {
        exchange(&run, serial);
    }
    MPI_Allreduce(&run.wrong, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    sum[0] = sum_of(run.time[0], run.count[0]);
    sum[1] = sum_of(run.time[1], run.count[1]);
    if (run.rank == 0) {
        printf("%zu,%d,%.2f,%.2f,%.2f,%s\n", options->size, options->percent,
               (sum[0] + sum[1]) / options->messages,
               run.count[1] > 0 ? sum[1] / run.count[1] : 0.0,
               run.count[0] > 0 ? sum[0] / run.count[0] : 0.0, wrong == 0 ? "ok" : "bad");
    }
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
