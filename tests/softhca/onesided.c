/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One-sided communication, every byte checked: put and get at sizes from a byte to a megabyte under
 * fence, lock and post/start/complete/wait; accumulate, fetch-and-op and compare-and-swap under
 * locks. Each rank works on its right neighbour's window. Exit status 0 if all was right on all
 * ranks.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 21, HALF = WINDOW / 2, ADDITIONS = 200 };

static const int sizes[] = {1, 7, 8, 64, 4096, 4099, 65536, 100001, 1 << 20};
static const int n_sizes = sizeof sizes / sizeof *sizes;

struct place {
    unsigned char
        *memory; /* the window: the upper half is read, the lower half written by others */
    unsigned char *buffer; /* as large as half a window */
    MPI_Win window;
    int rank, ranks, right, left;
    long wrong;
};

static unsigned char byte_of(int rank, int size, int i)
{
    return (unsigned char) (rank * 31 + size * 7 + i * 13 + i / 251);
}

static void fill(unsigned char *to, int rank, int size)
{
    for (int i = 0; i < size; i++)
        to[i] = byte_of(rank, size, i);
}

static void compare(struct place *p, const unsigned char *got, int rank, int size, const char *what)
{
    for (int i = 0; i < size; i++) {
        if (got[i] == byte_of(rank, size, i))
            continue;
        if (p->wrong++ < 10)
            printf("rank %d: %s of %d bytes: byte %d is wrong\n", p->rank, what, size, i);
        return;
    }
}

static void test_fence(struct place *p)
{
    for (int s = 0; s < n_sizes; s++) {
        fill(p->memory + HALF, p->rank, sizes[s]);
        fill(p->buffer, p->rank, sizes[s]);
        MPI_Win_fence(0, p->window);
        MPI_Put(p->buffer, sizes[s], MPI_BYTE, p->right, 0, sizes[s], MPI_BYTE, p->window);
        MPI_Win_fence(0, p->window);
        compare(p, p->memory, p->left, sizes[s], "put with fence");
        memset(p->buffer, 0, (size_t) sizes[s]);
        MPI_Win_fence(0, p->window);
        MPI_Get(p->buffer, sizes[s], MPI_BYTE, p->right, HALF, sizes[s], MPI_BYTE, p->window);
        MPI_Win_fence(0, p->window);
        compare(p, p->buffer, p->right, sizes[s], "get with fence");
    }
}

static void test_lock(struct place *p)
{
    for (int s = 0; s < n_sizes; s++) {
        fill(p->buffer, p->rank, sizes[s]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, p->right, 0, p->window);
        MPI_Put(p->buffer, sizes[s], MPI_BYTE, p->right, 3, sizes[s], MPI_BYTE, p->window);
        MPI_Win_flush(p->right, p->window);
        memset(p->buffer, 0, (size_t) sizes[s]);
        MPI_Get(p->buffer, sizes[s], MPI_BYTE, p->right, 3, sizes[s], MPI_BYTE, p->window);
        MPI_Win_unlock(p->right, p->window);
        compare(p, p->buffer, p->rank, sizes[s], "put and get with lock");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void test_post_start(struct place *p)
{
    MPI_Group all, to, from;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &p->right, &to);
    MPI_Group_incl(all, 1, &p->left, &from);
    for (int s = 0; s < n_sizes; s++) {
        fill(p->buffer, p->rank, sizes[s]);
        MPI_Win_post(from, 0, p->window);
        MPI_Win_start(to, 0, p->window);
        MPI_Put(p->buffer, sizes[s], MPI_BYTE, p->right, 0, sizes[s], MPI_BYTE, p->window);
        MPI_Win_complete(p->window);
        MPI_Win_wait(p->window);
        compare(p, p->memory, p->left, sizes[s], "put with post and start");
    }
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

/* Every rank adds to the counters of rank 0: two by fetch-and-op and accumulate, one that only
 * compare-and-swap changes. */
static void test_atomics(struct place *p)
{
    long one = 1, old, seen, wanted, *counters = (long *) p->memory;
    memset(counters, 0, 4 * sizeof *counters);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, p->window);
    for (int i = 0; i < ADDITIONS; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, p->window);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, sizeof(long), 1, MPI_LONG, MPI_SUM, p->window);
        MPI_Win_flush(0, p->window);
        for (seen = i, old = -1; old != seen;) {
            seen = old < 0 ? seen : old;
            wanted = seen + 1;
            MPI_Compare_and_swap(&wanted, &seen, &old, MPI_LONG, 0, 2 * sizeof(long), p->window);
            MPI_Win_flush(0, p->window);
        }
    }
    MPI_Win_unlock_all(p->window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, p->window);
    long result[3];
    MPI_Get(result, 3, MPI_LONG, 0, 0, 3, MPI_LONG, p->window);
    MPI_Win_unlock(0, p->window);
    for (int i = 0; i < 3; i++) {
        if (result[i] == (long) ADDITIONS * p->ranks)
            continue;
        printf("rank %d: counter %d is %ld, not %d\n", p->rank, i, result[i], ADDITIONS * p->ranks);
        p->wrong++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct place place = {.wrong = 0}, *p = &place;
    long wrong;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p->ranks);
    p->right = (p->rank + 1) % p->ranks;
    p->left = (p->rank + p->ranks - 1) % p->ranks;
    p->memory = aligned_alloc(4096, WINDOW);
    p->buffer = malloc(HALF);
    if (!p->memory || !p->buffer)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(p->memory, 0, WINDOW);
    MPI_Win_create(p->memory, WINDOW, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p->window);
    test_fence(p);
    test_lock(p);
    test_post_start(p);
    test_atomics(p);
    MPI_Win_free(&p->window);
    MPI_Allreduce(&p->wrong, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (p->rank == 0)
        printf("one-sided: %ld wrong\n", wrong);
    MPI_Finalize();
    free(p->memory);
    free(p->buffer);
    return wrong != 0;
}
