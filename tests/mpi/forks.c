/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A process that forks in the middle of its traffic. The child lives on while the parent sends and
 * receives from buffers it has used before, so that pages shared with the child would have to be
 * copied under a registration; the child itself touches none of them and leaves by _exit. Also
 * system(), which many programs call. With the argument "one-sided" puts and gets instead of
 * messages.
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGES = 4, ROUNDS = 12 };

struct traffic {
    char *send[MESSAGES], *recv[MESSAGES];
    MPI_Request requests[2 * MESSAGES];
    char *window; /* to be put into, and behind that to be got; NULL: messages */
    MPI_Win win;
};

static const size_t sizes[MESSAGES] = {64, 4088, 60 * CHECK_K, 2 * CHECK_M};

static void start(struct traffic *t, int peer, uint64_t round)
{
    for (int i = 0; i < MESSAGES; i++) {
        check_fill(t->send[i], sizes[i], check_seed(check_rank, peer, round));
        memset(t->recv[i], 0, sizes[i]);
        MPI_Irecv(t->recv[i], (int) sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD, &t->requests[i]);
        MPI_Isend(t->send[i], (int) sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD,
                  &t->requests[MESSAGES + i]);
    }
}

static char *there(const struct traffic *t, int i)
{
    char *place = t->window;

    while (i > 0) {
        place += sizes[--i];
    }
    return place;
}

static void start_one_sided(struct traffic *t, int peer, uint64_t round)
{
    char *const got = there(t, MESSAGES);

    for (int i = 0; i < MESSAGES; i++) {
        check_fill(t->send[i], sizes[i], check_seed(check_rank, peer, round));
        check_fill(got + (there(t, i) - t->window), sizes[i], check_seed(check_rank, peer, round));
        memset(t->recv[i], 0, sizes[i]);
    }
    MPI_Win_fence(0, t->win);
    for (int i = 0; i < MESSAGES; i++) {
        const MPI_Aint at = there(t, i) - t->window;

        MPI_Put(t->send[i], (int) sizes[i], MPI_BYTE, peer, at, (int) sizes[i], MPI_BYTE, t->win);
        MPI_Get(t->recv[i], (int) sizes[i], MPI_BYTE, peer, got - t->window + at, (int) sizes[i],
                MPI_BYTE, t->win);
    }
}

static void begin(struct traffic *t, int peer, uint64_t round)
{
    if (t->window != NULL) {
        start_one_sided(t, peer, round);
    } else {
        start(t, peer, round);
    }
}

static void finish(struct traffic *t, int peer, uint64_t round)
{
    if (t->window != NULL) {
        MPI_Win_fence(0, t->win);
    } else {
        MPI_Waitall(2 * MESSAGES, t->requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < MESSAGES; i++) {
        if (t->window != NULL) {
            check_match(there(t, i), sizes[i], check_seed(peer, check_rank, round), "put");
        }
        check_match(t->recv[i], sizes[i], check_seed(peer, check_rank, round), "around a fork");
    }
}

/* A child that waits for the end of `keep`'s write side; -1 and a failure if there is none. */
static pid_t fork_child(int keep[2])
{
    if (!check_that(pipe(keep) == 0, "no pipe")) {
        return -1;
    }
    const pid_t child = fork();
    if (child == 0) {
        char byte;
        close(keep[1]);
        const ssize_t end = read(keep[0], &byte, 1);
        _exit(end == 0 ? 0 : 1);
    }
    close(keep[0]);
    check_that(child > 0, "no child");
    return child;
}

static void end_child(pid_t child, const int keep[2])
{
    int status;

    close(keep[1]);
    if (child > 0) {
        check_that(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                       WEXITSTATUS(status) == 0,
                   "the child did not leave well: status %d", status);
    }
}

int main(int argc, char **argv)
{
    struct traffic t = {.window = NULL};

    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (argc > 1) {
        t.window = check_window(2 * (size_t) (there(&t, MESSAGES) - t.window), &t.win);
    }
    for (int i = 0; check_rank < 2 && i < MESSAGES; i++) {
        t.send[i] = check_memory(sizes[i]);
        t.recv[i] = check_memory(sizes[i]);
    }
    for (uint64_t round = 0; check_rank < 2 && round < ROUNDS; round++) {
        const int peer = 1 - check_rank;
        int keep[2] = {-1, -1};
        begin(&t, peer, round);
        const pid_t child = fork_child(keep);
        finish(&t, peer, round);
        begin(&t, peer, round + 100);
        finish(&t, peer, round + 100);
        end_child(child, keep);
        if (round % 4 == 0) {
            begin(&t, peer, round + 200);
            check_that(system("exit 3") == 3 << 8, "system() failed");
            finish(&t, peer, round + 200);
        }
    }
    for (int i = 0; check_rank < 2 && i < MESSAGES; i++) {
        free(t.send[i]);
        free(t.recv[i]);
    }
    if (t.window != NULL) {
        MPI_Win_free(&t.win);
        free(t.window);
    }
    return check_end();
}
