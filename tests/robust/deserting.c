/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A rank that is killed within an epoch of one-sided communication, between its operations and its
 * synchronisation. Whoever is left goes on until the transport, or mpirun, ends it.
 *
 * Usage: deserting fence|group|lock|lock_all [packed]: packed by osc/rbuf where it can be.
 */
#include "check.h"

enum { PLACE = 40000, LARGE = 30000, SMALL = 100, MOST_RANKS = 8, ROUNDS_TO_LIVE = 20 };

static MPI_Win win;
static MPI_Group others;
static const char *how;

static bool is(const char *name)
{
    return strcmp(how, name) == 0;
}

static void begin(void)
{
    if (is("fence")) {
        MPI_Win_fence(0, win);
    } else if (is("group")) {
        MPI_Win_post(others, 0, win);
        MPI_Win_start(others, 0, win);
    } else if (is("lock_all")) {
        MPI_Win_lock_all(0, win);
    }
}

static void end(void)
{
    if (is("fence")) {
        MPI_Win_fence(0, win);
    } else if (is("group")) {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    } else if (is("lock_all")) {
        MPI_Win_unlock_all(win);
    }
}

/* Operations that are packed, others that are not, and some that wait for an answer. */
static void use(int rank, bool dies)
{
    static char out[LARGE], in[MOST_RANKS][LARGE];
    static int64_t one = 1, before[MOST_RANKS];
    const MPI_Aint mine = (MPI_Aint) check_rank * PLACE;

    if (is("lock")) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    }
    MPI_Put(out, SMALL, MPI_BYTE, rank, mine + 8, SMALL, MPI_BYTE, win);
    MPI_Put(out, LARGE, MPI_BYTE, rank, mine + 8, LARGE, MPI_BYTE, win);
    MPI_Get(in[rank], SMALL, MPI_BYTE, rank, mine + 8, SMALL, MPI_BYTE, win);
    MPI_Get_accumulate(&one, 1, MPI_INT64_T, &before[rank], 1, MPI_INT64_T, rank, 0, 1, MPI_INT64_T,
                       MPI_SUM, win);
    if (dies) {
        check_die();
    }
    if (is("lock")) {
        MPI_Win_unlock(rank, win);
    }
}

int main(int argc, char **argv)
{
    MPI_Group world;

    how = argc > 1 ? argv[1] : "fence";
    if (argc > 2 && strcmp(argv[2], "packed") == 0) {
        (void) check_pack_one_sided();
    }
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (check_ranks > MOST_RANKS) {
        check_skip("at most 8 ranks");
    }
    check_window(MOST_RANKS * PLACE, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &check_rank, &others);
    for (int round = 0;; round++) {
        begin();
        for (int i = 1; i < check_ranks; i++) {
            use((check_rank + i) % check_ranks, check_rank == 1 && round == ROUNDS_TO_LIVE);
        }
        end();
    }
}
