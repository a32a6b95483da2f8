/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A child of the last rank, forked without exec, that outlives it in a session of its own; its id
 * is written into the file named by the second argument, for the script to end it.
 *
 *     outliving finalize FILE    all ranks then exchange, and finalize
 *     outliving killed FILE      the last rank then ends as by a crash, while the others wait for
 * it
 *
 * With finalize another child is forked when MPI is through, and its transport unloaded.
 */
#include "check.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVES_S = 60 };

static void outlive(void)
{
    const int nothing = open("/dev/null", O_RDWR);

    (void) setsid();
    for (int fd = 0; fd <= 2; fd++) { /* mpirun waits until nobody has them */
        (void) dup2(nothing, fd);
    }
    (void) sleep(LIVES_S);
    _exit(0);
}

static void leave_child(const char *path)
{
    const pid_t child = fork();
    FILE *file;

    if (child == 0) {
        outlive();
    }
    file = fopen(path, "w");
    check_that(child > 0 && file != NULL, "no child, or %s cannot be written", path);
    if (file != NULL) {
        fprintf(file, "%d\n", (int) child);
        fclose(file);
    }
}

static void exchange(void)
{
    int values[2] = {check_rank, -1};

    MPI_Sendrecv(&values[0], 1, MPI_INT, (check_rank + 1) % check_ranks, 0, &values[1], 1, MPI_INT,
                 (check_rank + check_ranks - 1) % check_ranks, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check_that(values[1] == (check_rank + check_ranks - 1) % check_ranks, "a wrong message");
}

/* No handler is left of what is unloaded. */
static int fork_after(void)
{
    const pid_t child = fork();
    int status = 1;

    if (child == 0) {
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int last, nothing, status;

    check_begin(&argc, &argv);
    last = check_ranks - 1;
    if (argc != 3 || check_ranks < 2) {
        fprintf(stderr, "usage: outliving finalize|killed FILE, with two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    exchange();
    if (check_rank == last) {
        leave_child(argv[2]);
        if (strcmp(argv[1], "killed") == 0) {
            check_die();
        }
    }
    if (strcmp(argv[1], "killed") == 0) {
        MPI_Recv(&nothing, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_that(false, "a message from a process that is dead");
    }
    exchange();
    status = check_end();
    return status != 0 ? status : fork_after();
}
