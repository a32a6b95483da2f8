/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How fast this machine could at best carry staged messages between two processes, were there no
 * protocol and no network: the copies alone.
 *
 *   bound [SIZE...]      bytes, with k or M; 64k to 4M by default
 *
 * Each side is a process on a processor of its own. A sender copies its buffer into staging; a
 * receiver takes the staging over as the emulated adapter does, out of shared pages in pieces, and
 * copies it out. "one" has one side send and the other receive, "both" each side do both.
 * Buffers are warm (used again) or fresh (mapped and written anew, as rbuf-bench's are). The sides
 * work at the same time, and neither waits for the other within a message. Prints 10^9 bytes a
 * second and direction: the median over REPS messages.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "units.h"

enum { REPS = 61, PIECE = 16384, STAGING = 1 << 20, PATIENCE_S = 120 };

/* Written by both sides in turn: the count of sides that came to each meeting (acquire, release).
 */
static struct {
    _Atomic uint64_t met;
    double took[2];
    unsigned char *staging[2]; /* each side's, at the same address in both */
} * shared;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double) t.tv_sec + 1e-3 * (double) t.tv_nsec;
}

static void *map(size_t bytes, int flags)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (memory == MAP_FAILED) {
        perror("bound: mmap");
        exit(1);
    }
    return memory;
}

static void meet(uint64_t *meeting)
{
    *meeting += 2;
    atomic_fetch_add_explicit(&shared->met, 1, memory_order_acq_rel);
    while (atomic_load_explicit(&shared->met, memory_order_acquire) < *meeting) {
    }
}

static void send(unsigned char *staging, const unsigned char *buffer, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        memcpy(staging + at % STAGING, buffer + at, bytes - at < PIECE ? bytes - at : PIECE);
    }
}

static void receive(const unsigned char *theirs, unsigned char *staging, unsigned char *buffer,
                    size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t piece = bytes - at < PIECE ? bytes - at : PIECE;

        memcpy(staging + at % STAGING, theirs + at % STAGING, piece);
        memcpy(buffer + at, staging + at % STAGING, piece);
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* One side's part of a case; the median of its times, us. */
static double side(int me, unsigned char *landing, size_t bytes, bool both, bool fresh,
                   uint64_t *meeting)
{
    double took[REPS];
    unsigned char *out = NULL, *in = NULL;

    for (int rep = 0; rep < REPS; rep++) {
        if (out == NULL) {
            out = map(bytes, MAP_PRIVATE);
            in = map(bytes, MAP_PRIVATE);
        }
        memset(out, rep, bytes);
        memset(in, rep, bytes);
        meet(meeting);
        const double start = now_us();
        if (me == 0 || both) {
            send(shared->staging[me], out, bytes);
        }
        if (me == 1 || both) {
            receive(shared->staging[1 - me], landing, in, bytes);
        }
        took[rep] = now_us() - start;
        meet(meeting);
        if (fresh || rep == REPS - 1) {
            (void) munmap(out, bytes);
            (void) munmap(in, bytes);
            out = in = NULL;
        }
    }
    qsort(took, REPS, sizeof took[0], compare);
    return took[REPS / 2];
}

static void run(int me, int sizes, const size_t *size)
{
    unsigned char *landing = map(STAGING, MAP_PRIVATE);
    uint64_t meeting = 0;
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(me, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        perror("bound: a processor for each side (0 and 1)");
        exit(1);
    }
    (void) alarm(PATIENCE_S); /* should the other side die */
    for (int i = 0; i < 4 * sizes; i++) {
        const size_t bytes = size[i / 4];
        const bool both = i / 2 % 2, fresh = i % 2;

        meet(&meeting);
        shared->took[me] = side(me, landing, bytes, both, fresh, &meeting);
        meet(&meeting);
        if (me == 0) {
            const double slower =
                shared->took[0] > shared->took[1] ? shared->took[0] : shared->took[1];
            printf("%zu,%s,%s,%.2f\n", bytes, both ? "both" : "one", fresh ? "fresh" : "reused",
                   1e-3 * (double) bytes / slower);
        }
    }
}

int main(int argc, char **argv)
{
    static const size_t usual[] = {65536, 262144, 1048576, 4194304};
    size_t size[64];
    int sizes = 0, status = 0;
    pid_t child;

    for (; sizes < argc - 1 && sizes < 64; sizes++) {
        uint64_t bytes;

        if (!units_parse_size(argv[sizes + 1], &bytes) || bytes == 0) {
            fprintf(stderr, "bound: '%s' is no size: " UNITS_SIZE_ALLOWED "\n", argv[sizes + 1]);
            return 2;
        }
        size[sizes] = bytes;
    }
    if (sizes == 0) {
        memcpy(size, usual, sizeof usual);
        sizes = 4;
    }
    shared = map(sizeof *shared, MAP_SHARED);
    shared->staging[0] = map(STAGING, MAP_SHARED);
    shared->staging[1] = map(STAGING, MAP_SHARED);
    puts("size,pattern,buffers,gb_per_s");
    fflush(stdout);
    child = fork();
    if (child < 0) {
        perror("bound: fork");
        return 1;
    }
    if (child == 0) {
        run(1, sizes, size);
        return 0;
    }
    run(0, sizes, size);
    if (waitpid(child, &status, 0) != child || status != 0) {
        return 1;
    }
    return 0;
}
