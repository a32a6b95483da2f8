/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Probes until the machine is quiet or the time to wait is used up; rank 0 keeps the time.
 */
#define _GNU_SOURCE
#include "bench/quiet.h"

#include "common/clock.h"

#include <math.h>
#include <mpi.h>
#include <unistd.h>

#define SLEEP_US 20000 /* between probes: the machine changes several times a second */

bool bench_quiet_handover(struct bench_quiet *quiet)
{
    quiet->handover = bench_probe_handover(quiet->probe);
    return quiet->handover >= quiet->handover_least && quiet->handover <= quiet->handover_most;
}

bool bench_quiet_all(struct bench_quiet *quiet)
{
    return bench_quiet_handover(quiet) && bench_probe_rate(quiet->probe) >= quiet->rate;
}

bool bench_quiet_each(const struct bench_quiet *quiet)
{
    return quiet->probe != NULL && !isinf(quiet->handover_most);
}

/* Rank 0 alone keeps the time, so that both leave their loops together. */
void bench_quiet_use_up(struct bench_quiet *quiet, double start_us)
{
    quiet->wait_left_s -= (clock_us() - start_us) / 1e6;
    MPI_Bcast(&quiet->wait_left_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

bool bench_quiet_wait(struct bench_quiet *quiet, bool (*fits)(struct bench_quiet *))
{
    double start = clock_us();
    bool good;

    while (!(good = fits(quiet)) && quiet->wait_left_s > 0) {
        if (quiet->rank == 0) {
            (void) usleep(SLEEP_US);
        }
        bench_quiet_use_up(quiet, start);
        start = clock_us();
    }
    return good;
}
