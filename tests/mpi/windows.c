/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Many windows at a time: messages find theirs.
 *
 *     windows           windows over the same processes, in epochs of their own, freed in another
 *                       order than they were made in; and over groups that processes name in
 *                       different manners
 *     windows time N    makes and frees N windows; prints "windows: F us", for a window
 */
#include "check.h"

enum { WINDOWS = 24, ROUNDS = 3 };

struct place {
    MPI_Win win; /* MPI_WIN_NULL: it was freed */
    int *memory; /* two words: by fence, by group */
};

static void make(struct place *place, MPI_Comm comm)
{
    check_mpi(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm,
                               (void *) &place->memory, &place->win),
              "MPI_Win_allocate");
}

static int next_of(MPI_Comm comm)
{
    int rank, ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    return (rank + 1) % ranks;
}

static int previous_of(MPI_Comm comm)
{
    int rank, ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    return (rank + ranks - 1) % ranks;
}

static int value_of(int window, int rank, int round)
{
    return 1000 * window + 10 * rank + round + 1;
}

/* All windows are open at once: what was put into one of them must not be seen in another. */
static void fence_all(struct place *places, MPI_Comm comm, int round)
{
    int values[WINDOWS];
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < WINDOWS; i++) {
        if (places[i].win != MPI_WIN_NULL) {
            MPI_Win_fence(0, places[i].win);
        }
    }
    for (int i = WINDOWS - 1; i >= 0; i--) {
        values[i] = value_of(i, rank, round);
        if (places[i].win != MPI_WIN_NULL) {
            MPI_Put(&values[i], 1, MPI_INT, next_of(comm), 0, 1, MPI_INT, places[i].win);
        }
    }
    for (int i = 0; i < WINDOWS; i++) {
        if (places[i].win != MPI_WIN_NULL) {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, places[i].win);
            check_that(places[i].memory[0] == value_of(i, previous_of(comm), round),
                       "window %d, fence, round %d: %d", i, round, places[i].memory[0]);
        }
    }
}

static MPI_Group group_of(MPI_Comm comm, int rank)
{
    MPI_Group all, group;

    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &rank, &group);
    MPI_Group_free(&all);
    return group;
}

/* Posts of all windows are under way before the first epoch begins; those end backwards. */
static void post_all(struct place *places, MPI_Comm comm, int round)
{
    MPI_Group next = group_of(comm, next_of(comm)), previous = group_of(comm, previous_of(comm));
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < WINDOWS; i++) {
        if (places[i].win != MPI_WIN_NULL) {
            MPI_Win_post(previous, 0, places[i].win);
        }
    }
    for (int i = WINDOWS - 1; i >= 0; i--) {
        const int value = value_of(i, rank, round);

        if (places[i].win != MPI_WIN_NULL) {
            MPI_Win_start(next, 0, places[i].win);
            MPI_Accumulate(&value, 1, MPI_INT, next_of(comm), 1, 1, MPI_INT, MPI_REPLACE,
                           places[i].win);
            MPI_Win_complete(places[i].win);
        }
    }
    for (int i = 0; i < WINDOWS; i++) {
        if (places[i].win != MPI_WIN_NULL) {
            MPI_Win_wait(places[i].win);
            check_that(places[i].memory[1] == value_of(i, previous_of(comm), round),
                       "window %d, group, round %d: %d", i, round, places[i].memory[1]);
        }
    }
    MPI_Group_free(&next);
    MPI_Group_free(&previous);
}

/* Every second window is freed and made again after each round, so numbers and places of old and
 * new ones mix. */
static void try_many(MPI_Comm comm)
{
    struct place places[WINDOWS];

    for (int i = 0; i < WINDOWS; i++) {
        make(&places[i], comm);
    }
    for (int round = 0; round < ROUNDS; round++) {
        fence_all(places, comm, round);
        post_all(places, comm, round);
        for (int i = WINDOWS - 1 - round % 2; i >= 0; i -= 2) {
            MPI_Win_free(&places[i].win);
        }
        fence_all(places, comm, round);
        for (int i = round % 2; i < WINDOWS; i++) {
            if (places[i].win == MPI_WIN_NULL) {
                make(&places[i], comm);
            }
        }
        fence_all(places, comm, round);
    }
    for (int i = 0; i < WINDOWS; i++) {
        if (places[i].win != MPI_WIN_NULL) {
            MPI_Win_free(&places[i].win);
        }
    }
}

/* The same processes: to half of them in a group of their own, to the others in that of
 * MPI_COMM_WORLD. */
static MPI_Comm all_in_another_manner(void)
{
    MPI_Group all, mine;
    MPI_Comm comm;
    int ranks[64];

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < check_ranks && i < 64; i++) {
        ranks[i] = i;
    }
    if (check_rank % 2 == 0) {
        MPI_Group_incl(all, check_ranks, ranks, &mine);
        MPI_Comm_create(MPI_COMM_WORLD, mine, &comm);
        MPI_Group_free(&mine);
    } else {
        MPI_Comm_create(MPI_COMM_WORLD, all, &comm);
    }
    MPI_Group_free(&all);
    return comm;
}

/* One half after the other: osc/rdma of Open MPI 4.1.4 gives the shared memory of both one name. */
static void make_in_halves(struct place *place, MPI_Comm comm)
{
    for (int half = 0; half <= (check_ranks - 1) / 2; half++) {
        if (check_rank / 2 == half) {
            make(place, comm);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Windows of several communicators at once, of which some have the same processes. */
static void try_several(void)
{
    MPI_Comm comms[5];
    struct place places[5][WINDOWS];

    comms[0] = MPI_COMM_WORLD;
    comms[1] = all_in_another_manner();
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, 0, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[4]);
    for (int i = 0; i < WINDOWS; i++) {
        for (int k = 0; k < 5; k++) {
            places[k][i].win = MPI_WIN_NULL;
            if (i < 4 && k == 3) {
                make_in_halves(&places[k][i], comms[k]);
            } else if (i < 4) {
                make(&places[k][i], comms[k]);
            }
        }
    }
    for (int k = 1; k < 5; k++) {
        MPI_Comm_free(&comms[k]); /* windows live on */
    }
    comms[1] = comms[2] = MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, 0, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[4]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < 5; k++) {
            fence_all(places[k], comms[k], round);
            post_all(places[4 - k], comms[4 - k], round);
        }
    }
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 5; k++) {
            MPI_Win_free(&places[k][i].win);
        }
    }
    MPI_Comm_free(&comms[3]);
    MPI_Comm_free(&comms[4]);
}

static void time_windows(int number)
{
    static int memory[16];
    MPI_Win *wins = malloc((size_t) number * sizeof(MPI_Win));
    double took;

    if (wins == NULL) {
        check_that(false, "no memory for %d windows", number);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    took = MPI_Wtime();
    for (int i = 0; i < number; i++) {
        MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]);
    }
    for (int i = 0; i < number; i++) {
        MPI_Win_free(&wins[i]);
    }
    took = MPI_Wtime() - took;
    if (check_rank == 0) {
        printf("windows: %.2f us\n", took / number * 1e6);
    }
    free(wins);
}

int main(int argc, char **argv)
{
    const bool timed = argc > 2 && strcmp(argv[1], "time") == 0;

    if (!timed) {
        (void) check_pack_one_sided();
    }
    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    if (timed) {
        time_windows(atoi(argv[2]));
        return check_end();
    }
    try_many(MPI_COMM_WORLD);
    try_several();
    return check_end();
}
