/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Ping-pong by MPI_Send() and MPI_Recv(), with the counters of the component read around it.
 */
#include "tune/traffic.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tune/rounds.h"
#include "tune/counter.h"

#define WORD     8
#define SMALLEST 4096u /* the next above a word; each further one is twice as long */

static uint64_t size_of(int point)
{
    return point == 0 ? WORD : (uint64_t) SMALLEST << (point - 1);
}

/* Half of a round trip, ns. */
static double time_message(char *send, char *receive, uint64_t bytes, int rank)
{
    const int other = 1 - rank, count = (int) bytes;
    const double start = clock_ns();

    if (rank == 0) {
        MPI_Send(send, count, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    }
    MPI_Recv(receive, count, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) {
        MPI_Send(send, count, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    }
    return (clock_ns() - start) / 2;
}

static void as_they_are(const void *about, const double *times, double *values)
{
    (void) about;
    memcpy(values, times, TUNE_TRAFFIC * sizeof *values);
}

static void measure(struct tune_traffic *traffic, char *buffers, int rank, double seconds)
{
    static struct tune_samples samples;
    char *send = buffers, *receive = buffers + size_of(TUNE_TRAFFIC - 1);
    struct tune_counter requests, early;
    struct tune_rounds rounds;

    samples.points = TUNE_TRAFFIC;
    tune_counter_open(&requests, "requests");
    tune_counter_open(&early, "early_claimed");
    tune_rounds_open(&rounds, "messages of this job", seconds);
    while (tune_rounds_next(&rounds, &samples)) {
        for (int i = 0; i < TUNE_TRAFFIC; i++) {
            (void) time_message(send, receive, WORD, rank); /* meets the other rank */
            samples.ns[i][samples.rounds] = time_message(send, receive, size_of(i), rank);
        }
    }
    tune_constants(&samples, as_they_are, NULL, traffic->ns, TUNE_TRAFFIC);
    traffic->points = TUNE_TRAFFIC;
    for (int i = 0; i < TUNE_TRAFFIC; i++) {
        traffic->bytes[i] = size_of(i);
    }
    traffic->early_data = tune_counter_close(&early) > 0;
    /* Each message is at least one request, and there were two at each point. */
    traffic->over_rbuf = tune_counter_close(&requests) >= (uint64_t) samples.rounds * TUNE_TRAFFIC;
}

bool tune_traffic(struct tune_traffic *traffic, int rank, double seconds)
{
    const size_t bytes = 2 * size_of(TUNE_TRAFFIC - 1);
    char *buffers = malloc(bytes);
    int have = buffers != NULL;

    MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (have) {
        memset(buffers, 1, bytes);
        measure(traffic, buffers, rank, seconds);
    }
    free(buffers);
    return have;
}
