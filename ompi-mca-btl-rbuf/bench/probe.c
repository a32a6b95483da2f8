/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The shared page set and its two turns.
 *
 * `turn` counts half rounds and is written by both ranks in alternation: the reader of an even
 * count is rank `reader`, the writer of an odd count the other; handing over, an even count is rank
 * 0's. The release store of turn pairs with the acquire load in wait_turn(), so the lines are where
 * the probe wants them.
 */
#define _GNU_SOURCE
#include "bench/probe.h"

#include "common/clock.h"
#include "common/statistics.h"

#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HANDOVER_S 0.1 /* for all of them: ranks that share a processor take much longer */

enum { AREA_WORDS = 64 * 1024 / 8, ROUNDS = 21, BATCHES = 5, HANDOVERS = 100 };

struct shared {
    _Alignas(128) _Atomic uint64_t turn;
    _Alignas(4096) volatile uint64_t area[AREA_WORDS];
};

struct bench_probe {
    struct shared *shared;
    uint64_t turn;
    int rank;
};

static double now_s(void)
{
    return clock_ns() * 1e-9;
}

/* Rank 0 makes the file, both map it, rank 0 removes its name: nothing stays behind. */
static struct shared *map_shared(int rank)
{
    char name[64] = "";
    void *address = MAP_FAILED;
    int fd = -1;

    if (rank == 0) {
        snprintf(name, sizeof name, "/rbuf-bench-%ld", (long) getpid());
        fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 && ftruncate(fd, sizeof(struct shared)) != 0) {
            close(fd);
            fd = -1;
        }
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0) {
        fd = shm_open(name, O_RDWR, 0);
    }
    if (fd >= 0) {
        address = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        shm_unlink(name);
    }
    return address == MAP_FAILED ? NULL : address;
}

struct bench_probe *bench_probe_open(int rank)
{
    struct bench_probe *probe = NULL;
    MPI_Comm node;
    int size, good, all_good;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    if (size == 2) {
        probe = calloc(1, sizeof *probe);
    }
    if (probe != NULL) {
        probe->rank = rank;
    }
    MPI_Allreduce(&size, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    struct shared *shared = good == 2 ? map_shared(rank) : NULL;
    good = probe != NULL && shared != NULL;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (all_good) {
        probe->shared = shared;
        return probe;
    }
    if (shared != NULL) {
        munmap(shared, sizeof *shared);
    }
    free(probe);
    return NULL;
}

void bench_probe_close(struct bench_probe *probe)
{
    if (probe != NULL) {
        munmap(probe->shared, sizeof *probe->shared);
        free(probe);
    }
}

/* The clock is looked at now and then only: a look may take longer than what is measured. */
static bool wait_turn(struct bench_probe *probe, uint64_t turn, double give_up_s)
{
    for (unsigned looks = 1;
         atomic_load_explicit(&probe->shared->turn, memory_order_acquire) != turn; looks++) {
        if (looks % 1024 == 0 && now_s() > give_up_s) {
            return false;
        }
    }
    return true;
}

static void read_area(struct shared *shared)
{
    for (size_t i = 0; i < AREA_WORDS; i++) {
        (void) shared->area[i];
    }
}

static double write_area(struct shared *shared, uint64_t value)
{
    const double start = now_s();

    for (size_t i = 0; i < AREA_WORDS; i++) {
        shared->area[i] = value;
    }
    return now_s() - start;
}

/* ROUNDS times: `reader` reads, the other writes. Returns the writer's median seconds, or 0. */
static double one_direction(struct bench_probe *probe, int reader)
{
    double seconds[ROUNDS] = {0};
    const uint64_t first = probe->turn;

    probe->turn += 2 * ROUNDS;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const uint64_t turn = first + 2 * round;
        if (!wait_turn(probe, probe->rank == reader ? turn : turn + 1, now_s() + 1)) {
            return 0;
        }
        if (probe->rank == reader) {
            read_area(probe->shared);
            atomic_store_explicit(&probe->shared->turn, turn + 1, memory_order_release);
        } else {
            seconds[round] = write_area(probe->shared, turn);
            atomic_store_explicit(&probe->shared->turn, turn + 2, memory_order_release);
        }
    }
    return stats_median(seconds, ROUNDS);
}

/* A rank that gave up in the last probe may have left its count behind: starts from zero. */
static void start_over(struct bench_probe *probe)
{
    MPI_Barrier(MPI_COMM_WORLD);
    probe->turn = 0;
    if (probe->rank == 0) {
        atomic_store_explicit(&probe->shared->turn, 0, memory_order_release);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

double bench_probe_rate(struct bench_probe *probe)
{
    double slowest = 0, best;

    start_over(probe);
    for (int reader = 0; reader < 2; reader++) {
        const double seconds = one_direction(probe, reader);
        if (probe->rank != reader) {
            slowest = seconds > 0 ? seconds : 1e9;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Allreduce(&slowest, &best, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return best >= 1e9 ? 0 : AREA_WORDS * 8 / best;
}

/* HANDOVERS there and back; seconds, or infinite. */
static double one_batch(struct bench_probe *probe, double give_up_s)
{
    const uint64_t end = probe->turn + 2 * HANDOVERS;
    const double start = now_s();

    for (uint64_t turn = probe->turn + (uint64_t) probe->rank; turn < end; turn += 2) {
        if (!wait_turn(probe, turn, give_up_s)) {
            return INFINITY;
        }
        atomic_store_explicit(&probe->shared->turn, turn + 1, memory_order_release);
    }
    probe->turn = end;
    return now_s() - start;
}

double bench_probe_handover(struct bench_probe *probe)
{
    double least = INFINITY, last = 0, most, give_up_s;

    start_over(probe);
    give_up_s = now_s() + HANDOVER_S;
    for (int batch = 0; batch < BATCHES && !isinf(last); batch++) {
        last = one_batch(probe, give_up_s);
        least = last < least || isinf(last) ? last : least;
    }
    MPI_Allreduce(&least, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return 1e9 * most / (2 * HANDOVERS);
}
