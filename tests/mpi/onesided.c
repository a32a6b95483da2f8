/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One-sided communication: put, get, accumulate, fetch_and_op and compare_and_swap under fence,
 * lock, lock_all and post-start-complete-wait. Skipped where Open MPI can make no window, which is
 * said. With the argument "pieces" instead: more puts under way at once than there can be
 * registrations. With "packed": small operations of fence epochs travel packed.
 */
#include "check.h"

enum { WINDOW = 2 * CHECK_M, ADDS = 200, SLOTS = 64 };

struct window {
    char *memory;
    MPI_Win win;
};

static const size_t sizes[] = {1, 8, 255, 4088, 4089, 12288, 12289, 49153, 65536, 300001, CHECK_M};

static int next_rank(void)
{
    return (check_rank + 1) % check_ranks;
}

static int previous_rank(void)
{
    return (check_rank + check_ranks - 1) % check_ranks;
}

/* Every rank puts to its right neighbour and then gets it back from there. */
static void put_and_get(struct window *w, size_t size)
{
    char *mine = check_memory(size);
    char *back = check_guarded(size);

    check_fill(mine, size, check_seed(check_rank, next_rank(), size));
    memset(w->memory, 0, WINDOW);
    MPI_Win_fence(0, w->win);
    MPI_Put(mine, (int) size, MPI_BYTE, next_rank(), 64, (int) size, MPI_BYTE, w->win);
    MPI_Win_fence(0, w->win);
    check_match(w->memory + 64, size, check_seed(previous_rank(), check_rank, size), "put");
    check_that(w->memory[63] == 0 && w->memory[64 + size] == 0, "put of %zu: written outside",
               size);
    MPI_Win_fence(0, w->win);
    MPI_Get(back, (int) size, MPI_BYTE, next_rank(), 64, (int) size, MPI_BYTE, w->win);
    MPI_Win_fence(0, w->win);
    check_match(back, size, check_seed(check_rank, next_rank(), size), "get");
    check_guards(back, size, "get");
    check_guarded_free(back);
    free(mine);
}

/* Small puts to many places of one target and gets in between, under one lock. */
static void scattered(struct window *w)
{
    int64_t mine[SLOTS], seen[SLOTS];
    int64_t *slots = (int64_t *) w->memory;

    memset(w->memory, 0, WINDOW);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w->win);
    for (int i = 0; i < SLOTS; i++) {
        mine[i] = check_rank * 1000 + i;
        MPI_Put(&mine[i], 1, MPI_INT64_T, next_rank(), (MPI_Aint) i * 24, 1, MPI_INT64_T, w->win);
    }
    MPI_Win_flush(next_rank(), w->win);
    for (int i = 0; i < SLOTS; i++) {
        MPI_Get(&seen[i], 1, MPI_INT64_T, next_rank(), (MPI_Aint) i * 24, 1, MPI_INT64_T, w->win);
    }
    MPI_Win_flush_all(w->win);
    for (int i = 0; i < SLOTS; i++) {
        check_that(seen[i] == mine[i], "slot %d read back as %lld", i, (long long) seen[i]);
    }
    MPI_Win_unlock_all(w->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, w->win);
    for (int i = 0; i < SLOTS; i++) {
        check_that(slots[3 * i] == previous_rank() * 1000 + i, "slot %d is %lld", i,
                   (long long) slots[3 * i]);
        check_that(slots[3 * i + 1] == 0, "the gap behind slot %d was written", i);
    }
    MPI_Win_unlock(check_rank, w->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One put whose target type takes it apart into 100000 elements: a matrix, transposed. Each element
 * is a put of its own to the transport, and all of them are under way before the next fence.
 */
static void transposed(struct window *w)
{
    enum { ROWS = 400, COLUMNS = 250 };
    int *mine = check_memory(sizeof(int) * ROWS * COLUMNS);
    const int *there = (const int *) w->memory;
    MPI_Datatype column, matrix;
    int wrong = 0;

    memset(w->memory, 0, WINDOW);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        mine[i] = check_rank * ROWS * COLUMNS + i;
    }
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_create_hvector(COLUMNS, 1, sizeof(int), column, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Win_fence(0, w->win);
    MPI_Put(mine, ROWS * COLUMNS, MPI_INT, next_rank(), 0, 1, matrix, w->win);
    MPI_Win_fence(0, w->win);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        wrong += there[i % ROWS * COLUMNS + i / ROWS] != previous_rank() * ROWS * COLUMNS + i;
    }
    check_that(wrong == 0, "transposed matrix: %d elements are wrong", wrong);
    MPI_Win_fence(0, w->win);
    MPI_Type_free(&column);
    MPI_Type_free(&matrix);
    free(mine);
}

/* More puts at once than an adapter has registrations, or than its memory may be pinned for: all of
 * them are to arrive. */
static void piecemeal(void)
{
    enum { PIECES = 34000, PIECE = 600, STRIDE = 640 };
    char *mine = check_memory(PIECES * PIECE);
    char *there = check_memory(PIECES * STRIDE);
    MPI_Datatype pieces;
    MPI_Win win;
    int wrong = 0;

    for (int i = 0; i < PIECES * PIECE; i++) {
        mine[i] = (char) (i / PIECE + 7 * check_rank);
    }
    memset(there, 0x55, PIECES * STRIDE);
    MPI_Type_vector(PIECES, PIECE, STRIDE, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_Win_create(there, PIECES * STRIDE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(mine, PIECES * PIECE, MPI_BYTE, next_rank(), 0, 1, pieces, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < PIECES * STRIDE; i++) {
        char wanted = i % STRIDE < PIECE ? (char) (i / STRIDE + 7 * previous_rank()) : 0x55;

        wrong += there[i] != wanted;
    }
    check_that(wrong == 0, "%d pieces: %d bytes are wrong", PIECES, wrong);
    MPI_Win_free(&win);
    MPI_Type_free(&pieces);
    free(there);
    free(mine);
}

static void accumulated(struct window *w, int count)
{
    int64_t *mine = check_memory((size_t) count * sizeof *mine);
    const int64_t *sums = (const int64_t *) w->memory;
    const int64_t ranks = check_ranks;
    int wrong = 0;

    memset(w->memory, 0, WINDOW);
    for (int i = 0; i < count; i++) {
        mine[i] = (int64_t) i + check_rank;
    }
    MPI_Win_fence(0, w->win);
    for (int peer = 0; peer < check_ranks; peer++) {
        MPI_Accumulate(mine, count, MPI_INT64_T, peer, 0, count, MPI_INT64_T, MPI_SUM, w->win);
    }
    MPI_Win_fence(0, w->win);
    for (int i = 0; i < count; i++) {
        wrong += sums[i] != ranks * i + ranks * (ranks - 1) / 2;
    }
    check_that(wrong == 0, "accumulate of %d: %d sums wrong", count, wrong);
    MPI_Win_fence(0, w->win);
    free(mine);
}

/* All ranks draw numbers from rank 0: each number once, ascending for each rank. */
static void drawn_numbers(struct window *w)
{
    int64_t *counter = (int64_t *) w->memory;
    int64_t last = -1, one = 1, drawn, sum = 0, total;
    const int64_t n = (int64_t) ADDS * check_ranks;

    *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ADDS; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
        MPI_Fetch_and_op(&one, &drawn, MPI_INT64_T, 0, 0, MPI_SUM, w->win);
        MPI_Win_unlock(0, w->win);
        check_that(drawn > last && drawn < n, "drew %lld after %lld", (long long) drawn,
                   (long long) last);
        last = drawn;
        sum += drawn;
    }
    MPI_Allreduce(&sum, &total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    check_that(total == n * (n - 1) / 2, "the numbers drawn add up to %lld", (long long) total);
    MPI_Barrier(MPI_COMM_WORLD);
}

/*
 * A lock of our own by compare-and-swap, at rank 0, guards a plain counter that the other ranks
 * read and write. Rank 0 itself takes no part: swap.c has compare-and-swap to oneself.
 */
static void swapped_lock(struct window *w)
{
    int64_t *words = (int64_t *) w->memory;
    const int64_t mine = check_rank + 1, open = 0;
    int64_t found, counter;

    words[0] = words[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w->win);
    for (int i = 0; check_rank > 0 && i < 20; i++) {
        do {
            MPI_Compare_and_swap(&mine, &open, &found, MPI_INT64_T, 0, 0, w->win);
            MPI_Win_flush(0, w->win);
        } while (found != open);
        MPI_Get(&counter, 1, MPI_INT64_T, 0, 8, 1, MPI_INT64_T, w->win);
        MPI_Win_flush(0, w->win);
        counter++;
        MPI_Put(&counter, 1, MPI_INT64_T, 0, 8, 1, MPI_INT64_T, w->win);
        MPI_Win_flush(0, w->win);
        MPI_Compare_and_swap(&open, &mine, &found, MPI_INT64_T, 0, 0, w->win);
        MPI_Win_flush(0, w->win);
        check_that(found == mine, "our lock was held by %lld", (long long) found);
    }
    MPI_Win_unlock_all(w->win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
        check_that(words[1] == 20 * (check_ranks - 1), "counted to %lld", (long long) words[1]);
        MPI_Win_unlock(0, w->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void post_start(struct window *w, size_t size)
{
    char *mine = check_memory(size);
    const int to = next_rank(), from = previous_rank();
    MPI_Group world, origin, target;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &from, &origin);
    MPI_Group_incl(world, 1, &to, &target);
    memset(w->memory, 0, size);
    check_fill(mine, size, check_seed(check_rank, to, size + 1));
    MPI_Win_post(origin, 0, w->win);
    MPI_Win_start(target, 0, w->win);
    MPI_Put(mine, (int) size, MPI_BYTE, to, 0, (int) size, MPI_BYTE, w->win);
    MPI_Win_complete(w->win);
    MPI_Win_wait(w->win);
    check_match(w->memory, size, check_seed(from, check_rank, size + 1), "post-start");
    MPI_Group_free(&world);
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    free(mine);
}

static void everything(struct window *w)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        put_and_get(w, sizes[i]);
        post_start(w, sizes[i]);
    }
    scattered(w);
    transposed(w);
    accumulated(w, 1);
    accumulated(w, 1000);
    accumulated(w, 100000);
    drawn_numbers(w);
    swapped_lock(w);
}

int main(int argc, char **argv)
{
    struct window w;

    if (argc > 1 && strcmp(argv[1], "packed") == 0) {
        (void) check_pack_one_sided();
    }
    check_begin(&argc, &argv);
    check_need_ranks(2);
    w.memory = check_window(WINDOW, &w.win);
    if (argc > 1 && strcmp(argv[1], "pieces") == 0) {
        piecemeal();
    } else {
        everything(&w);
    }
    MPI_Win_free(&w.win);
    free(w.memory);
    return check_end();
}
