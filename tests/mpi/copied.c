/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Large puts and gets with the protocols that copy: from and into memory that is used once, many at
 * a time, and nothing of it is registered; and while their process computes, without a call of MPI,
 * they go on. Two ranks; over other protocols and transports, where they are not copied, only the
 * bytes are checked.
 */
#include "check.h"
#include "counter.h"

enum {
    MANY = 16,                /* puts, and gets, at a time */
    MOST = CHECK_M + 5,       /* bytes of each */
    WINDOW = 2 * MANY * MOST, /* what is put, and what is got */
    COMPUTED = 200 * CHECK_K, /* bytes that are moved while a rank computes */
};

static bool copies; /* the protocol does */
static char *window;
static MPI_Win win;

static bool protocol_copies(void)
{
    char protocol[64];

    return counter_text("protocol", protocol, sizeof protocol) &&
           (strcmp(protocol, "superpipeline") == 0 || strcmp(protocol, "pipeline") == 0 ||
            strcmp(protocol, "copy") == 0);
}

/* `count` puts and gets of `size` bytes each, whose memory nobody has seen before. */
static void epoch(size_t size, int count)
{
    const long puts = counter_read("copied_puts"), gets = counter_read("copied_gets");
    const long registrations = counter_read("registrations");
    char *sources[MANY], *targets[MANY];

    for (int i = 0; i < count; i++) {
        sources[i] = check_memory(size);
        targets[i] = check_guarded(size);
        check_fill(sources[i], size, size + (size_t) i);
        MPI_Put(sources[i], (int) size, MPI_BYTE, 1, (MPI_Aint) i * MOST, (int) size, MPI_BYTE,
                win);
        MPI_Get(targets[i], (int) size, MPI_BYTE, 1, (MPI_Aint) (MANY + i) * MOST, (int) size,
                MPI_BYTE, win);
    }
    MPI_Win_flush(1, win);
    for (int i = 0; i < count; i++) {
        check_match(targets[i], size, (uint64_t) (MANY + i), "got");
        check_guards(targets[i], size, "got");
        MPI_Get(targets[i], (int) size, MPI_BYTE, 1, (MPI_Aint) i * MOST, (int) size, MPI_BYTE,
                win);
        MPI_Win_flush(1, win);
        check_match(targets[i], size, size + (size_t) i, "put");
        free(sources[i]);
        free(targets[i] - CHECK_GUARD);
    }
    if (copies) {
        check_that(counter_read("copied_puts") - puts == count &&
                       counter_read("copied_gets") - gets == 2 * count,
                   "%zu bytes: %ld puts and %ld gets of %d and %d were copied", size,
                   counter_read("copied_puts") - puts, counter_read("copied_gets") - gets, count,
                   2 * count);
        check_that(registrations < 0 || counter_read("registrations") <= registrations + 2,
                   "%zu bytes: %ld registrations, and staging grows twice at the most", size,
                   counter_read("registrations") - registrations);
    }
}

/* Rank 0 puts, gets, and calls no MPI until all of it is there; so does rank 1. */
static void computing(void)
{
    const MPI_Aint there = (MPI_Aint) MANY * MOST;
    char *source = check_memory(COMPUTED), *target = check_memory(COMPUTED);

    MPI_Barrier(MPI_COMM_WORLD); /* rank 0 looks at the window no more */
    memset(source, 'p', COMPUTED);
    memset(target, 0, COMPUTED);
    window[there + COMPUTED - 1] = 'g';
    window[COMPUTED - 1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Put(source, COMPUTED, MPI_BYTE, 1 - check_rank, 0, COMPUTED, MPI_BYTE, win);
    MPI_Get(target, COMPUTED, MPI_BYTE, 1 - check_rank, there, COMPUTED, MPI_BYTE, win);
    check_that(check_becomes(window + COMPUTED - 1, 'p'), "a put rests while both compute");
    check_that(!copies || check_becomes(target + COMPUTED - 1, 'g'),
               "a get rests while both compute");
    MPI_Win_flush_all(win);
    check_that(target[COMPUTED - 1] == 'g', "the get behind it");
    MPI_Barrier(MPI_COMM_WORLD);
    free(source);
    free(target);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    counter_begin();
    copies = protocol_copies();
    window = check_window(WINDOW, &win);
    for (int i = 0; i < MANY; i++) {
        check_fill(window + (size_t) (MANY + i) * MOST, MOST, (uint64_t) (MANY + i));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    /* Connects, and locks. */
    MPI_Put(window, 1, MPI_BYTE, 1 - check_rank, 0, 1, MPI_BYTE, win);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        static const size_t sizes[] = {18 * CHECK_K, 30 * CHECK_K + 1, 64 * CHECK_K, 300001, MOST};

        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            epoch(sizes[i], 1);
            epoch(sizes[i], MANY);
        }
    }
    computing();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    counter_end();
    free(window);
    return check_end();
}
