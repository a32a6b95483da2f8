/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receives that come after their messages: in order and in another one, of one length, by one
 * memory that is written anew for each message. What of a message was sent before anybody asked for
 * it must never turn up in a later one, whatever way each of them goes: received as it lies,
 * scattered, or not before a buffered send has taken the memory.
 */
#include "check.h"

enum { ROUNDS = 60, MOST = 6, GO = 1, DATA = 100 };

static const int sizes[] = {13 * CHECK_K, 40 * CHECK_K, 64 * CHECK_K, 300 * CHECK_K};

/* How a message is received: nobody puts into scattered memory. */
enum place { WHOLE, SCATTERED, PLACES };

static const char *const place_names[] = {"whole", "scattered"};

static void say_go(int peer)
{
    MPI_Send(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD);
}

static void wait_for_go(int peer)
{
    MPI_Recv(NULL, 0, MPI_BYTE, peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The message is here, and nobody has asked for it. */
static void wait_for_message(int peer, int tag)
{
    int here = 0;

    while (!here) {
        MPI_Iprobe(peer, tag, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
    }
}

/* Receives `bytes` bytes (a multiple of 8) in blocks of 8, each 16 from the one before. */
static void receive_scattered(int peer, int tag, int bytes, char *buffer)
{
    uint64_t *spread = check_memory(2 * (size_t) bytes);
    MPI_Datatype type;

    MPI_Type_vector(bytes / 8, 1, 2, MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Recv(spread, 1, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes / 8; i++) {
        memcpy(buffer + 8 * i, spread + 2 * i, 8);
    }
    MPI_Type_free(&type);
    free(spread);
}

static void receive(int peer, int tag, int bytes, enum place place, uint64_t seed, const char *what)
{
    char *buffer = check_memory((size_t) bytes);

    memset(buffer, 0, (size_t) bytes);
    if (place == SCATTERED) {
        receive_scattered(peer, tag, bytes, buffer);
    } else {
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    check_match(buffer, (size_t) bytes, seed, what);
    free(buffer);
}

/* Some messages whose receives are posted first, after which rbuf has room for early data. */
static void warm_up(int peer, int bytes)
{
    for (int i = 0; i < 7; i++) {
        char *buffer = check_memory((size_t) bytes);
        MPI_Request request;

        if (check_rank == 0) {
            check_fill(buffer, (size_t) bytes, (uint64_t) i);
            wait_for_go(peer);
            MPI_Send(buffer, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(buffer, bytes, MPI_BYTE, peer, DATA, MPI_COMM_WORLD, &request);
            say_go(peer);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check_match(buffer, (size_t) bytes, (uint64_t) i, "expected");
        }
        free(buffer);
    }
}

/* Small late messages in order. */
static void calm_down(int peer)
{
    enum { MESSAGES = 40, BYTES = 13 * CHECK_K };
    char *buffer = check_memory(BYTES);

    for (int i = 0; i < MESSAGES; i++) {
        if (check_rank == 0) {
            check_fill(buffer, BYTES, (uint64_t) i);
            MPI_Send(buffer, BYTES, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
        } else {
            wait_for_message(peer, DATA);
            receive(peer, DATA, BYTES, WHOLE, (uint64_t) i, "in order");
        }
    }
    free(buffer);
}

/* Two messages after one another from some of the same memory. A part of the second one may be put
 * as the first would have been, where Open MPI is told to put large messages in parts. */
struct pair {
    int first_at, first_bytes;
    int second_at, second_bytes;
};

static const struct pair pairs[] = {
    {0, 13 * CHECK_K, 0, 13 * CHECK_K},
    {0, 40 * CHECK_K, 0, 40 * CHECK_K},
    {0, 64 * CHECK_K, 0, 64 * CHECK_K},
    {0, 300 * CHECK_K, 0, 300 * CHECK_K},
    {128 * CHECK_K, 44 * CHECK_K, 0, 172 * CHECK_K},
    {0, 40 * CHECK_K, 0, 104 * CHECK_K},
    {0, 128 * CHECK_K, 0, 172 * CHECK_K},
    {40 * CHECK_K, 40 * CHECK_K, 0, 120 * CHECK_K},
};

static void run_pair(int peer, const struct pair *pair, enum place first, char *memory)
{
    const int at[] = {pair->first_at, pair->second_at};
    const int bytes[] = {pair->first_bytes, pair->second_bytes};
    const uint64_t seed = 10 * (uint64_t) (pair->first_bytes + pair->second_bytes) + 4 * first;

    for (int i = 0; i < 2; i++) {
        if (check_rank == 0) {
            check_fill(memory + at[i], (size_t) bytes[i], seed + (uint64_t) i);
            MPI_Send(memory + at[i], bytes[i], MPI_BYTE, peer, DATA + i, MPI_COMM_WORLD);
        } else {
            wait_for_message(peer, DATA + i);
            receive(peer, DATA + i, bytes[i], i == 0 ? first : WHOLE, seed + (uint64_t) i,
                    place_names[first]);
        }
    }
}

/* Where in `memory` a buffered send keeps the bytes of `data` behind the offset; NULL: nowhere. */
static char *find_buffered(char *memory, size_t room, const char *data, size_t offset)
{
    for (size_t at = 0; at + 64 <= room; at += 8) {
        if (memcmp(memory + at, data + offset, 64) == 0) {
            return memory + at;
        }
    }
    return NULL;
}

/* Sends through `memory`, buffered; `*rest` is where what followed the rendezvous lay. */
static void send_buffered(int peer, int bytes, char *memory, size_t room, uint64_t seed,
                          size_t *rest)
{
    enum { WITH_THE_RENDEZVOUS = 64 };
    char *data = check_memory((size_t) bytes);
    char *found;
    void *detached;
    int size;

    check_fill(data, (size_t) bytes, seed);
    MPI_Buffer_attach(memory, (int) room);
    MPI_Bsend(data, bytes, MPI_BYTE, peer, DATA + 1, MPI_COMM_WORLD);
    found = find_buffered(memory, room, data, WITH_THE_RENDEZVOUS);
    check_that(found != NULL, "buffered: %d bytes are nowhere", bytes);
    *rest = found != NULL ? (size_t) (found - memory) : 0;
    MPI_Buffer_detach(&detached, &size);
    free(data);
}

/*
 * A message from memory that a buffered send takes next, of the length that this one would put; ob1
 * names that memory to nobody, and sends it in fragments. The first round finds out where it is.
 */
static void run_buffered(int peer, int bytes, enum place first, char *memory, size_t room)
{
    size_t rest = 0;

    for (int round = 0; round < 3; round++) {
        const uint64_t seed = 1000 + 2 * (uint64_t) round;
        const int before = bytes - 64;

        if (check_rank == 0) {
            check_fill(memory + rest, (size_t) before, seed);
            MPI_Send(memory + rest, before, MPI_BYTE, peer, DATA, MPI_COMM_WORLD);
            send_buffered(peer, bytes, memory, room, seed + 1, &rest);
        } else {
            wait_for_message(peer, DATA);
            receive(peer, DATA, before, first, seed, place_names[first]);
            wait_for_message(peer, DATA + 1);
            receive(peer, DATA + 1, bytes, WHOLE, seed + 1, "buffered");
        }
    }
    run_pair(peer, &(struct pair){(int) rest, bytes, (int) rest, bytes}, SCATTERED, memory);
}

/* Several at once of one length, asked for in any order when all are here. */
static void run_many(int peer, int bytes, int round, char *memory)
{
    MPI_Request requests[MOST];
    uint64_t state = (uint64_t) round;
    int count = 1 + (int) (check_random(&state) % MOST);
    int shift = (int) (check_random(&state) % (uint64_t) count);
    bool backwards = check_random(&state) % 2;

    if (check_rank == 0) {
        for (int i = 0; i < count; i++) {
            char *own = memory + (size_t) i * (size_t) bytes;

            check_fill(own, (size_t) bytes, (uint64_t) (round * MOST + i));
            MPI_Isend(own, bytes, MPI_BYTE, peer, DATA + i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int i = 0; i < count; i++) {
        wait_for_message(peer, DATA + i);
    }
    for (int i = 0; i < count; i++) {
        int of = (shift + (backwards ? count - 1 - i : i)) % count;

        receive(peer, DATA + of, bytes, (enum place)(check_random(&state) % 8 == 0),
                (uint64_t) (round * MOST + of), "one of many");
    }
}

int main(int argc, char **argv)
{
    check_short_eager();
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (check_rank < 2) {
        const size_t room = MOST * (size_t) sizes[3] + MPI_BSEND_OVERHEAD;
        char *memory = check_memory(room);
        int peer = 1 - check_rank;

        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
            for (enum place first = WHOLE; first < PLACES; first++) {
                calm_down(peer);
                warm_up(peer, pairs[i].first_bytes);
                run_pair(peer, &pairs[i], first, memory);
            }
        }
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            calm_down(peer);
            warm_up(peer, sizes[i]);
            run_buffered(peer, sizes[i], SCATTERED, memory, room);
        }
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (int round = 0; round < ROUNDS; round++) {
                run_many(peer, sizes[i], round, memory);
            }
        }
        free(memory);
    }
    return check_end();
}
