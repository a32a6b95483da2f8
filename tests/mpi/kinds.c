/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Accumulates on the same elements in epochs of different kinds, one behind the other, with no more
 * synchronisation between them than MPI demands: no update is lost, whether it travels packed and
 * the target's processor does it, or osc/rdma reads, computes and writes from afar. Arrays are of
 * many messages, and ranks by turns come late, so that some are in the next epoch already while
 * another still takes what belongs to the one before.
 *
 *     kinds [passive]: accumulates of passive epochs travel packed as well
 */
#include "check.h"
#include "counter.h"

#include <time.h>

enum { TURNS = 40, LONGS = 60000, BYTES = (LONGS + 2) * 8 };

/* A window has an array, a word that osc/rdma counts up by one atomic, and a number of a type that
 * it reads and writes under a lock. */
static struct {
    MPI_Win win;
    MPI_Group others;
    struct {
        long array[LONGS], word;
        double number;
    } * memory;
    long expected; /* of each element */
} shared;

static void be_late(int turn)
{
    const struct timespec pause = {.tv_nsec = 3000000};

    if (turn % check_ranks == check_rank) {
        nanosleep(&pause, NULL);
    }
}

/* One more on every element of a process. */
static void add_to(int rank)
{
    static long array[LONGS];
    static const long one = 1;
    static const double real = 1;

    for (int i = 0; i < LONGS; i++) {
        array[i] = 1;
    }
    MPI_Accumulate(array, LONGS, MPI_LONG, rank, 0, LONGS, MPI_LONG, MPI_SUM, shared.win);
    MPI_Accumulate(&one, 1, MPI_LONG, rank, LONGS * 8, 1, MPI_LONG, MPI_SUM, shared.win);
    MPI_Accumulate(&real, 1, MPI_DOUBLE, rank, (LONGS + 1) * 8, 1, MPI_DOUBLE, MPI_SUM, shared.win);
}

static void add_to_others(void)
{
    for (int i = 1; i < check_ranks; i++) {
        add_to((check_rank + i) % check_ranks);
    }
}

/* Each kind of epoch adds one from all others. */
enum kind { FENCE, LAST_FENCE, GROUPS, LOCK_ALL, LOCKS, KINDS };
static const char *const names[] = {"fence", "last fence", "post and start", "lock_all", "locks"};

/* What MPI demands behind it: nothing behind a fence; that nobody locks a window that is exposed,
 * and that what a target reads, or exposes next, is there. */
static void epoch(enum kind kind, int turn)
{
    switch (kind) {
    case FENCE:
    case LAST_FENCE:
        MPI_Win_fence(MPI_MODE_NOPRECEDE, shared.win);
        add_to_others();
        be_late(turn);
        MPI_Win_fence(kind == LAST_FENCE ? MPI_MODE_NOSUCCEED : 0, shared.win);
        return;
    case GROUPS:
        MPI_Win_post(shared.others, 0, shared.win);
        MPI_Win_start(shared.others, 0, shared.win);
        add_to_others();
        MPI_Win_complete(shared.win);
        be_late(turn);
        MPI_Win_wait(shared.win);
        break;
    case LOCK_ALL:
        MPI_Win_lock_all(0, shared.win);
        add_to_others();
        be_late(turn);
        MPI_Win_unlock_all(shared.win);
        break;
    case LOCKS:
    case KINDS:
        for (int i = 1; i < check_ranks; i++) {
            const int rank = (check_rank + i) % check_ranks;

            MPI_Win_lock(i % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, rank, 0, shared.win);
            add_to(rank);
            be_late(turn);
            MPI_Win_unlock(rank, shared.win);
        }
        break;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void judge(enum kind before, enum kind kind, int turn)
{
    const long expected = shared.expected;
    long wrong = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, shared.win);
    for (int i = 0; i < LONGS; i++) {
        wrong += shared.memory->array[i] != expected;
    }
    check_that(wrong == 0 && shared.memory->word == expected &&
                   shared.memory->number == (double) expected,
               "turn %d, %s behind %s: %ld of %d elements are not %ld; word %ld, number %.0f", turn,
               names[kind], names[before], wrong, LONGS, expected, shared.memory->word,
               shared.memory->number);
    MPI_Win_unlock(check_rank, shared.win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void both(enum kind before, enum kind kind, int turn)
{
    epoch(before, turn);
    epoch(kind, turn + 1);
    shared.expected += 2l * (check_ranks - 1);
    judge(before, kind, turn);
}

/* Every kind behind every other, and behind itself; two of them between two looks. */
static void all_pairs(void)
{
    for (int turn = 0; turn < KINDS * KINDS; turn++) {
        both((enum kind)(turn / KINDS), (enum kind)(turn % KINDS), turn);
    }
}

/* A fence has no barrier if anything may follow: here the most ranks are ahead of the late one. */
static void locks_behind_fences(void)
{
    for (int turn = 0; turn < TURNS; turn++) {
        both(FENCE, turn % 2 == 0 ? LOCK_ALL : LOCKS, turn / 2);
    }
}

int main(int argc, char **argv)
{
    const bool passive = argc > 1 && strcmp(argv[1], "passive") == 0;
    const bool is_rbuf = check_pack_one_sided();
    MPI_Group world;

    setenv("OMPI_MCA_osc_rbuf_passive", passive ? "1" : "0", 1);
    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *) &shared.memory, &shared.win);
    memset(shared.memory, 0, BYTES);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &check_rank, &shared.others);
    MPI_Group_free(&world);
    counter_begin();
    MPI_Barrier(MPI_COMM_WORLD);
    all_pairs();
    locks_behind_fences();
    check_that(!is_rbuf || counter_read("osc_rbuf_packed") > TURNS, "hardly any were packed");
    counter_end();
    MPI_Group_free(&shared.others);
    MPI_Win_free(&shared.win);
    return check_end();
}
