/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A rank that only sends, to one that computes: what it sends is nowhere to be kept without bound.
 * The sender's memory stays what it was, and all arrives in order.
 */
#include "check.h"

#include <time.h>

enum {
    MESSAGES = 150000,
    GROWTH_KB = 32 * 1024 /* pools and buffers of connections included */
};

/* The most memory that this process has had, kB. */
static long most_memory(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    long peak = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "VmHWM: %ld", &peak) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    check_that(peak > 0, "/proc/self/status tells no VmHWM");
    return peak;
}

static void compute(long nanoseconds)
{
    struct timespec now, start;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < nanoseconds);
}

static void send_all(void)
{
    long before = most_memory();
    long after;

    for (int i = 0; i < MESSAGES; i++) {
        int64_t message[8] = {i};

        MPI_Send(message, 1 + i % 8, MPI_INT64_T, 1, 0, MPI_COMM_WORLD);
    }
    after = most_memory();
    check_that(after - before < GROWTH_KB, "%d messages took %ld kB of the sender's memory",
               MESSAGES, after - before);
}

static void receive_all(void)
{
    compute(1000000000L);
    for (int i = 0; i < MESSAGES; i++) {
        int64_t message[8] = {-1};

        MPI_Recv(message, 8, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_that(message[0] == i, "message %d says that it is %ld", i, (long) message[0]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        send_all();
    } else if (check_rank == 1) {
        receive_all();
    }
    return check_end();
}
