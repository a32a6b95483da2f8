/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A program that is wrong: it sends more bytes than its buffer has. The transport reads them, and a
 * tool that watches memory must say so in the transport's name; if it does not, what else it does
 * not say is worth nothing.
 */
#include "check.h"

enum { HAS = 60000, SENT = 60040 };

int main(int argc, char **argv)
{
    char *buffer;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    buffer = check_memory(check_rank == 0 ? HAS : SENT);
    if (check_rank == 0) {
        memset(buffer, 0, HAS);
        MPI_Send(buffer, SENT, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (check_rank == 1) {
        MPI_Recv(buffer, SENT, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(buffer);
    check_that(true, "sent");
    return check_end();
}
