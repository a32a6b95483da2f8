/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts and gets that are held (btl_rbuf_rma_order): requests and doorbells of an epoch, what comes
 * of neighbours, and of a put and a get of the same memory; and that a process which computes
 * behind its put, without a call of MPI, holds it no longer than async_progress. Two ranks; where
 * large ones are copied (copied.c), and over other transports, which count nothing, only the bytes
 * are checked.
 */
#include "check.h"
#include "counter.h"

#include <time.h>

enum {
    EPOCH = 16,           /* puts, and gets */
    LARGE = 64 * CHECK_K, /* bytes, more than is copied */
    SMALL = 504,          /* more than travels inside a request */
    STRIDE = LARGE + 64,  /* no neighbours */
    WINDOW = 2 * EPOCH * STRIDE
};

static bool holds; /* else each goes at once */
static char *memory, *mine, *back;
static MPI_Win win;

/* What is counted of the operations since then. */
struct counts {
    long requests, doorbells, copied;
};

static struct counts counts_now(void)
{
    return (struct counts){counter_read("rma_requests"), counter_read("rma_doorbells"),
                           counter_read("copied_puts") + counter_read("copied_gets")};
}

static void check_counts(const struct counts *before, long requests, long doorbells,
                         const char *what)
{
    const struct counts now = counts_now();

    if (now.requests >= 0 && now.copied == before->copied) {
        check_that(now.requests - before->requests == requests &&
                       now.doorbells - before->doorbells == doorbells,
                   "%s: %ld requests and %ld doorbells, not %ld and %ld", what,
                   now.requests - before->requests, now.doorbells - before->doorbells, requests,
                   doorbells);
    }
}

/* Puts and gets of `size` bytes, `stride` apart; the gets are of the second half of the window. */
static void epoch(size_t size, size_t stride, long requests, const char *what)
{
    const MPI_Aint half = WINDOW / 2;
    struct counts before;

    check_fill(mine, WINDOW / 2, size);
    memset(back, 0, WINDOW / 2);
    before = counts_now();
    for (size_t i = 0; i < EPOCH; i++) {
        MPI_Put(mine + i * stride, (int) size, MPI_BYTE, 1, (MPI_Aint) (i * stride), (int) size,
                MPI_BYTE, win);
    }
    for (size_t i = 0; i < EPOCH; i++) {
        MPI_Get(back + i * stride, (int) size, MPI_BYTE, 1, half + (MPI_Aint) (i * stride),
                (int) size, MPI_BYTE, win);
    }
    MPI_Win_flush(1, win);
    check_counts(&before, holds ? requests : 2 * EPOCH, holds ? 1 : 2 * EPOCH, what);
    for (size_t i = 0; i < EPOCH; i++) {
        check_that(back[i * stride] == 'g' && back[i * stride + size - 1] == 'g', "%s: get %zu",
                   what, i);
    }
    memset(back, 0, WINDOW / 2);
    MPI_Get(back, WINDOW / 2, MPI_BYTE, 1, 0, WINDOW / 2, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    for (size_t i = 0; i < EPOCH; i++) {
        check_that(memcmp(back + i * stride, mine + i * stride, size) == 0, "%s: put %zu", what, i);
    }
}

/* A get that overlaps a put before it brings what was put, unless they are copied. */
static void overlapping(void)
{
    const struct counts before = counts_now();

    for (int i = 1; i <= 3; i++) {
        memset(mine, i, LARGE);
        MPI_Put(mine, LARGE, MPI_BYTE, 1, 0, LARGE, MPI_BYTE, win);
        MPI_Get(back, LARGE, MPI_BYTE, 1, LARGE / 2, LARGE, MPI_BYTE, win);
        MPI_Get(back + LARGE, LARGE, MPI_BYTE, 1, WINDOW / 2, LARGE, MPI_BYTE, win);
        MPI_Win_flush(1, win);
        check_that((back[0] == i && back[LARGE / 2 - 1] == i) ||
                       counts_now().copied != before.copied,
                   "a get went before put %d", i);
        check_that(back[LARGE] == 'g', "the get beside put %d", i);
    }
}

/* Beyond the target's window: an error, and what is held besides arrives. */
static void out_of_range(void)
{
    memset(mine, 'o', LARGE);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Put(mine, LARGE, MPI_BYTE, 1, 0, LARGE, MPI_BYTE, win);
    check_that(MPI_Put(mine, LARGE, MPI_BYTE, 1, WINDOW, LARGE, MPI_BYTE, win) != MPI_SUCCESS,
               "a put beyond the window had no error");
    MPI_Win_flush(1, win);
    MPI_Get(back, LARGE, MPI_BYTE, 1, 0, LARGE, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    check_that(back[0] == 'o' && back[LARGE - 1] == 'o', "the put before one out of range");
    MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
}

/* Rank 0 puts and computes until it sees the answer; rank 1 answers when it has seen the put. */
static void computing(void)
{
    char *last = memory + WINDOW - 1;

    memset(mine, 'c', LARGE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Put(mine, LARGE, MPI_BYTE, 1, WINDOW - LARGE, LARGE, MPI_BYTE, win);
        check_that(check_becomes(last, 'c'), "a put was held while its process computed");
        MPI_Win_flush(1, win);
    } else {
        check_that(check_becomes(last, 'c'), "a put did not come while its process computed");
        MPI_Put(mine, 1, MPI_BYTE, 0, WINDOW - 1, 1, MPI_BYTE, win);
        MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    char order[4096];

    check_begin(&argc, &argv);
    check_need_ranks(2);
    counter_begin();
    holds = counter_text("rma_order", order, sizeof order) && strcmp(order, "issue") != 0;
    memory = check_window(WINDOW, &win);
    mine = check_memory(WINDOW);
    back = check_memory(WINDOW);
    memset(memory, 'g', WINDOW);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    /* Connects, and locks. */
    MPI_Put(mine, LARGE, MPI_BYTE, 1 - check_rank, WINDOW / 2 - LARGE, LARGE, MPI_BYTE, win);
    MPI_Win_flush_all(win);
    if (check_rank == 0) {
        epoch(LARGE, STRIDE, 2 * EPOCH, "large ones");
        epoch(SMALL, SMALL + 8, 2 * EPOCH, "small ones");
        epoch(SMALL, SMALL, 2 * EPOCH, "neighbours, each copied to a place of its own");
        overlapping();
        out_of_range();
    }
    computing();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    counter_end();
    free(memory);
    free(mine);
    free(back);
    return check_end();
}
