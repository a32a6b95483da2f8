/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Fences in a row, packed (osc/rbuf): a process that is early in an epoch meets one that still
 * waits for the data of the epoch before. In each round one rank writes much into another's window,
 * which takes that one some time, and after the fence a third rank, which has nothing to wait for,
 * acts on the same place. Its turn comes second, whichever way it takes:
 *
 *   packed     a put or an accumulate of a few bytes
 *   direct     a put of more than is packed
 *   read       a get of more than is packed
 *   locked     a get under a lock, or a lock of all
 *
 * The rounds go through all ways at random, alike on all ranks, so that fences with and without a
 * barrier follow each other.
 *
 *     fences [ROUNDS]
 */
#include "check.h"

enum { PLACE = 20000, PUT = 1000 }; /* numbers of 8 bytes */

enum act { PACKED, SUMMED, DIRECT, READ, LOCKED, ALL_LOCKED, ACTS };
static const char *const names[] = {"a packed put", "an accumulate",      "a direct put",
                                    "a direct get", "a get under a lock", "a lock of all"};

struct round {
    enum act act;
    int target, writer, early; /* ranks */
    int64_t value;             /* that the writer writes */
    bool ends;                 /* the first fence says that nothing follows */
};

static int64_t *window, *mine;
static MPI_Win win;

static struct round round_of(int number, uint64_t *state)
{
    const int ranks = check_ranks;
    struct round round = {.act = (enum act)(check_random(state) % ACTS),
                          .target = (int) (check_random(state) % (unsigned) ranks),
                          .value = 1000000 * (int64_t) (number + 1)};

    round.writer =
        (round.target + 1 + (int) (check_random(state) % (unsigned) (ranks - 1))) % ranks;
    do {
        round.early = (int) (check_random(state) % (unsigned) ranks);
    } while (round.early == round.target || round.early == round.writer);
    round.ends = round.act >= LOCKED && check_random(state) % 2 == 0;
    return round;
}

static void fill_mine(int64_t value)
{
    for (int i = 0; i < PLACE; i++) {
        mine[i] = value + i;
    }
}

/* As accumulates are packed whatever they take, this takes many messages. */
static void write_all(const struct round *round)
{
    fill_mine(round->value);
    check_mpi(MPI_Accumulate(mine, PLACE, MPI_INT64_T, round->target, 0, PLACE, MPI_INT64_T,
                             MPI_REPLACE, win),
              "MPI_Accumulate");
}

static void expect(const int64_t *place, int first, int end, int64_t value, const char *what)
{
    for (int i = first; i < end; i++) {
        if (place[i] != value + i) {
            check_that(false, "%s: number %d is %lld, not %lld", what, i, (long long) place[i],
                       (long long) (value + i));
            return;
        }
    }
    check_that(true, "%s", what);
}

/* What the early one does to the end of the place, which comes last. */
static void act_early(const struct round *round)
{
    const int at = PLACE - 10;
    int64_t few[10];

    for (int i = 0; i < 10; i++) {
        few[i] = round->act == SUMMED ? 1000 : -round->value + at + i;
    }
    switch (round->act) {
    case PACKED:
        check_mpi(MPI_Put(few, 10, MPI_INT64_T, round->target, at, 10, MPI_INT64_T, win),
                  "MPI_Put");
        break;
    case SUMMED:
        check_mpi(
            MPI_Accumulate(few, 10, MPI_INT64_T, round->target, at, 10, MPI_INT64_T, MPI_SUM, win),
            "MPI_Accumulate of a few");
        break;
    case DIRECT:
        fill_mine(-round->value);
        check_mpi(MPI_Put(mine + PUT, PLACE - PUT, MPI_INT64_T, round->target, PUT, PLACE - PUT,
                          MPI_INT64_T, win),
                  "MPI_Put of much");
        break;
    case READ:
        check_mpi(MPI_Get(mine, PLACE, MPI_INT64_T, round->target, 0, PLACE, MPI_INT64_T, win),
                  "MPI_Get");
        break;
    case LOCKED:
    case ALL_LOCKED:
    case ACTS:
        break;
    }
}

static void read_locked(const struct round *round)
{
    if (round->act == LOCKED) {
        MPI_Win_lock(MPI_LOCK_SHARED, round->target, 0, win);
    } else {
        MPI_Win_lock_all(0, win);
    }
    check_mpi(MPI_Get(mine, PLACE, MPI_INT64_T, round->target, 0, PLACE, MPI_INT64_T, win),
              "MPI_Get under a lock");
    if (round->act == LOCKED) {
        MPI_Win_unlock(round->target, win);
    } else {
        MPI_Win_unlock_all(win);
    }
    expect(mine, 0, PLACE, round->value, names[round->act]);
}

/* What the target has behind the second fence. */
static void expect_second(const struct round *round)
{
    const int changed = round->act == DIRECT ? PUT : PLACE - 10;

    expect(window, 0, changed, round->value, "what was written first");
    expect(window, changed, PLACE,
           round->act == SUMMED   ? round->value + 1000
           : round->act <= DIRECT ? -round->value
                                  : round->value,
           names[round->act]);
}

static void play(const struct round *round)
{
    const bool early = check_rank == round->early;

    check_mpi(MPI_Win_fence(0, win), "the fence before");
    if (check_rank == round->writer) {
        write_all(round);
    }
    check_mpi(MPI_Win_fence(round->ends ? MPI_MODE_NOSUCCEED : 0, win), "the first fence");
    if (early) {
        act_early(round);
    }
    if (early && round->act >= LOCKED) {
        read_locked(round);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (round->act >= LOCKED) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check_mpi(MPI_Win_fence(0, win), "the second fence");
    if (early && round->act == READ) {
        expect(mine, 0, PLACE, round->value, names[READ]);
    }
    if (check_rank == round->target) {
        expect_second(round);
    }
}

int main(int argc, char **argv)
{
    uint64_t state = 20261128;
    int rounds = 60;

    if (argc > 1) {
        rounds = atoi(argv[1]);
    }
    if (check_is_rbuf()) {
        check_pack_one_sided();
    }
    check_begin(&argc, &argv);
    check_need_ranks(3);
    check_need_windows();
    mine = check_memory(PLACE * sizeof(*mine));
    check_mpi(MPI_Win_allocate(PLACE * (MPI_Aint) sizeof(*window), sizeof(*window), MPI_INFO_NULL,
                               MPI_COMM_WORLD, (void *) &window, &win),
              "MPI_Win_allocate");
    for (int i = 0; i < rounds; i++) {
        const struct round round = round_of(i, &state);

        play(&round);
    }
    MPI_Win_free(&win);
    return check_end();
}
