/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Processes of one job that have unlike parameters of rbuf, as with different limits of locked
 * memory: what one offers may be more than the other can stage. Messages arrive all the same.
 */
#include "check.h"

/* Both ways at once with the neighbour. */
static void exchange(size_t bytes, int serial)
{
    int other = check_rank ^ 1;
    char *out = check_memory(bytes);
    char *in = check_memory(bytes);

    check_fill(out, bytes, check_seed(check_rank, other, (uint64_t) serial));
    check_mpi(MPI_Sendrecv(out, (int) bytes, MPI_BYTE, other, serial, in, (int) bytes, MPI_BYTE,
                           other, serial, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    check_match(in, bytes, check_seed(other, check_rank, (uint64_t) serial), "exchange");
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    check_unlike(argv);
    check_begin(&argc, &argv);
    if (check_ranks % 2 != 0) {
        check_skip("wants an even number of ranks");
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < CHECK_SIZE_COUNT; i++) {
            exchange(check_sizes[i], round * CHECK_SIZE_COUNT + i);
        }
    }
    return check_end();
}
