/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The last rank is stopped, as by a debugger, from before the first message to it: for as many
 * seconds as the argument says, or with 0 until its end. The others send to it meanwhile, then all
 * check what came.
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 100 * CHECK_K, STOPPED_MOST_S = 120 };

/* What goes on as long as this process is stopped. */
static void stop_for(unsigned seconds)
{
    const pid_t self = getpid();
    const pid_t child = fork();

    if (child == 0) {
        (void) kill(self, SIGSTOP);
        (void) sleep(seconds > 0 ? seconds : STOPPED_MOST_S);
        (void) kill(self, SIGCONT);
        _exit(0);
    }
    check_that(child > 0 && waitpid(child, NULL, 0) == child, "no child");
}

int main(int argc, char **argv)
{
    char *buffer = check_memory(BYTES);
    int last;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    last = check_ranks - 1;
    if (check_rank == last) {
        stop_for(argc > 1 ? (unsigned) atoi(argv[1]) : 0);
        for (int i = 0; i < last; i++) {
            MPI_Recv(buffer, BYTES, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check_match(buffer, BYTES, check_seed(i, last, 0), "sent to a stopped process");
        }
    } else {
        (void) sleep(1);
        check_fill(buffer, BYTES, check_seed(check_rank, last, 0));
        MPI_Send(buffer, BYTES, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    }
    free(buffer);
    return check_end();
}
