/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A rank that is killed while small messages flow by eager rings: both ways, or only to it, or only
 * from it. Whoever is left goes on until the transport, or mpirun, ends it.
 *
 * Usage: flowing both|to|from. Says "wrong" if the messages do not go by a ring by then, where a
 * ring is possible.
 */
#include "check.h"
#include "counter.h"

enum { WINDOW = 16, WORD = 16, ROUNDS_TO_LIVE = 300, WARM = 60 };

/* Each with rank 1, in lockstep, so that rings open on both sides. */
static void warm_up(void)
{
    char word[WORD] = "";

    for (int i = 0; i < WARM; i++) {
        for (int other = 0; other < check_ranks; other++) {
            int peer = check_rank == 1 ? other : 1;

            if (other != 1 && (check_rank == 1 || check_rank == other)) {
                MPI_Sendrecv_replace(word, WORD, MPI_BYTE, peer, 0, peer, 0, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE);
            }
        }
    }
}

static void flow(bool sends, bool receives)
{
    static char out[WINDOW][WORD], in[WINDOW * 16][WORD];
    long before = counter_read("ring_sent") + counter_read("ring_received");

    for (int round = 0;; round++) {
        MPI_Request requests[2 * WINDOW * 16];
        int n = 0;

        for (int i = 0; i < WINDOW * check_ranks; i++) {
            int other = i % check_ranks;
            int peer = check_rank == 1 ? other : 1;

            if (other == 1 || (check_rank != 1 && check_rank != other)) {
                continue;
            }
            if (receives) {
                MPI_Irecv(in[i], WORD, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[n++]);
            }
            if (sends && i / check_ranks + 1 < WINDOW) {
                MPI_Isend(out[i / check_ranks], WORD, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                          &requests[n++]);
            } else if (sends) { /* the last of each window: nobody runs ahead */
                MPI_Issend(out[i / check_ranks], WORD, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                           &requests[n++]);
            }
        }
        if (round == ROUNDS_TO_LIVE) {
            long now = counter_read("ring_sent") + counter_read("ring_received");

            if (now - before < ROUNDS_TO_LIVE) {
                fprintf(stderr, "wrong: rank %d: %ld messages by rings\n", check_rank,
                        now - before);
            }
            if (check_rank == 1) {
                check_die();
            }
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "both";
    bool to = strcmp(mode, "from") != 0, from = strcmp(mode, "to") != 0;

    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (check_ranks > 16) {
        check_skip("at most 16 ranks");
    }
    counter_begin();
    warm_up();
    flow(check_rank == 1 ? from : to, check_rank == 1 ? to : from);
}
