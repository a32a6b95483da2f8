/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Processes that are started by others, and jobs that meet: MPI_Comm_spawn of 1 to 4 children,
 * connect and accept under a published name, merged intercommunicators, disconnecting, all again.
 * Within these Open MPI waits for processes by other means than messages (PMIx), and does not
 * progress; what was sent before has to arrive all the same.
 *
 *     spawn
 *     spawn packed   windows of parents and children, and of two halves, by osc/rbuf
 */
#include "check.h"
#include "counter.h"

#define CHILDREN 4
#define LONG     (100 * CHECK_K) /* bytes that have a rendezvous */

/* Everybody in `all` has spoken to everybody, and to all at once. */
static void talk(MPI_Comm all, size_t size, const char *what)
{
    char *out = check_memory(size);
    char *in = check_memory(size);
    int rank, ranks;
    int sum = 1;

    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    for (int i = 0; i < ranks; i++) {
        const int to = (rank + i) % ranks;
        const int from = (rank + ranks - i) % ranks;

        check_fill(out, size, check_seed(rank, to, size));
        MPI_Sendrecv(out, (int) size, MPI_BYTE, to, 1, in, (int) size, MPI_BYTE, from, 1, all,
                     MPI_STATUS_IGNORE);
        check_match(in, size, check_seed(from, rank, size), what);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, all);
    check_that(sum == ranks, "%s: %d of %d were counted", what, sum, ranks);
    free(in);
    free(out);
}

/* What this job is about: children see it in the environment. */
static bool is_mode(const char *mode)
{
    const char *set = getenv("SPAWN_MODE");

    return set != NULL && strcmp(set, mode) == 0;
}

/* A put in a fence epoch, and counting up under a lock. */
static void use_window(MPI_Comm all, const char *what)
{
    const long before = (long) counter_read("osc_rbuf_packed");
    const int one = 1;
    int rank, ranks;
    int *memory;
    MPI_Win win;

    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, all, (void *) &memory, &win);
    memory[0] = memory[1] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    check_that(memory[0] == (rank + ranks - 1) % ranks, "%s: %d was put", what, memory[0]);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ranks; i++) {
        MPI_Accumulate(&one, 1, MPI_INT, i, 1, 1, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(all);
    check_that(memory[1] == ranks, "%s: %d of %d counted", what, memory[1], ranks);
    MPI_Win_free(&win);
    check_that((long) counter_read("osc_rbuf_packed") - before == 1 + ranks,
               "%s: not all was packed", what);
}

/* Both sides of an intercommunicator as one, and then none. */
static void merge_and_part(MPI_Comm *both, int high, const char *what)
{
    MPI_Comm all;

    MPI_Intercomm_merge(*both, high, &all);
    talk(all, 8, what);
    talk(all, LONG, what);
    if (is_mode("packed")) {
        use_window(all, what);
    }
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(both);
}

static int end(void)
{
    counter_end();
    return check_end();
}

static int be_child(MPI_Comm parent)
{
    merge_and_part(&parent, 1, "parents and children");
    return end();
}

static void spawn(const char *program, int children)
{
    char *arguments[] = {NULL};
    int errors[CHILDREN];
    MPI_Info info;
    MPI_Comm both;

    MPI_Info_create(&info);
    if (is_mode("packed")) { /* Open MPI gives children the environment of the launcher */
        MPI_Info_set(info, "env",
                     "SPAWN_MODE=packed\nOMPI_MCA_osc=rdma,rbuf\nOMPI_MCA_osc_rbuf_aggregate=1\n"
                     "OMPI_MCA_osc_rbuf_passive=1");
    }
    MPI_Comm_spawn(program, arguments, children, info, 0, MPI_COMM_WORLD, &both, errors);
    MPI_Info_free(&info);
    for (int i = 0; i < children && check_rank == 0; i++) {
        check_that(errors[i] == MPI_SUCCESS, "child %d of %d was not started", i, children);
    }
    merge_and_part(&both, 0, "parents and children");
}

/* The even ranks and the odd ones, as if they were two jobs. */
static void connect_and_accept(int round)
{
    char port[MPI_MAX_PORT_NAME];
    char name[64];
    const bool accepts = check_rank % 2 == 0;
    MPI_Comm half, both;

    snprintf(name, sizeof name, "rbuf-spawn-%d", round);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &half);
    if (check_rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* it is published */
    if (check_rank == 1) {
        MPI_Lookup_name(name, MPI_INFO_NULL, port);
    }
    if (accepts) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &both);
    } else {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &both);
    }
    merge_and_part(&both, accepts, "two halves");
    if (check_rank == 0) {
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    if (argc > 1) {
        setenv("SPAWN_MODE", argv[1], 1);
    }
    if (is_mode("packed") &&
        (!check_pack_one_sided() || setenv("OMPI_MCA_osc_rbuf_passive", "1", 1) != 0)) {
        unsetenv("SPAWN_MODE"); /* another transport */
    }
    check_begin(&argc, &argv);
    counter_begin();
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        return be_child(parent);
    }
    for (int children = 1; children <= CHILDREN; children++) {
        spawn(argv[0], children);
    }
    if (check_ranks >= 2) {
        connect_and_accept(0);
        connect_and_accept(1);
    }
    return end();
}
