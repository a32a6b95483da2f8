/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Sessions (MPI 4): several in a row and two at a time, each with its communicator and traffic,
 * under one that stays open; then the usual model in the same processes. (Open MPI 5.0.7 itself,
 * over its own transports too, does not reliably come back once a process has closed its last
 * session.)
 */
#include "check.h"

#ifndef MPI_SESSION_NULL

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_skip("this Open MPI has no sessions");
}

#else

enum { CYCLES = 5, SIZES = 4 };

static const int sizes[SIZES] = {8, 4088, 60 * CHECK_K, 2 * CHECK_M};

/* The communicator of all processes, made from the session. */
static void open_world(MPI_Session session, MPI_Comm *comm)
{
    MPI_Group group;

    check_mpi(MPI_Group_from_session_pset(session, "mpi://WORLD", &group), "the group");
    check_mpi(MPI_Comm_create_from_group(group, "rbuf.sessions", MPI_INFO_NULL,
                                         MPI_ERRORS_ARE_FATAL, comm),
              "the communicator");
    MPI_Group_free(&group);
    MPI_Comm_rank(*comm, &check_rank);
    MPI_Comm_size(*comm, &check_ranks);
}

/* Every rank to every other, in both directions at once. */
static void talk(MPI_Comm comm, int cycle)
{
    for (int i = 0; i < SIZES * check_ranks; i++) {
        const int size = sizes[i % SIZES];
        const int to = (check_rank + i / SIZES) % check_ranks;
        const int from = (check_rank - i / SIZES + check_ranks) % check_ranks;
        char *send = check_memory((size_t) size);
        char *recv = check_memory((size_t) size);

        check_fill(send, (size_t) size, check_seed(check_rank, to, (uint64_t) cycle));
        MPI_Sendrecv(send, size, MPI_BYTE, to, cycle, recv, size, MPI_BYTE, from, cycle, comm,
                     MPI_STATUS_IGNORE);
        check_match(recv, (size_t) size, check_seed(from, check_rank, (uint64_t) cycle),
                    "in a session");
        free(send);
        free(recv);
    }
}

static void open_session(MPI_Session *session)
{
    check_mpi(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session), "opening a session");
}

static void close_session(MPI_Session *session)
{
    check_mpi(MPI_Session_finalize(session), "closing a session");
}

static void run_session(int cycle)
{
    MPI_Session session;
    MPI_Comm comm;

    open_session(&session);
    open_world(session, &comm);
    talk(comm, cycle);
    MPI_Comm_free(&comm);
    close_session(&session);
}

int main(int argc, char **argv)
{
    MPI_Session lasting;
    MPI_Comm comm;

    open_session(&lasting);
    open_world(lasting, &comm);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        talk(comm, cycle);
        run_session(cycle);
    }
    check_begin(&argc, &argv);
    talk(MPI_COMM_WORLD, CYCLES);
    MPI_Comm_free(&comm);
    close_session(&lasting);
    return check_end();
}

#endif
