/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Compare-and-swap, to the process itself too, where osc/rdma names neither endpoint nor memory:
 * over rbuf, which finds both. All ranks count at rank 0 at once, and each at itself, so that no
 * count may be lost between those who have the adapter do it and those who might not. In windows
 * that are created and allocated, with 8 bytes and with 4.
 */
#include "check.h"

enum { COUNTS = 500, WORDS = 8, LONG_WORD = 2, SHORT_WORD = 5 };

static int64_t swap(MPI_Win win, int target, int word, int64_t expected, int64_t value)
{
    int64_t found = -1;

    MPI_Compare_and_swap(&value, &expected, &found, MPI_INT64_T, target, word, win);
    MPI_Win_flush(target, win);
    return found;
}

static int32_t swap_short(MPI_Win win, int target, int word, int32_t expected, int32_t value)
{
    int32_t found = -1;

    MPI_Compare_and_swap(&value, &expected, &found, MPI_INT32_T, target, word, win);
    MPI_Win_flush(target, win);
    return found;
}

static void count_at(MPI_Win win, int target)
{
    int64_t seen = 0, found;

    for (int i = 0; i < COUNTS; i++) {
        while ((found = swap(win, target, LONG_WORD, seen, seen + 1)) != seen) {
            seen = found;
        }
        seen++;
    }
}

static void compare_once(MPI_Win win, const int64_t *words)
{
    check_that(swap(win, check_rank, 0, 7, 9) == 5 && words[0] == 5, "an unequal one changed");
    check_that(swap(win, check_rank, 0, 5, 9) == 5 && words[0] == 9, "an equal one was not set");
    check_that(swap_short(win, check_rank, SHORT_WORD, 7, 9) == 5, "a short unequal one");
    check_that(swap_short(win, check_rank, SHORT_WORD, 5, 9) == 5, "a short equal one");
    check_that((int32_t) words[SHORT_WORD] == 9, "a short one was not set");
}

static void counts(MPI_Win win, int64_t *words, const char *what)
{
    memset(words, 0, WORDS * sizeof *words);
    words[0] = 5;
    words[SHORT_WORD] = 5;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    compare_once(win, words);
    count_at(win, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank != 0) {
        count_at(win, check_rank);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    check_that(words[LONG_WORD] == COUNTS * (check_rank == 0 ? (int64_t) check_ranks : 1),
               "%s: counted to %lld", what, (long long) words[LONG_WORD]);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int64_t created[WORDS];
    int64_t *allocated;
    MPI_Win win;

    check_begin(&argc, &argv);
    if (!check_is_rbuf()) {
        check_skip("for rbuf alone");
    }
    check_need_windows();
    MPI_Win_create(created, sizeof created, sizeof *created, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    counts(win, created, "created");
    MPI_Win_allocate(sizeof created, sizeof *allocated, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated,
                     &win);
    counts(win, allocated, "allocated");
    return check_end();
}
