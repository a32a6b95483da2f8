/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Jobs that part and meet again: a parent and a child that disconnect and connect several times,
 * and children that come and go, as many as the argument says. What is pinned for processes that
 * are gone is given back: rings and lanes show that after a few, mailboxes, which are small, after
 * 63.
 */
#include "counter.h"

#include <signal.h>
#include <unistd.h>

enum {
    MEETINGS = 3,
    CHILDREN = 6,
    LONG = 100 * CHECK_K, /* bytes that have a rendezvous */
    PATIENCE = 10,        /* seconds */
    RINGS = CHECK_M       /* bytes: a child may come before the rings of the one before are back */
};

static void talk(MPI_Comm other, size_t size, int round)
{
    static char out[LONG], in[LONG]; /* a cache keeps what it has registered */

    check_fill(out, size, check_seed(round, 0, size));
    MPI_Sendrecv(out, (int) size, MPI_BYTE, 0, round, in, (int) size, MPI_BYTE, 0, round, other,
                 MPI_STATUS_IGNORE);
    check_match(in, size, check_seed(round, 0, size), "between jobs");
}

static void talk_and_part(MPI_Comm *other, int round)
{
    talk(*other, 8, round);
    talk(*other, LONG, round);
    MPI_Comm_disconnect(other);
}

/* The parent opens a port and tells the child while they are connected. Returns the child's
 * process.
 */
static int meet_again(MPI_Comm *other, bool is_child)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int child = (int) getpid();

    if (is_child) {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 99, *other, MPI_STATUS_IGNORE);
        MPI_Send(&child, 1, MPI_INT, 0, 98, *other);
    } else {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, 0, 99, *other);
        MPI_Recv(&child, 1, MPI_INT, 0, 98, *other, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < MEETINGS; i++) {
        talk_and_part(other, i);
        if (is_child) {
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other);
        } else {
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other);
        }
    }
    talk_and_part(other, MEETINGS);
    if (!is_child) {
        MPI_Close_port(port);
    }
    return child;
}

static void spawn(const char *program, MPI_Comm *other)
{
    char *arguments[] = {NULL};
    int error;

    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, other, &error);
    check_that(error == MPI_SUCCESS, "the child was not started");
}

static void progress(void)
{
    int flag;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* Waits until no more is pinned than that: a child's good-bye may still be on its way. */
static bool falls_to(long most)
{
    const double until = MPI_Wtime() + PATIENCE;

    while (counter_read("pinned") > most && MPI_Wtime() < until) {
        progress();
    }
    return counter_read("pinned") <= most;
}

/* Waits until the child has ended and its queue pairs are destroyed here. Rings and staging are
 * kept for as many partners as there were at once: two children must not be. */
static void see_off(int child)
{
    const double until = MPI_Wtime() + PATIENCE;

    while ((kill((pid_t) child, 0) == 0 || counter_read("queue_pairs") > 0) &&
           MPI_Wtime() < until) {
        progress();
    }
    check_that(counter_read("queue_pairs") <= 0,
               "%ld queue pairs are left of a child that has ended", counter_read("queue_pairs"));
}

static void be_parent(const char *program, int children)
{
    MPI_Comm other;
    long pinned = 0;

    counter_begin();
    for (int i = 0; i < children; i++) {
        spawn(program, &other);
        see_off(meet_again(&other, false));
        pinned = i == 0 ? counter_read("pinned") : pinned;
    }
    check_that(falls_to(pinned + RINGS), "pinned: %ld bytes after a child, %ld after %d", pinned,
               counter_read("pinned"), children);
    counter_end();
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    check_begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL && OMPI_MAJOR_VERSION == 5) {
        check_skip("jobs meet again with Open MPI 4 and 6 alone");
    }
    if (parent != MPI_COMM_NULL) {
        (void) meet_again(&parent, true);
    } else if (check_rank == 0) {
        be_parent(argv[0], argc > 1 ? atoi(argv[1]) : CHILDREN);
    }
    return check_end();
}
