/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Derived types: gathered on one side, scattered on the other, or contiguous on one side only.
 * The bytes of the type carry the message, the holes must stay as they were. Small ones and ones
 * of several MB, which the transport packs in fragments.
 */
#include "check.h"

enum { HOLE = 0x77, REPEATS = 2 };

/* A layout is a list of runs of bytes within an extent; the MPI type is built to match it. */
struct run {
    size_t start, length;
};

struct layout {
    const char *name;
    MPI_Datatype type;
    struct run runs[8];
    int run_count;
    size_t extent, bytes;
};

static void layout_close(struct layout *layout)
{
    MPI_Aint low, extent;
    int bytes;

    MPI_Type_commit(&layout->type);
    MPI_Type_get_extent(layout->type, &low, &extent);
    MPI_Type_size(layout->type, &bytes);
    layout->bytes = 0;
    for (int r = 0; r < layout->run_count; r++) {
        layout->bytes += layout->runs[r].length;
    }
    check_that(low == 0 && (size_t) extent == layout->extent && (size_t) bytes == layout->bytes,
               "%s: extent %ld, %d bytes", layout->name, (long) extent, bytes);
}

static struct layout contiguous(void)
{
    struct layout l = {.name = "contiguous", .runs = {{0, 40}}, .run_count = 1, .extent = 40};

    MPI_Type_contiguous(5, MPI_DOUBLE, &l.type);
    layout_close(&l);
    return l;
}

/* Four runs of 8 bytes, 24 apart; the extent ends with the last run, so elements touch. */
static struct layout vector(void)
{
    struct layout l = {.name = "vector",
                       .runs = {{0, 8}, {24, 8}, {48, 8}, {72, 8}},
                       .run_count = 4,
                       .extent = 80};

    MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &l.type);
    layout_close(&l);
    return l;
}

/* Runs of odd lengths in the order of the type, which is not the order of the addresses. */
static struct layout indexed(void)
{
    struct layout l = {.name = "indexed",
                       .runs = {{100, 17}, {0, 3}, {33, 1}, {64, 19}},
                       .run_count = 4,
                       .extent = 117};
    int lengths[] = {17, 3, 1, 19}, starts[] = {100, 0, 33, 64};

    MPI_Type_indexed(4, lengths, starts, MPI_BYTE, &l.type);
    layout_close(&l);
    return l;
}

struct mixed {
    char c;
    double d;
    int i[3];
    short s;
};

static struct layout structure(void)
{
    struct layout l = {.name = "struct",
                       .runs = {{offsetof(struct mixed, c), 1},
                                {offsetof(struct mixed, d), 8},
                                {offsetof(struct mixed, i), 12},
                                {offsetof(struct mixed, s), 2}},
                       .run_count = 4,
                       .extent = sizeof(struct mixed)};
    int lengths[] = {1, 1, 3, 1};
    MPI_Aint starts[] = {offsetof(struct mixed, c), offsetof(struct mixed, d),
                         offsetof(struct mixed, i), offsetof(struct mixed, s)};
    MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT}, plain;

    MPI_Type_create_struct(4, lengths, starts, members, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(struct mixed), &l.type);
    MPI_Type_free(&plain);
    layout_close(&l);
    return l;
}

/* Large runs with large holes: fragments end inside runs. */
static struct layout resized(void)
{
    struct layout l = {
        .name = "resized", .runs = {{0, 5000}, {8000, 777}}, .run_count = 2, .extent = 10000};
    int lengths[] = {5000, 777};
    MPI_Aint starts[] = {0, 8000};
    MPI_Datatype plain;

    MPI_Type_create_hindexed(2, lengths, starts, MPI_BYTE, &plain);
    MPI_Type_create_resized(plain, 0, 10000, &l.type);
    MPI_Type_free(&plain);
    layout_close(&l);
    return l;
}

/* Copies between a packed message and the typed buffer of `count` elements. */
static void pack(const struct layout *l, const char *packed, char *typed, size_t count)
{
    memset(typed, HOLE, count * l->extent);
    for (size_t e = 0; e < count; e++) {
        for (int r = 0; r < l->run_count; r++) {
            memcpy(typed + e * l->extent + l->runs[r].start, packed, l->runs[r].length);
            packed += l->runs[r].length;
        }
    }
}

struct side {
    const struct layout *layout; /* NULL: plain bytes */
    size_t count;
    char *buffer;
    size_t size; /* of the buffer */
};

static struct side side_of(const struct layout *layout, size_t count, size_t bytes)
{
    struct side side = {layout, count, NULL, layout == NULL ? bytes : count * layout->extent};

    side.buffer = check_guarded(side.size);
    return side;
}

/* One message of `count` elements of `l` from rank 0 to rank 1. */
static void transfer(const struct layout *l, size_t count, bool send_packed, bool recv_packed)
{
    const size_t bytes = count * l->bytes;
    char *message = check_memory(bytes);
    struct side side =
        side_of((check_rank == 0 ? send_packed : recv_packed) ? NULL : l, count, bytes);
    const int n = (int) (side.layout == NULL ? bytes : count);
    const MPI_Datatype type = side.layout == NULL ? MPI_BYTE : l->type;

    check_fill(message, bytes, count);
    if (check_rank == 0) {
        if (side.layout == NULL) {
            memcpy(side.buffer, message, bytes);
        } else {
            pack(l, message, side.buffer, count);
        }
        MPI_Send(side.buffer, n, type, 1, 2, MPI_COMM_WORLD);
    } else {
        char *expected = check_memory(side.size);
        MPI_Status status;
        int received;
        memset(side.buffer, HOLE, side.size);
        MPI_Recv(side.buffer, n, type, 0, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &received);
        if (side.layout == NULL) {
            memcpy(expected, message, bytes);
        } else {
            pack(l, message, expected, count);
        }
        check_that(received == n, "%s: count %d, not %d", l->name, received, n);
        check_that(memcmp(expected, side.buffer, side.size) == 0,
                   "%s: %zu elements, %s to %s: wrong bytes", l->name, count,
                   send_packed ? "bytes" : "typed", recv_packed ? "bytes" : "typed");
        check_guards(side.buffer, side.size, l->name);
        free(expected);
    }
    check_guarded_free(side.buffer);
    free(message);
}

int main(int argc, char **argv)
{
    static const size_t bytes[] = {
        1, 1000, 12 * CHECK_K, 49 * CHECK_K, 100 * CHECK_K, 300 * CHECK_K, 5 * CHECK_M};

    check_begin(&argc, &argv);
    check_need_ranks(2);
    struct layout layouts[] = {contiguous(), vector(), indexed(), structure(), resized()};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        for (size_t b = 0; check_rank < 2 && b < sizeof bytes / sizeof bytes[0]; b++) {
            const size_t count = bytes[b] / layouts[i].bytes + 1;
            for (int repeat = 0; repeat < REPEATS; repeat++) {
                transfer(&layouts[i], count + (size_t) repeat, false, false);
                transfer(&layouts[i], count + (size_t) repeat, true, false);
                transfer(&layouts[i], count + (size_t) repeat, false, true);
            }
        }
        MPI_Type_free(&layouts[i].type);
    }
    return check_end();
}
