/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Many messages under way at once, in both directions: every pair of ranks exchanges a window of
 * messages of mixed sizes, with the receives posted in the order of the sends, in the opposite
 * order, or after the sends. Usage: window [messages a pair].
 */
#include "check.h"

enum order { IN_ORDER, REVERSED, AFTER_SENDS, ORDERS };

struct window {
    int messages; /* a pair of ranks and direction */
    size_t sizes[256];
    char **send, **recv; /* [peer * messages + i] */
    MPI_Request *requests;
};

static size_t slot(const struct window *w, int peer, int i)
{
    return (size_t) peer * (size_t) w->messages + (size_t) i;
}

static uint64_t seed(int from, int to, int round, int i)
{
    return check_seed(from, to, (uint64_t) round * 1000 + (uint64_t) i);
}

static void post_receives(struct window *w, enum order order)
{
    for (int peer = 0; peer < check_ranks; peer++) {
        for (int n = 0; n < w->messages; n++) {
            const int i = order == REVERSED ? w->messages - 1 - n : n;
            const size_t at = slot(w, peer, i);
            memset(w->recv[at] - CHECK_GUARD, 0x5a, w->sizes[i] + 2 * CHECK_GUARD);
            MPI_Irecv(w->recv[at], (int) w->sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD,
                      &w->requests[at]);
        }
    }
}

static void post_sends(struct window *w, int round)
{
    const size_t first = (size_t) check_ranks * (size_t) w->messages;

    for (int i = 0; i < w->messages; i++) {
        for (int peer = 0; peer < check_ranks; peer++) {
            const size_t at = slot(w, peer, i);
            check_fill(w->send[at], w->sizes[i], seed(check_rank, peer, round, i));
            MPI_Isend(w->send[at], (int) w->sizes[i], MPI_BYTE, peer, i, MPI_COMM_WORLD,
                      &w->requests[first + at]);
        }
    }
}

static void exchange(struct window *w, enum order order, int round)
{
    const int requests = 2 * check_ranks * w->messages;

    if (order == AFTER_SENDS) {
        post_sends(w, round);
        post_receives(w, order);
    } else {
        post_receives(w, order);
        MPI_Barrier(MPI_COMM_WORLD);
        post_sends(w, round);
    }
    MPI_Waitall(requests, w->requests, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < check_ranks; peer++) {
        for (int i = 0; i < w->messages; i++) {
            const size_t at = slot(w, peer, i);
            check_match(w->recv[at], w->sizes[i], seed(peer, check_rank, round, i), "in a window");
            check_guards(w->recv[at], w->sizes[i], "in a window");
        }
    }
}

int main(int argc, char **argv)
{
    struct window w = {.messages = 32};
    uint64_t random = 7;

    check_begin(&argc, &argv);
    if (argc > 1) {
        w.messages = atoi(argv[1]);
    }
    if (w.messages < 1 || w.messages > 256) {
        check_skip("1 to 256 messages a pair");
    }
    const size_t slots = (size_t) check_ranks * (size_t) w.messages;
    for (int i = 0; i < w.messages; i++) {
        /* Two of three from the table without its largest, the third random. */
        w.sizes[i] = i % 3 < 2 ? check_sizes[(size_t) i * 7 % (CHECK_SIZE_COUNT - 1)]
                               : check_random(&random) % (200 * CHECK_K);
    }
    w.send = check_memory(slots * sizeof *w.send);
    w.recv = check_memory(slots * sizeof *w.recv);
    w.requests = check_memory(2 * slots * sizeof *w.requests);
    for (size_t at = 0; at < slots; at++) {
        w.send[at] = check_guarded(w.sizes[at % (size_t) w.messages]);
        w.recv[at] = check_guarded(w.sizes[at % (size_t) w.messages]);
    }
    for (int round = 0; round < 2 * ORDERS; round++) {
        exchange(&w, (enum order)(round % ORDERS), round);
    }
    for (size_t at = 0; at < slots; at++) {
        check_guarded_free(w.send[at]);
        check_guarded_free(w.recv[at]);
    }
    free(w.send);
    free(w.recv);
    free(w.requests);
    return check_end();
}
