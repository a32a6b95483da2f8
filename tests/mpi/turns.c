/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Pairs of ranks send 1 MB there and back, with more ranks than processors: how long one way takes.
 * The contents are checked off the clock. Rank 0 prints the median of its pair, in microseconds.
 *
 *     turns [REPETITIONS]
 */
#include "check.h"

#include "common/statistics.h"

enum { BYTES = 1 << 20, MOST = 1000 };

static double there_and_back(char *out, char *in, int partner, int serial)
{
    const double begun = MPI_Wtime();

    if (check_rank % 2 == 0) {
        MPI_Send(out, BYTES, MPI_BYTE, partner, serial, MPI_COMM_WORLD);
        MPI_Recv(in, BYTES, MPI_BYTE, partner, serial, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, BYTES, MPI_BYTE, partner, serial, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, BYTES, MPI_BYTE, partner, serial, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - begun) / 2 * 1e6;
}

int main(int argc, char **argv)
{
    const int repetitions = argc > 1 ? atoi(argv[1]) : 60;
    double times[MOST];
    char *out, *in;
    int partner;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    partner = check_rank ^ 1;
    if (check_ranks % 2 != 0 || repetitions < 1 || repetitions > MOST) {
        check_skip("wants pairs, and 1 to 1000 repetitions");
    }
    out = check_memory(BYTES);
    in = check_memory(BYTES);
    check_fill(out, BYTES, check_seed(check_rank, partner, 0));
    for (int i = 0; i < repetitions; i++) {
        times[i] = there_and_back(out, in, partner, i);
        if (i % 10 == 0) {
            check_match(in, BYTES, check_seed(partner, check_rank, 0), "message");
            memset(in, 0, BYTES);
        }
    }
    if (check_rank == 0) {
        printf("turns: %.1f us\n", stats_median(times, repetitions));
    }
    free(out);
    free(in);
    return check_end();
}
