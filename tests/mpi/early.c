/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data are used, all of them, and nothing is sent twice: several ranks send to rank 0, which
 * asks for their messages a while later, up to a millisecond, and in any order. Over rbuf its
 * counters are compared; over another transport, and with protocols that have no early data, only
 * the bytes are.
 *
 * No more messages are under way from one rank than there are slots for (core/base/wire.h). What
 * waits in a window that is asked back for another rank may be dropped, and counts as claimed and
 * corrected if the receiver did not know.
 */
#include "check.h"
#include "counter.h"

#include <time.h>

enum { ROUNDS = 150, WARM = 3, SLOTS = 4, MOST_BYTES = 300 * CHECK_K, LATE_NS = 1000000 };

static const int sizes[] = {52 * CHECK_K, 64 * CHECK_K, 100 * CHECK_K + 8, MOST_BYTES};

enum { SIZES = sizeof sizes / sizeof sizes[0] };

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/* Time goes by, and MPI sees what comes meanwhile, but nobody asks for it. */
static void be_late(uint64_t ns)
{
    const uint64_t until = now_ns() + ns;
    int here;

    while (now_ns() < until) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
    }
}

static int size_of(int round, int from, int i)
{
    return sizes[(round + from + i) % SIZES];
}

static uint64_t seed_of(int round, int from, int i)
{
    return check_seed(from, 0, (uint64_t) (round * SLOTS + i));
}

static void send_round(int round, int count, char *const memory[])
{
    MPI_Request requests[SLOTS];

    for (int i = 0; i < count; i++) {
        const int bytes = size_of(round, check_rank, i);

        check_fill(memory[i], (size_t) bytes, seed_of(round, check_rank, i));
        MPI_Isend(memory[i], bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* In an order of `state`. */
static void receive_round(int round, int count, uint64_t *state, char *buffer)
{
    const int messages = count * (check_ranks - 1);
    int order[64];

    for (int i = 0; i < messages; i++) {
        const int j = (int) (check_random(state) % (uint64_t) (i + 1));

        order[i] = order[j];
        order[j] = i;
    }
    for (int k = 0; k < messages; k++) {
        const int from = 1 + order[k] / count, i = order[k] % count;
        const int bytes = size_of(round, from, i);

        if (check_random(state) % 2 == 0) {
            be_late(check_random(state) % LATE_NS);
        }
        MPI_Recv(buffer, bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, (size_t) bytes, seed_of(round, from, i), "early");
    }
}

/* The sum of a counter over all ranks; 0: not over rbuf. */
static long total(const char *name)
{
    const long read = counter_read(name);
    long own = read > 0 ? read : 0, all = 0;

    MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void judge(void)
{
    const long sent = total("early_sent");
    const long used = total("early_claimed") - total("early_corrected") + total("early_late");
    const long recalled = total("early_recalled");
    const long dropped = total("early_dropped");
    const long bytes_sent = total("staged_bytes");
    const long bytes_used = total("staged_received");
    const long in_place = total("direct_puts") + total("copied_puts");

    if (check_rank != 0 || sent == 0) {
        return;
    }
    check_that(sent >= ROUNDS, "only %ld messages had early data", sent);
    check_that(used + dropped == sent, "of %ld early data %ld were used and %ld dropped", sent,
               used, dropped);
    if (in_place > 0) { /* protocol auto: what is put in place has its early data dropped */
        return;
    }
    check_that(dropped <= SLOTS * recalled,
               "%ld early data were dropped, and %ld windows asked back", dropped, recalled);
    check_that(dropped > 0 || bytes_sent == bytes_used,
               "%ld bytes were staged, and %ld of them used", bytes_sent, bytes_used);
}

int main(int argc, char **argv)
{
    char *memory[SLOTS];
    uint64_t state = 1;

    check_short_eager();
    check_begin(&argc, &argv);
    check_need_ranks(2);
    counter_begin();
    for (int i = 0; i < SLOTS; i++) {
        memory[i] = check_memory(MOST_BYTES);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const int count = round < WARM ? 1 : 1 + round % SLOTS;

        if (check_rank == 0) {
            receive_round(round, count, &state, memory[0]);
        } else {
            send_round(round, count, memory);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    judge();
    for (int i = 0; i < SLOTS; i++) {
        free(memory[i]);
    }
    counter_end();
    return check_end();
}
