/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which windows osc/rbuf packs when nothing is said: those over several nodes. Parameter osc is not
 * set, so other components serve what they can: a node's own windows, and shared ones.
 *
 *     nodes [unlike]: odd ranks have messages of another size, so nobody packs
 */
#include "check.h"
#include "counter.h"

static MPI_Comm node;

static bool spans(MPI_Comm comm)
{
    MPI_Comm part;
    int all, here;
    bool several;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    MPI_Comm_size(comm, &all);
    MPI_Comm_size(part, &here);
    MPI_Comm_free(&part);
    several = here < all;
    MPI_Allreduce(MPI_IN_PLACE, &several, 1, MPI_C_BOOL, MPI_LOR, comm);
    return several;
}

/* One put to the next rank in each of two epochs. */
static void put_both_ways(MPI_Comm comm, MPI_Win win, const int *place, const char *what)
{
    MPI_Group all, next_group, previous_group;
    int rank, ranks, next, previous, value;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    next = (rank + 1) % ranks;
    previous = (rank + ranks - 1) % ranks;
    value = 100 + rank;
    check_mpi(MPI_Win_fence(0, win), what);
    check_mpi(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), what);
    check_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), what);
    check_that(*place == 100 + previous, "%s: fence: %d, not %d", what, *place, 100 + previous);
    MPI_Barrier(comm);
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &next, &next_group);
    MPI_Group_incl(all, 1, &previous, &previous_group);
    check_mpi(MPI_Win_post(previous_group, 0, win), what);
    check_mpi(MPI_Win_start(next_group, 0, win), what);
    value += 100;
    check_mpi(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), what);
    check_mpi(MPI_Win_complete(win), what);
    check_mpi(MPI_Win_wait(win), what);
    check_that(*place == 200 + previous, "%s: groups: %d, not %d", what, *place, 200 + previous);
    MPI_Group_free(&previous_group);
    MPI_Group_free(&next_group);
    MPI_Group_free(&all);
}

static void try_window(MPI_Comm comm, bool packed, const char *what)
{
    const long before = (long) counter_read("osc_rbuf_packed");
    long after;
    int *place;
    MPI_Win win;

    check_mpi(MPI_Win_allocate(sizeof(*place), 1, MPI_INFO_NULL, comm, (void *) &place, &win),
              what);
    put_both_ways(comm, win, place, what);
    MPI_Win_free(&win);
    after = (long) counter_read("osc_rbuf_packed");
    check_that(after - before == (packed ? 2 : 0), "%s: %ld operations were packed", what,
               after - before);
}

static void try_shared(void)
{
    int *place;
    MPI_Win win;

    check_mpi(
        MPI_Win_allocate_shared(sizeof(*place), 1, MPI_INFO_NULL, node, (void *) &place, &win),
        "MPI_Win_allocate_shared");
    put_both_ways(node, win, place, "a shared window");
    MPI_Win_free(&win);
}

/* The first process of each node. */
static void try_leaders(bool packs)
{
    MPI_Comm leaders;
    int rank, number;

    MPI_Comm_rank(node, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &leaders);
    if (leaders == MPI_COMM_NULL) {
        return;
    }
    MPI_Comm_size(leaders, &number);
    try_window(leaders, packs && number > 1, "a window of a process of each node");
    MPI_Comm_free(&leaders);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const bool unlike = argc > 1 && strcmp(argv[1], "unlike") == 0;

    unsetenv("OMPI_MCA_osc");
    if (unlike && rank != NULL && atoi(rank) % 2 == 1) {
        setenv("OMPI_MCA_osc_rbuf_message_size", "8000", 1);
    }
    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    counter_begin();
    if (!check_is_rbuf() || counter_read("osc_rbuf_packed") < 0) {
        check_skip("this Open MPI has no osc/rbuf, or another transport");
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    try_window(MPI_COMM_WORLD, spans(MPI_COMM_WORLD) && !unlike, "a window of all");
    try_window(node, false, "a window of a node");
    try_shared();
    try_leaders(!unlike);
    MPI_Comm_free(&node);
    counter_end();
    return check_end();
}
