/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager messages where rings have their edges: sizes around what one slot takes and what several
 * do, more messages than slots for a receiver that is not there, more partners than the polling set
 * has places. The data and their order are checked over any transport; over rbuf, its counters must
 * say that the way was the one that is meant.
 *
 *     rings sizes|flood|partners [none]
 *
 * none: nothing may go by a ring, though the parameters allow it.
 */
#include "check.h"
#include "counter.h"

#include <time.h>

enum {
    WARM = 40,    /* messages, so that rings are open if they ever will */
    TRAILER = 32, /* of a slot */
    EXTRA = 40,   /* of a message over several */
    EAGER = 48 * CHECK_K,
    ENVELOPE = 32, /* of MPI, at most */
    FLOOD = 400,
    LARGEST = 3000,
    WINDOW = 64,
    ROUNDS = 50
};

static struct {
    long slots; /* 0: no rings */
    long slot_bytes;
    long longest; /* payload of a message by the ring */
    long set;
    long threshold;
} rings;

/* Half of the slots, or what ring_longest says; one slot if that is not more. */
static long longest(void)
{
    const long room = rings.slot_bytes - TRAILER;
    const long half = rings.slots / 2 * rings.slot_bytes - EXTRA;
    long most = counter_parameter("ring_longest");

    if (most == 0 || rings.slots < 4) {
        return room;
    }
    most = most > 0 && most < half ? most : half;
    return most > room ? most : room;
}

static void read_parameters(bool none)
{
    rings.set = counter_parameter("polling_set");
    rings.slot_bytes = counter_parameter("ring_slot_size");
    rings.threshold = counter_parameter("ring_threshold");
    rings.slots = rings.set > 0 && !none ? counter_parameter("ring_slots") : 0;
    rings.longest = longest();
}

/* Over rbuf the counter has grown, or not, since it was `before`. */
static void check_grown(const char *name, long before, bool grown)
{
    long now = counter_read(name);

    check_that(now < 0 || (now > before) == grown, "%s has%s grown: %ld, %ld before", name,
               grown ? " not" : "", now, before);
}

/* A message of rank 0 and an answer of the same size. */
static void ping_pong(size_t size, uint64_t serial)
{
    char *buffer = check_guarded(size);
    int other = 1 - check_rank;

    for (int from = 0; from < 2; from++) {
        if (check_rank == from) {
            check_fill(buffer, size, check_seed(from, other, serial));
            MPI_Send(buffer, (int) size, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buffer, (int) size, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check_match(buffer, size, check_seed(other, check_rank, serial), "ping-pong");
            check_guards(buffer, size, "ping-pong");
        }
    }
    check_guarded_free(buffer);
}

static void warm_up(void)
{
    for (uint64_t i = 0; i < WARM + 3 * (uint64_t) (rings.threshold > 0 ? rings.threshold : 0);
         i++) {
        ping_pong(8, i);
    }
}

/* ---- sizes ---- */

/* Whether messages of that size went by the ring: all did, or none. Those that are gathered go
 * beside it where checksums say what has come (core/eager/ring_out.c): nobody has read their data.
 */
static bool by_ring(size_t size)
{
    enum { TIMES = 3 };
    const long before = counter_read("ring_sent"), before_gathered = counter_read("reuse_gathered");
    long sent, gathered;

    for (uint64_t i = 0; i < TIMES; i++) {
        ping_pong(size, size + i);
    }
    sent = counter_read("ring_sent") - before;
    gathered = counter_read("reuse_gathered") - before_gathered;
    check_that(sent == 0 || sent == TIMES || sent + gathered == TIMES,
               "%zu bytes: %ld of %d messages went by the ring, %ld were gathered", size, sent,
               TIMES, gathered);
    return sent + gathered > 0;
}

/* Sizes around what one slot takes, and others, when all eager messages go by the ring. */
static void check_all_sizes(void)
{
    long room = rings.slot_bytes - TRAILER;

    warm_up();
    for (long size = room - ENVELOPE - 16; size <= room + 40; size++) {
        check_that(by_ring((size_t) size), "%ld bytes do not go by the ring", size);
    }
    for (long size = 0; size < EAGER - 2 * ENVELOPE; size += 997) {
        check_that(by_ring((size_t) size), "%ld bytes do not go by the ring", size);
    }
}

/* Up to some size all go by the ring, and from there on none: the longest less the envelope. */
static void check_edge(void)
{
    long room = rings.longest;
    long edge = -1; /* the largest message that goes by a ring */

    warm_up();
    for (long size = room - ENVELOPE - 16; size <= room + 40; size++) {
        bool rung = size >= 0 && by_ring((size_t) size);

        check_that(!rung || edge < 0 || edge == size - 1, "%ld bytes go by the ring, %ld do not",
                   size, size - 1);
        edge = rung ? size : edge;
    }
    if (rings.slots > 0) {
        check_that(edge >= room - ENVELOPE && edge < room, "the largest in the ring has %ld bytes",
                   edge);
        check_that(by_ring(0) && by_ring(1), "the smallest go by the ring");
        check_that(!by_ring((size_t) room), "what has no room goes by send/receive");
    } else {
        check_that(edge < 0 && !by_ring(0), "nothing goes by a ring");
    }
}

/* ---- flood ---- */

static size_t flood_size(int i)
{
    return (size_t) i * 37 % (i % 3 == 0 ? 64 : LARGEST);
}

/* Takes them in the order that gives each the most of the others to pass. */
static void receive_flood(uint64_t serial)
{
    int other = 1 - check_rank;

    for (int i = FLOOD; i-- > 0;) {
        size_t size = flood_size(i);
        char *buffer = check_guarded(size);

        MPI_Recv(buffer, (int) size, MPI_BYTE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_match(buffer, size, check_seed(other, check_rank, serial + (uint64_t) i), "flood");
        check_guards(buffer, size, "flood");
        check_guarded_free(buffer);
    }
}

/* Both send without a receive being posted; rank 1 does not look for a while. */
static void flood(uint64_t serial)
{
    const struct timespec a_while = {.tv_nsec = 100000000};
    char *memory = check_memory((size_t) FLOOD * LARGEST);
    MPI_Request requests[FLOOD];

    if (check_rank == 1) {
        nanosleep(&a_while, NULL);
    }
    for (int i = 0; i < FLOOD; i++) {
        char *from = memory + (size_t) i * LARGEST;

        check_fill(from, flood_size(i),
                   check_seed(check_rank, 1 - check_rank, serial + (uint64_t) i));
        MPI_Isend(from, (int) flood_size(i), MPI_BYTE, 1 - check_rank, i, MPI_COMM_WORLD,
                  &requests[i]);
    }
    receive_flood(serial);
    MPI_Waitall(FLOOD, requests, MPI_STATUSES_IGNORE);
    free(memory);
}

static void check_flood(void)
{
    long full, sent;

    warm_up();
    full = counter_read("ring_full");
    sent = counter_read("ring_sent");
    for (uint64_t round = 0; round < 5; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        flood(round * FLOOD);
    }
    check_grown("ring_sent", sent, rings.slots > 0);
    if (check_rank == 0 || rings.slots <= 0) { /* the other may have been read while it sent */
        check_grown("ring_full", full, rings.slots > 0);
    }
}

/* ---- partners ---- */

/* A window of small messages to a rank and from another. */
static void window(int to, int from, uint64_t serial)
{
    static char out[WINDOW][64], in[WINDOW][64];
    MPI_Request requests[2 * WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        int size = i % 64;

        check_fill(out[i], (size_t) size, check_seed(check_rank, to, serial + (uint64_t) i));
        MPI_Irecv(in[i], size, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(out[i], size, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW; i++) {
        check_match(in[i], (size_t) (i % 64), check_seed(from, check_rank, serial + (uint64_t) i),
                    "window");
    }
}

/* Each rank's traffic wanders: for a while all of it goes one rank on, then two, and so on, twice
 * round. Where the set has fewer places than there are partners, some must leave for others. */
static void check_partners(void)
{
    bool too_few_places = rings.slots > 0 && rings.set < check_ranks - 1;
    long value[3];
    const char *names[3] = {"ring_admitted", "ring_recalled", "ring_sent"};

    for (int phase = 0; phase < 2 * (check_ranks - 1); phase++) {
        int distance = 1 + phase % (check_ranks - 1);

        for (int round = 0; round < ROUNDS; round++) {
            window((check_rank + distance) % check_ranks,
                   (check_rank + check_ranks - distance) % check_ranks,
                   (uint64_t) (phase * ROUNDS + round) * WINDOW);
        }
    }
    for (int i = 0; i < 3; i++) {
        value[i] = counter_read(names[i]);
    }
    if (value[0] < 0) {
        return;
    }
    check_that((value[2] > 0) == (rings.slots > 0), "%ld messages went by rings", value[2]);
    check_that(!too_few_places || value[0] > rings.set, "%ld peers were admitted to %ld places",
               value[0], rings.set);
    check_that(!too_few_places || value[1] > 0, "nobody had to leave a set of %ld", rings.set);
    check_that(rings.slots > 0 || value[0] == 0, "%ld peers were admitted", value[0]);
    if (check_rank == 0) {
        printf("rank 0: %ld admitted, %ld recalled, %ld by rings\n", value[0], value[1], value[2]);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    check_begin(&argc, &argv);
    check_need_ranks(2);
    counter_begin();
    read_parameters(argc > 2 && strcmp(argv[2], "none") == 0);
    if (strcmp(mode, "sizes") == 0 && check_ranks == 2) {
        if (rings.slot_bytes < 0) {
            rings.slots = 0, rings.longest = 2048;
        }
        if (rings.slots > 0 && rings.longest >= EAGER) {
            check_all_sizes();
        } else {
            check_edge();
        }
    } else if (strcmp(mode, "flood") == 0 && check_ranks == 2) {
        check_flood();
    } else if (strcmp(mode, "partners") == 0) {
        check_partners();
    } else {
        check_that(false, "usage: rings sizes|flood|partners [none]; the first two with 2 ranks");
    }
    counter_end();
    return check_end();
}
