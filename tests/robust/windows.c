/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A window of more memory than may be pinned (the argument, such as 100M): making it fails at every
 * rank, and the program goes on.
 */
#include "check.h"

int main(int argc, char **argv)
{
    const size_t bytes = (size_t) atoi(argc > 1 ? argv[1] : "100M") * CHECK_M;
    char *memory = check_memory(bytes);
    MPI_Win win;
    int error;

    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPI_Win_create(memory, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    check_that(error != MPI_SUCCESS, "a window that cannot be pinned was made");
    free(memory);
    return check_end();
}
