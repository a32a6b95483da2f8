/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Collectives over the transport, small and large, against what arithmetic says they must give:
 * bcast, allreduce, reduce_scatter, allgather, alltoall, alltoallv, gatherv, scatterv, and the
 * non-blocking ones with point-to-point traffic in between.
 */
#include "check.h"

static const size_t counts[] = {1, 100, 1500, 1536, 1537, 10000, 150000};

static void broadcast(size_t size)
{
    char *buffer = check_guarded(size);

    for (int root = 0; root < check_ranks; root++) {
        if (check_rank == root) {
            check_fill(buffer, size, (uint64_t) root);
        } else {
            memset(buffer, 0, size);
        }
        MPI_Bcast(buffer, (int) size, MPI_BYTE, root, MPI_COMM_WORLD);
        check_match(buffer, size, (uint64_t) root, "bcast");
        check_guards(buffer, size, "bcast");
    }
    check_guarded_free(buffer);
}

static void reductions(size_t count)
{
    const int64_t ranks = check_ranks, sum = ranks * (ranks - 1) / 2;
    int64_t *mine = check_memory(count * (size_t) ranks * sizeof *mine);
    int64_t *all = check_memory(count * sizeof *all);
    size_t wrong = 0;

    for (size_t i = 0; i < count * (size_t) ranks; i++) {
        mine[i] = (int64_t) i * 3 + check_rank;
    }
    MPI_Allreduce(mine, all, (int) count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++) {
        wrong += all[i] != (int64_t) i * 3 * ranks + sum;
    }
    check_that(wrong == 0, "allreduce of %zu: %zu sums wrong", count, wrong);
    wrong = 0;
    MPI_Reduce_scatter_block(mine, all, (int) count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++) {
        wrong += all[i] != (int64_t) (i + count * (size_t) check_rank) * 3 * ranks + sum;
    }
    check_that(wrong == 0, "reduce_scatter of %zu: %zu sums wrong", count, wrong);
    free(mine);
    free(all);
}

static void all_to_all(size_t size)
{
    const size_t ranks = (size_t) check_ranks;
    char *send = check_memory(ranks * size);
    char *recv = check_memory(ranks * size);

    for (int peer = 0; peer < check_ranks; peer++) {
        check_fill(send + (size_t) peer * size, size, check_seed(check_rank, peer, size));
    }
    memset(recv, 0, ranks * size);
    MPI_Alltoall(send, (int) size, MPI_BYTE, recv, (int) size, MPI_BYTE, MPI_COMM_WORLD);
    for (int peer = 0; peer < check_ranks; peer++) {
        check_match(recv + (size_t) peer * size, size, check_seed(peer, check_rank, size),
                    "alltoall");
    }
    memset(recv, 0, ranks * size);
    check_fill(send, size, (uint64_t) check_rank + 1);
    MPI_Allgather(send, (int) size, MPI_BYTE, recv, (int) size, MPI_BYTE, MPI_COMM_WORLD);
    for (int peer = 0; peer < check_ranks; peer++) {
        check_match(recv + (size_t) peer * size, size, (uint64_t) peer + 1, "allgather");
    }
    free(send);
    free(recv);
}

/* Bytes from rank `from` to rank `to` in the uneven exchange: some nothing, some large. */
static int uneven(int from, int to, size_t scale)
{
    return (int) ((size_t) ((from * 5 + to * 3) % 7) * scale);
}

static void all_to_all_v(size_t scale)
{
    const size_t ranks = (size_t) check_ranks;
    int *n = check_memory(4 * ranks * sizeof *n);
    int *send_n = n, *recv_n = n + ranks, *send_at = n + 2 * ranks, *recv_at = n + 3 * ranks;
    int sent = 0, received = 0;

    for (int peer = 0; peer < check_ranks; peer++) {
        send_n[peer] = uneven(check_rank, peer, scale);
        recv_n[peer] = uneven(peer, check_rank, scale);
        send_at[peer] = sent;
        recv_at[peer] = received;
        sent += send_n[peer] + 3;
        received += recv_n[peer] + 5;
    }
    char *send = check_memory((size_t) sent);
    char *recv = check_guarded((size_t) received);
    memset(recv, 0x5a, (size_t) received);
    for (int peer = 0; peer < check_ranks; peer++) {
        check_fill(send + send_at[peer], (size_t) send_n[peer], check_seed(check_rank, peer, 1));
    }
    MPI_Alltoallv(send, send_n, send_at, MPI_BYTE, recv, recv_n, recv_at, MPI_BYTE, MPI_COMM_WORLD);
    for (int peer = 0; peer < check_ranks; peer++) {
        check_match(recv + recv_at[peer], (size_t) recv_n[peer], check_seed(peer, check_rank, 1),
                    "alltoallv");
        check_that(recv[recv_at[peer] + recv_n[peer]] == 0x5a, "alltoallv: gap of rank %d written",
                   peer);
    }
    check_guards(recv, (size_t) received, "alltoallv");
    free(send);
    check_guarded_free(recv);
    free(n);
}

static void gather_and_scatter(size_t size)
{
    const size_t ranks = (size_t) check_ranks;
    char *all = check_memory(ranks * size);
    char *mine = check_memory(size);

    for (int root = 0; root < check_ranks; root++) {
        check_fill(mine, size, check_seed(check_rank, root, size));
        MPI_Gather(mine, (int) size, MPI_BYTE, all, (int) size, MPI_BYTE, root, MPI_COMM_WORLD);
        for (int peer = 0; check_rank == root && peer < check_ranks; peer++) {
            check_match(all + (size_t) peer * size, size, check_seed(peer, root, size), "gather");
        }
        memset(mine, 0, size);
        MPI_Scatter(all, (int) size, MPI_BYTE, mine, (int) size, MPI_BYTE, root, MPI_COMM_WORLD);
        check_match(mine, size, check_seed(check_rank, root, size), "scatter");
    }
    free(all);
    free(mine);
}

/* A broadcast and a barrier under way while messages go around the ring. */
static void non_blocking(size_t size)
{
    const int next = (check_rank + 1) % check_ranks;
    const int previous = (check_rank + check_ranks - 1) % check_ranks;
    char *shared = check_memory(size);
    char *send = check_memory(size);
    char *recv = check_memory(size);
    MPI_Request requests[2];

    memset(shared, 0, size);
    if (check_rank == 0) {
        check_fill(shared, size, 3);
    }
    MPI_Ibcast(shared, (int) size, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    check_fill(send, size, check_seed(check_rank, next, 4));
    MPI_Sendrecv(send, (int) size, MPI_BYTE, next, 1, recv, (int) size, MPI_BYTE, previous, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_match(recv, size, check_seed(previous, check_rank, 4), "beside collectives");
    check_match(shared, size, 3, "ibcast");
    free(shared);
    free(send);
    free(recv);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        broadcast(8 * counts[i] + 1);
        reductions(counts[i]);
        all_to_all(8 * counts[i]);
        all_to_all_v(counts[i]);
        gather_and_scatter(8 * counts[i] + 3);
        non_blocking(8 * counts[i]);
    }
    return check_end();
}
