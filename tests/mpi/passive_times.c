/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How long one operation of a lock_all epoch with its flush takes, microseconds, the median of
 * ROUNDS rounds: rank 0 to rank 1, which waits in a barrier.
 *
 *     passive_times
 */
#include "check.h"

#include "common/statistics.h"

enum { ROUNDS = 300, COUNT = 20, WARM = 20, LONG = 128, BYTES = 4096 };

static struct {
    MPI_Win win;
    double data[LONG], result[LONG];
    long one, compare, found;
} shared;

static void accumulate_8(void)
{
    MPI_Accumulate(shared.data, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, shared.win);
}

static void accumulate_1k(void)
{
    MPI_Accumulate(shared.data, LONG, MPI_DOUBLE, 1, 0, LONG, MPI_DOUBLE, MPI_SUM, shared.win);
}

static void get_accumulate_8(void)
{
    MPI_Get_accumulate(shared.data, 1, MPI_DOUBLE, shared.result, 1, MPI_DOUBLE, 1, 0, 1,
                       MPI_DOUBLE, MPI_SUM, shared.win);
}

static void get_accumulate_1k(void)
{
    MPI_Get_accumulate(shared.data, LONG, MPI_DOUBLE, shared.result, LONG, MPI_DOUBLE, 1, 0, LONG,
                       MPI_DOUBLE, MPI_SUM, shared.win);
}

static void fetch_and_op(void)
{
    MPI_Fetch_and_op(&shared.one, &shared.found, MPI_LONG, 1, 2048, MPI_SUM, shared.win);
}

static void compare_and_swap(void)
{
    MPI_Compare_and_swap(&shared.one, &shared.compare, &shared.found, MPI_LONG, 1, 2056,
                         shared.win);
}

static void put_8(void)
{
    MPI_Put(shared.data, 1, MPI_DOUBLE, 1, 3000, 1, MPI_DOUBLE, shared.win);
}

static const struct {
    const char *name;
    void (*run)(void);
} operations[] = {{"accumulate, 8 B", accumulate_8},
                  {"accumulate, 1 KB", accumulate_1k},
                  {"get_accumulate, 8 B", get_accumulate_8},
                  {"get_accumulate, 1 KB", get_accumulate_1k},
                  {"fetch_and_op, 8 B", fetch_and_op},
                  {"compare_and_swap, 8 B", compare_and_swap},
                  {"put, 8 B", put_8}};

static double median_of(void (*run)(void))
{
    double times[ROUNDS];

    for (int round = -WARM; round < ROUNDS; round++) {
        const double start = MPI_Wtime();

        for (int i = 0; i < COUNT; i++) {
            run();
            MPI_Win_flush(1, shared.win);
        }
        times[round < 0 ? 0 : round] = (MPI_Wtime() - start) / COUNT * 1e6;
    }
    return stats_median(times, ROUNDS);
}

int main(int argc, char **argv)
{
    unsigned char *memory;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *) &memory, &shared.win);
    memset(memory, 0, BYTES);
    shared.one = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock_all(0, shared.win);
        for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
            printf("%-22s %7.2f us\n", operations[i].name, median_of(operations[i].run));
        }
        MPI_Win_unlock_all(shared.win);
        check_that(shared.found != 0, "no result");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&shared.win);
    return check_end();
}
