/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packed data whose pieces may be sent behind the rendezvous: messages that are expected and ones
 * that are not, many at once in both directions, in all modes, beside contiguous ones. Bytes and
 * holes are checked over any transport; over rbuf, its counters must say that what is expected was
 * heralded, and that what is not was so no more, after a while.
 */
#include "check.h"
#include "counter.h"

#include <unistd.h>

enum {
    BLOCK = 64,
    STRIDE = 144,
    HOLE = 0x55,
    ALONE = 30,
    LATE = 60,
    LATE_HERALDS = 9, /* each time that the receiver is late twice as many are spared */
    WINDOW = 8,
    ROUNDS = 12,
    WAIT_US = 2000
};

static const size_t sizes[] = {200, 257, 1024, 3131, 16384}; /* in blocks */

enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* A message of blocks, as MPI is to see it. */
struct typed {
    size_t blocks;
    MPI_Datatype type;
    char *buffer;
};

static struct typed typed_make(size_t blocks)
{
    struct typed typed = {.blocks = blocks, .buffer = check_guarded(blocks * STRIDE)};

    MPI_Type_vector((int) blocks, BLOCK, STRIDE, MPI_BYTE, &typed.type);
    MPI_Type_commit(&typed.type);
    memset(typed.buffer, HOLE, blocks * STRIDE);
    return typed;
}

static void typed_free(struct typed *typed)
{
    check_guards(typed->buffer, typed->blocks * STRIDE, "packed");
    check_guarded_free(typed->buffer);
    MPI_Type_free(&typed->type);
}

static void typed_fill(struct typed *typed, uint64_t seed)
{
    char *bytes = check_memory(typed->blocks * BLOCK);

    check_fill(bytes, typed->blocks * BLOCK, seed);
    for (size_t i = 0; i < typed->blocks; i++) {
        memcpy(typed->buffer + i * STRIDE, bytes + i * BLOCK, BLOCK);
    }
    free(bytes);
}

/* The seed's bytes are there, and the holes are what they were. */
static void typed_check(const struct typed *typed, uint64_t seed, const char *what)
{
    struct typed wanted = typed_make(typed->blocks);

    typed_fill(&wanted, seed);
    check_that(memcmp(wanted.buffer, typed->buffer, typed->blocks * STRIDE) == 0,
               "%s: %zu blocks: wrong bytes", what, typed->blocks);
    typed_free(&wanted);
}

/* One message from rank 0 to rank 1, whose receive is posted first, or once it is seen to come. */
static void alone(size_t blocks, uint64_t serial, bool late)
{
    struct typed typed = typed_make(blocks);
    uint64_t seed = check_seed(0, 1, serial);
    MPI_Request request;

    if (check_rank == 0) {
        typed_fill(&typed, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        usleep(late ? 0 : WAIT_US);
        MPI_Send(typed.buffer, 1, typed.type, 1, 1, MPI_COMM_WORLD);
    } else {
        if (late) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Irecv(typed.buffer, 1, typed.type, 0, 1, MPI_COMM_WORLD, &request);
        if (!late) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        typed_check(&typed, seed, late ? "late" : "expected");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    typed_free(&typed);
}

/* How many messages rank 0 has heralded since `before`; -1: not over rbuf. */
static long heralds(void)
{
    return counter_read("heralds");
}

static void expected_ones(void)
{
    const long before = heralds();

    for (int i = 0; i < ALONE; i++) {
        alone(sizes[i % SIZES], (uint64_t) i, false);
    }
    if (check_rank == 0 && before >= 0) {
        check_that(heralds() - before >= ALONE / 2, "%ld of %d messages were heralded",
                   heralds() - before, ALONE);
    }
}

static void late_ones(void)
{
    const long before = heralds();

    for (int i = 0; i < LATE; i++) {
        alone(sizes[i % SIZES], 1000 + (uint64_t) i, true);
    }
    if (check_rank == 0 && before >= 0) {
        check_that(heralds() - before <= LATE_HERALDS, "%ld messages were heralded in vain",
                   heralds() - before);
        check_that(counter_read("heralds_late") > 0, "no herald was late");
    }
}

/* Windows of strided and contiguous messages cross; receives are posted before, between or behind
 * the sends. */
static void crossing(int order)
{
    struct typed out[WINDOW], in[WINDOW];
    MPI_Request requests[2 * WINDOW];
    int other = 1 - check_rank;
    uint64_t serial = 5000 + (uint64_t) order * WINDOW;

    for (int i = 0; i < WINDOW; i++) {
        out[i] = typed_make(sizes[(i + order) % SIZES]);
        in[i] = typed_make(sizes[(i + order) % SIZES]);
        typed_fill(&out[i], check_seed(check_rank, other, serial + (uint64_t) i));
    }
    for (int i = 0, n = 0; i < 2 * WINDOW; i++) {
        bool receive = order % 3 == 0 ? i < WINDOW : order % 3 == 1 ? i >= WINDOW : i % 2 == 0;
        int j = order % 3 == 2 ? i / 2 : i % WINDOW;

        if (receive) {
            MPI_Irecv(in[j].buffer, 1, in[j].type, other, j, MPI_COMM_WORLD, &requests[n++]);
        } else {
            MPI_Isend(out[j].buffer, 1, out[j].type, other, j, MPI_COMM_WORLD, &requests[n++]);
        }
    }
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < WINDOW; i++) {
        typed_check(&in[i], check_seed(other, check_rank, serial + (uint64_t) i), "crossing");
        typed_free(&in[i]);
        typed_free(&out[i]);
    }
}

/* Synchronous, ready and buffered sends; the receiver takes blocks, or the bytes in one piece. */
static void in_mode(int mode, bool blocks_to_bytes)
{
    struct typed typed = typed_make(sizes[2]);
    const size_t bytes = typed.blocks * BLOCK;
    uint64_t seed = check_seed(0, 1, 9000 + (uint64_t) mode);
    char *plain = check_memory(bytes);
    char *space = check_memory(bytes + MPI_BSEND_OVERHEAD + 4096);
    MPI_Request request;
    int space_bytes = (int) bytes + MPI_BSEND_OVERHEAD + 4096;

    if (check_rank == 1) {
        MPI_Irecv(blocks_to_bytes ? plain : typed.buffer, blocks_to_bytes ? (int) bytes : 1,
                  blocks_to_bytes ? MPI_BYTE : typed.type, 0, 3, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (blocks_to_bytes) {
            check_match(plain, bytes, seed, "blocks to bytes");
        } else {
            typed_check(&typed, seed, "mode");
        }
    } else {
        typed_fill(&typed, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Buffer_attach(space, space_bytes);
        (mode == 0   ? MPI_Ssend
         : mode == 1 ? MPI_Rsend
                     : MPI_Bsend)(typed.buffer, 1, typed.type, 1, 3, MPI_COMM_WORLD);
        MPI_Buffer_detach(&space, &space_bytes);
    }
    typed_free(&typed);
    free(plain);
    free(space);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    counter_begin();
    expected_ones();
    late_ones();
    for (int i = 0; i < ROUNDS; i++) {
        crossing(i);
    }
    for (int mode = 0; mode < 6; mode++) {
        in_mode(mode % 3, mode / 3 == 1);
    }
    expected_ones();
    counter_end();
    return check_end();
}
