/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How messages go whose size is about the eager limits. With two ranks: those that are longer than
 * receive buffers get a ring although nothing shorter is sent; then every size around the limits
 * goes eagerly, in one message, or is put, and none has a rendezvous and is sent in fragments all
 * the same; synchronous sends arrive. With more ranks: messages for partners that lease no ring
 * have a rendezvous. Over other transports only the bytes are compared. Odd ranks may have
 * parameters of their own, for receivers and senders that do not agree on what is sent in place.
 */
#include "check.h"
#include "counter.h"

enum { BELOW = 140, ABOVE = 20, PER_PEER = 30, ALONE = 100, LONG = 20 * CHECK_K };

static long puts_so_far(void)
{
    return counter_read("staged_messages") + counter_read("copied_puts") +
           counter_read("direct_puts");
}

/* There, and an empty message back. */
static void exchange(char *buffer, size_t size, uint64_t serial, bool synchronous)
{
    if (check_rank == 0) {
        check_fill(buffer, size, serial);
        (synchronous ? MPI_Ssend : MPI_Send)(buffer, (int) size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffer, (int) size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, size, serial, "threshold");
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void around(size_t limit, int *eager, int *put)
{
    char *buffer = check_memory(limit + ABOVE);

    for (size_t size = limit - BELOW; size <= limit + ABOVE; size++) {
        const long sent = counter_read("messages_sent"), puts = puts_so_far();

        exchange(buffer, size, size, false);
        if (check_rank != 0 || sent < 0) {
            continue;
        }
        if (puts_so_far() > puts) {
            ++*put;
            continue;
        }
        ++*eager;
        check_that(counter_read("messages_sent") == sent + 1,
                   "%zu bytes went in %ld messages, and none was a put", size,
                   counter_read("messages_sent") - sent);
    }
    free(buffer);
}

/* The first of these find no ring. What is not copied goes beside a ring with checksums, and so
 * does what was meant to: nothing is said of rings then. */
static void check_ring_wanted(void)
{
    const bool rings = counter_parameter("polling_set") > 0 &&
                       counter_parameter("ring_slots") > 16 &&
                       counter_parameter("ring_longest") != 0;
    char *buffer = check_memory(LONG);
    long before = counter_read("ring_sent");
    bool beside;

    for (uint64_t i = 0; i < ALONE; i++) {
        exchange(buffer, LONG, i, false);
        if (i == ALONE / 2) {
            before = counter_read("ring_sent");
        }
    }
    beside = counter_read("reuse_gathered") > 0;
    check_that(check_rank != 0 || before < 0 || !rings || beside ||
                   counter_read("ring_sent") - before == ALONE - ALONE / 2 - 1,
               "%ld of %d messages went by a ring", counter_read("ring_sent") - before,
               ALONE - ALONE / 2 - 1);
    free(buffer);
}

static void check_synchronous(void)
{
    static const size_t sizes[] = {10,           12 * CHECK_K - 100, 13 * CHECK_K,
                                   20 * CHECK_K, 48 * CHECK_K,       100 * CHECK_K};
    char *buffer = check_memory(100 * CHECK_K);

    for (uint64_t i = 0; i < 60; i++) {
        exchange(buffer, sizes[i % 6], i, true);
        exchange(buffer, sizes[i % 5], i + 1, false);
    }
    free(buffer);
}

static void check_limits(void)
{
    int eager = 0, put = 0;

    check_ring_wanted();
    check_synchronous();
    around(12 * CHECK_K, &eager, &put);
    around(48 * CHECK_K, &eager, &put);
    MPI_Bcast(&put, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (put == 0) { /* to far peers, and to near ones that a loaded machine lets seem so */
        around(66 * CHECK_K, &eager, &put);
    }
    check_that(check_rank != 0 || puts_so_far() < 0 || (eager > 0 && put >= ABOVE),
               "%d sizes are eager and %d put: no limit among them", eager, put);
}

/* One message to each and one from each, `times` over. */
static void all_to_all(size_t size, uint64_t times)
{
    char *sent = check_memory(size), *received = check_memory(size);

    for (uint64_t i = 0; i < times; i++) {
        for (int j = 1; j < check_ranks; j++) {
            const int to = (check_rank + j) % check_ranks;
            const int from = (check_rank + check_ranks - j) % check_ranks;

            check_fill(sent, size, check_seed(check_rank, to, i));
            MPI_Sendrecv(sent, (int) size, MPI_BYTE, to, 0, received, (int) size, MPI_BYTE, from, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check_match(received, size, check_seed(from, check_rank, i), "many peers");
        }
    }
    free(sent);
    free(received);
}

/* True if a rank sends 60 KB eagerly: it finds all its peers far, as it may on a loaded machine.
 * Then what is shorter is eager, too, with a ring or without. */
static bool is_one_far(void)
{
    const long before = puts_so_far(), messages = check_ranks - 1;
    int far, any;

    all_to_all(60 * CHECK_K, 1);
    far = before >= 0 && puts_so_far() - before < messages;
    MPI_Allreduce(&far, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return any != 0;
}

/* Messages that only a ring takes, from each to each. Where all lease each other rings hardly any
 * is put, also if at first none had one; else most. */
static void check_many_peers(void)
{
    const long set = counter_parameter("polling_set"), messages = PER_PEER * (check_ranks - 1);
    const long longest = counter_parameter("ring_longest"); /* -1: what the ring has room for */
    const bool fits = (longest < 0 || longest >= LONG) &&
                      counter_parameter("ring_slots") * counter_parameter("ring_slot_size") >
                          2l * LONG; /* a message takes half of a ring at the most */
    long before, mine, all;

    all_to_all(LONG, PER_PEER);
    all_to_all(8, PER_PEER);
    all_to_all(LONG, PER_PEER);
    before = puts_so_far();
    all_to_all(LONG, PER_PEER);
    mine = puts_so_far() - before;
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (is_one_far()) {
        return;
    }
    if (before >= 0 && check_ranks - 1 > set) {
        check_that(all > messages * check_ranks / 2, "%ld puts, with %ld rings a rank", all, set);
    } else if (before >= 0 && fits) {
        check_that(all < messages * check_ranks / 4, "%ld puts, though all have rings", all);
    }
}

int main(int argc, char **argv)
{
    check_unlike(argv);
    check_begin(&argc, &argv);
    counter_begin();
    if (check_ranks == 2) {
        check_limits();
    } else {
        check_many_peers();
    }
    counter_end();
    return check_end();
}
