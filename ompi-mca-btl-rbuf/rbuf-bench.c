/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * rbuf-bench: half round trip between two MPI ranks by message size, buffers reused or fresh.
 *
 * Each repetition is prepared off the clock in the same way for every transport: (fresh buffers
 * are mapped,) every byte of both buffers is written, a barrier. Then one round trip is timed;
 * checking and unmapping come after. Only rank 0 prints.
 */
#define _GNU_SOURCE
#include "bench_options.h"
#include "bench_probe.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 7 };

/* The two buffers of one rank, each a mapping of its own of `bytes` bytes. */
struct buffers {
    char *send, *recv;
    size_t bytes;
};

struct bench {
    struct bench_options options;
    struct bench_probe *probe; /* NULL: not probing */
    double wait_left;          /* s of --probe-wait not yet used */
    double *times;             /* us, one a repetition */
    long bad_messages;
    int rank;
};

struct result {
    double first, median, best, p10, p90;
    const char *quiet;
};

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double) t.tv_sec + 1e-3 * (double) t.tv_nsec;
}

static char *map_or_abort(size_t bytes)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (address == MAP_FAILED) {
        fprintf(stderr, "rbuf-bench: no memory for a buffer of %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return address;
}

static void map_buffers(struct buffers *buffers, size_t size)
{
    buffers->bytes = (size + 4096) & ~(size_t) 4095;
    buffers->send = map_or_abort(buffers->bytes);
    buffers->recv = map_or_abort(buffers->bytes);
}

static void unmap_buffers(struct buffers *buffers)
{
    munmap(buffers->send, buffers->bytes);
    munmap(buffers->recv, buffers->bytes);
}

/* The word at place i of the message that `rank` sends in repetition `rep`: never zero. */
static uint64_t pattern_word(int rank, int rep, size_t i)
{
    return ((uint64_t) (rep + 1) << 40) + ((uint64_t) (rank + 1) << 38) + i * UINT64_C(0x10001);
}

/* Writes every byte of both buffers: the message to send, and zeros where one is expected. */
static void touch_buffers(const struct buffers *buffers, int rank, int rep)
{
    uint64_t *words = (uint64_t *) buffers->send;

    memset(buffers->recv, 0, buffers->bytes);
    for (size_t i = 0; i < buffers->bytes / 8; i++) {
        words[i] = pattern_word(rank, rep, i);
    }
}

/* True if the peer's message of `size` bytes is in the receive buffer and nothing behind it. */
static bool message_right(const struct buffers *buffers, size_t size, int peer, int rep)
{
    for (size_t i = 0; i < buffers->bytes / 8; i++) {
        const uint64_t word = pattern_word(peer, rep, i);
        const size_t start = 8 * i;
        const size_t length = start >= size ? 0 : size - start < 8 ? size - start : 8;
        char expected[8] = {0};
        memcpy(expected, &word, length);
        if (memcmp(buffers->recv + start, expected, 8) != 0) {
            fprintf(stderr, "rbuf-bench: repetition %d of %zu bytes is wrong near byte %zu\n", rep,
                    size, start);
            return false;
        }
    }
    return true;
}

/* us of one message there and one back, halved. */
static double pingpong(const struct buffers *buffers, size_t size, int rank)
{
    const double start = now_us();

    if (rank == 0) {
        MPI_Send(buffers->send, (int) size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(buffers->recv, (int) size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffers->recv, (int) size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffers->send, (int) size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
    return (now_us() - start) / 2;
}

/* us of two messages that cross, as the slower rank saw it. */
static double crossing(const struct buffers *buffers, size_t size, int rank)
{
    MPI_Request requests[2];
    const double start = now_us();

    MPI_Irecv(buffers->recv, (int) size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(buffers->send, (int) size, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    const double time = now_us() - start;
    double slower;
    MPI_Allreduce(&time, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slower;
}

/* All repetitions of one size into bench->times. */
static void repeat(struct bench *bench, size_t size)
{
    const bool fresh = bench->options.buffers == BENCH_FRESH;
    struct buffers buffers = {0};

    if (!fresh) {
        map_buffers(&buffers, size);
    }
    for (int rep = 0; rep < bench->options.reps; rep++) {
        if (fresh) {
            map_buffers(&buffers, size);
        }
        touch_buffers(&buffers, bench->rank, rep);
        MPI_Barrier(MPI_COMM_WORLD);
        bench->times[rep] = bench->options.pattern == BENCH_BOTH
                                ? crossing(&buffers, size, bench->rank)
                                : pingpong(&buffers, size, bench->rank);
        /* Neither rank changes its mappings, or anything else, while the other's clock runs. */
        MPI_Barrier(MPI_COMM_WORLD);
        if (bench->options.check && !message_right(&buffers, size, 1 - bench->rank, rep)) {
            bench->bad_messages++;
        }
        if (fresh) {
            unmap_buffers(&buffers);
        }
    }
    if (!fresh) {
        unmap_buffers(&buffers);
    }
}

static bool machine_quiet(struct bench *bench)
{
    return bench_probe_rate(bench->probe) >= bench->options.probe_rate;
}

/*
 * Sleeps until the machine is quiet or the waiting time is used up; true if quiet. The time is
 * kept by rank 0 alone, so that both ranks leave the loop together.
 */
static bool wait_for_quiet(struct bench *bench)
{
    double start = now_us();
    bool quiet;

    while (!(quiet = machine_quiet(bench)) && bench->wait_left > 0) {
        if (bench->rank == 0) {
            sleep(1);
        }
        bench->wait_left -= (now_us() - start) / 1e6;
        start = now_us();
        MPI_Bcast(&bench->wait_left, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    return quiet;
}

/* Measures until the probes before and after agree that the machine was quiet, or time is up. */
static const char *repeat_quietly(struct bench *bench, size_t size)
{
    if (bench->probe == NULL) {
        repeat(bench, size);
        return "-";
    }
    for (;;) {
        const bool before = wait_for_quiet(bench);
        repeat(bench, size);
        if (before && machine_quiet(bench)) {
            return "yes";
        }
        if (bench->wait_left <= 0) {
            return "no";
        }
        bench->wait_left -= 1; /* a repeated size uses up waiting time too: the loop ends */
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static struct result measure(struct bench *bench, size_t size)
{
    struct result result = {.quiet = repeat_quietly(bench, size)};
    double *times = bench->times;
    const int reps = bench->options.reps;

    result.first = times[0];
    qsort(times, (size_t) reps, sizeof times[0], compare_doubles);
    result.best = times[0];
    result.median = (times[(reps - 1) / 2] + times[reps / 2]) / 2;
    result.p10 = times[(reps - 1) / 10];
    result.p90 = times[(reps - 1) * 9 / 10];
    return result;
}

static void print_result(const struct bench *bench, size_t size, const struct result *result,
                         long bad)
{
    const bool both = bench->options.pattern == BENCH_BOTH;

    printf("%zu,%s,%s,%d,%.2f,%.2f,%.2f,%.2f,%.2f,%.1f,%s,%s\n", size,
           bench->options.buffers == BENCH_FRESH ? "fresh" : "reused", both ? "both" : "pingpong",
           bench->options.reps, result->first, result->median, result->best, result->p10,
           result->p90, (both ? 2 : 1) * (double) size / result->median,
           !bench->options.check ? "no"
           : bad == 0            ? "ok"
                                 : "bad",
           result->quiet);
    fflush(stdout);
}

/* All sizes; returns the number of wrong messages seen by both ranks. */
static long run(struct bench *bench)
{
    long all_bad = 0;

    if (bench->rank == 0) {
        puts("size,buffers,pattern,reps,first_us,median_us,best_us,p10_us,p90_us,mb_per_s,checked,"
             "quiet");
    }
    for (size_t i = 0; i < bench->options.size_count; i++) {
        const size_t size = bench->options.sizes[i];
        const long before = all_bad;
        const struct result result = measure(bench, size);
        MPI_Allreduce(&bench->bad_messages, &all_bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (bench->rank == 0) {
            print_result(bench, size, &result, all_bad - before);
        }
    }
    return all_bad;
}

static int bench_main(struct bench *bench)
{
    if (bench->options.probe) {
        bench->probe = bench_probe_open(bench->rank);
        if (bench->probe == NULL && bench->rank == 0) {
            fputs("rbuf-bench: --probe: the ranks share no memory, nothing is probed\n", stderr);
        }
        bench->wait_left = bench->options.probe_wait;
    }
    bench->times = calloc((size_t) bench->options.reps, sizeof *bench->times);
    if (bench->times == NULL) {
        fputs("rbuf-bench: no memory for the times\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const long bad = run(bench);
    bench_probe_close(bench->probe);
    free(bench->times);
    return bad == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    int ranks, status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    enum bench_verdict verdict = bench_parse(&bench.options, argc, argv);
    if (verdict == BENCH_RUN && ranks != 2) {
        snprintf(bench.options.message, sizeof bench.options.message,
                 "%d ranks: it measures between two, start it with -np 2", ranks);
        verdict = BENCH_BAD;
    }
    switch (verdict) {
    case BENCH_RUN:
        status = bench_main(&bench);
        break;
    case BENCH_HELP:
        if (bench.rank == 0) {
            fputs(BENCH_USAGE, stdout);
        }
        status = 0;
        break;
    case BENCH_BAD:
    default:
        if (bench.rank == 0) {
            fprintf(stderr, "rbuf-bench: %s (--help explains)\n", bench.options.message);
        }
        status = 2;
        break;
    }
    MPI_Finalize();
    return status;
}
