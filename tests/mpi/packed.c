/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Packed data, of which some may be sent with the rendezvous: messages that are expected and ones
 * that are not, many at once in both directions, in all modes, of types in types. Bytes and holes
 * are checked over any transport; over rbuf, its counters must say that all had early data.
 *
 *   packed uncounted only the bytes: over several ports there are no early data
 *   packed [TYPE]    from amid the messages of that nested type on, some fragments are asked for in
 *                    another size than was sent; then no message has early data any more
 */
#include "check.h"
#include "counter.h"
#include "cut.h"

#include <unistd.h>

enum {
    BLOCK = 64,
    STRIDE = 144,
    HOLE = 0x55,
    ALONE = 30,
    LATE = 60,
    WINDOW = 8,
    ROUNDS = 12,
    WAIT_US = 2000,
    NESTED = 6
};

static const size_t sizes[] = {769, 900, 1024, 3131, 16384}; /* in blocks */

enum { SIZES = sizeof sizes / sizeof sizes[0] };

enum { CUT_BYTES = 1000, CUT_EVERY = 3 };

static const char *cut_type = ""; /* TYPE */
static bool cut;
static long fragments_when_cut; /* -1: not over rbuf */

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

/* How many fragments this rank has received as early data; -1: not over rbuf. */
static long fragments(void)
{
    return counter_read("early_fragments");
}

/* Messages from rank 0 to rank 1, one after another; all but `without` at most have early data. */
static void in_turn(int count, uint64_t serial, bool late, int without)
{
    const long before = fragments();

    for (int i = 0; i < count; i++) {
        alone(sizes[i % SIZES], serial + (uint64_t) i, late);
    }
    if (check_rank == 1 && before >= 0) {
        check_that(fragments() - before >= count - without,
                   "%d messages had %ld fragments of early data", count, fragments() - before);
    }
}

/* The first two find out that there are such messages. */
static void expected_ones(void)
{
    in_turn(ALONE, 0, false, 2);
}

static void late_ones(void)
{
    in_turn(LATE, 1000, true, 0);
}

/* ---- types of types ---- */

/* A matrix of doubles that is sent by columns. */
static MPI_Datatype transpose(void)
{
    MPI_Datatype column, matrix;

    MPI_Type_vector(300, 1, 300, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(300, 1, sizeof(double), column, &matrix);
    MPI_Type_free(&column);
    return matrix;
}

static MPI_Datatype block_of_3d(void)
{
    const int all[] = {120, 60, 9}, part[] = {100, 50, 7}, first[] = {3, 5, 1};
    MPI_Datatype block;

    MPI_Type_create_subarray(3, all, part, first, MPI_ORDER_C, MPI_FLOAT, &block);
    return block;
}

static MPI_Datatype structure(void)
{
    const int lengths[] = {1, 3, 1};
    const MPI_Aint starts[] = {0, 8, 27};
    const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Datatype plain, resized;

    MPI_Type_create_struct(3, lengths, starts, members, &plain);
    MPI_Type_create_resized(plain, 0, 32, &resized);
    MPI_Type_free(&plain);
    return resized;
}

static MPI_Datatype vector_of_structures(void)
{
    MPI_Datatype one = structure(), many;

    MPI_Type_vector(2000, 3, 5, one, &many);
    MPI_Type_free(&one);
    return many;
}

static MPI_Datatype vector_of_indexed(void)
{
    const int lengths[] = {17, 3, 1, 19}, starts[] = {100, 0, 33, 64};
    MPI_Datatype one, many;

    MPI_Type_indexed(4, lengths, starts, MPI_BYTE, &one);
    MPI_Type_vector(4000, 1, 2, one, &many);
    MPI_Type_free(&one);
    return many;
}

/* The seed's bytes as the type has them, between holes. */
static void nested_fill(char *buffer, MPI_Aint extent, MPI_Datatype type, uint64_t seed)
{
    int bytes, position = 0;

    MPI_Type_size(type, &bytes);
    char *plain = check_memory((size_t) bytes);

    check_fill(plain, (size_t) bytes, seed);
    memset(buffer, HOLE, (size_t) extent);
    MPI_Unpack(plain, bytes, &position, buffer, 1, type, MPI_COMM_WORLD);
    free(plain);
}

/* Some messages of that type cross, expected; more than once, as convertors are used again. */
static void nested(MPI_Datatype type, const char *name)
{
    int other = 1 - check_rank;
    MPI_Aint low, extent;
    MPI_Request request;

    MPI_Type_commit(&type);
    MPI_Type_get_true_extent(type, &low, &extent);
    extent += low;
    char *out = check_memory((size_t) extent);
    char *in = check_guarded((size_t) extent);
    char *wanted = check_memory((size_t) extent);

    for (uint64_t i = 0; i < NESTED; i++) {
        /* First some fragments, so that others were early data before; then all, so that one of
         * those that are early data is among them. */
        if (i >= NESTED / 2 && strcmp(name, cut_type) == 0) {
            cut_fragments(CUT_BYTES, i < NESTED - 2 ? CUT_EVERY : 1);
            cut = true;
        }
        memset(in, HOLE, (size_t) extent);
        nested_fill(out, extent, type, check_seed(check_rank, other, 20000 + i));
        nested_fill(wanted, extent, type, check_seed(other, check_rank, 20000 + i));
        MPI_Irecv(in, 1, type, other, 5, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(out, 1, type, other, 5, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_that(memcmp(in, wanted, (size_t) extent) == 0, "%s: wrong bytes", name);
        check_guards(in, (size_t) extent, name);
    }
    if (strcmp(name, cut_type) == 0) {
        fragments_when_cut = fragments();
    }
    check_guarded_free(in);
    free(out);
    free(wanted);
    MPI_Type_free(&type);
}

static void types_of_types(void)
{
    nested(transpose(), "transpose");
    nested(block_of_3d(), "cube");
    nested(vector_of_structures(), "structures");
    nested(vector_of_indexed(), "indexed");
}

/* ---- many at once ---- */

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
    const bool counted = argc < 2 || strcmp(argv[1], "uncounted") != 0;

    check_short_eager(); /* a limit that follows measured latencies may let 64 KB be eager */
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (counted) {
        counter_begin();
    }
    if (counted && argc > 1) {
        cut_type = argv[1];
    }
    expected_ones();
    late_ones();
    types_of_types();
    for (int i = 0; i < ROUNDS; i++) {
        crossing(i);
    }
    for (int mode = 0; mode < 6; mode++) {
        in_mode(mode % 3, mode / 3 == 1);
    }
    if (*cut_type == '\0') {
        expected_ones();
    } else {
        check_that(cut, "no nested type is called %s", cut_type);
        check_that(fragments() == fragments_when_cut, "%ld fragments were early data all the same",
                   fragments() - fragments_when_cut);
    }
    if (counted) {
        counter_end();
    }
    return check_end();
}
