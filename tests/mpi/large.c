/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * More bytes than 31 or 32 bits count: messages, puts, gets, and structures with one block of so
 * many. Memory stays small: a buffer is one file mapped again and again, but for its ends and the
 * places at 2 and 4 GB, which have memory of their own. There each byte is checked: a length that
 * was cut short, or an offset that has wrapped, leaves them wrong.
 *
 *   large 2|4 KIND...    some MB more than so many GB; message, put, get, struct
 */
#define _GNU_SOURCE /* memfd_create */
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
    FILE_BYTES = 16 * CHECK_M,
    MARK_BYTES = 256 * CHECK_K,
    MARKS = 4,
    UNIT = 65537,
    TAIL = 1001
};

#define GIB ((size_t) 1 << 30)

static struct {
    char *base;
    char *file;       /* the same memory as most of it */
    size_t at[MARKS]; /* of those that have their own */
    size_t marks;
} area;

static size_t bytes;       /* of a message, a multiple of UNIT */
static MPI_Datatype units; /* contiguous, of UNIT bytes: the count fits an int */
static MPI_Datatype
    parts; /* all of the message in one block, a gap of UNIT bytes, and TAIL bytes */

static void map(char *to, size_t length, int flags, int file)
{
    if (mmap(to, length, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) != to) {
        perror("wrong: mmap");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void add_mark(size_t at)
{
    if (at < bytes) {
        area.at[area.marks++] = at / FILE_BYTES * FILE_BYTES + at % FILE_BYTES / 4096 * 4096;
    }
}

static void make_area(void)
{
    const size_t room = (bytes / FILE_BYTES + 2) * FILE_BYTES;
    const int file = memfd_create("large", 0);

    area.base = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file < 0 || area.base == MAP_FAILED || ftruncate(file, FILE_BYTES) != 0) {
        perror("wrong: memory");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t at = 0; at < room; at += FILE_BYTES) {
        map(area.base + at, FILE_BYTES, MAP_SHARED, file);
    }
    area.file = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    add_mark(0);
    add_mark(2 * GIB - MARK_BYTES / 2);
    add_mark(4 * GIB - MARK_BYTES / 2);
    add_mark(bytes - UNIT);
    for (size_t i = 0; i < area.marks; i++) {
        map(area.base + area.at[i], MARK_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    }
    (void) close(file);
}

static void make_types(void)
{
    int lengths[2] = {(int) (bytes / UNIT), TAIL};
    MPI_Aint places[2] = {0, (MPI_Aint) (bytes + UNIT)};

    MPI_Type_contiguous(UNIT, MPI_BYTE, &units);
    MPI_Type_commit(&units);
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){units, MPI_BYTE}, &parts);
    MPI_Type_commit(&parts);
}

static uint64_t seed_of(int rank, size_t mark)
{
    return check_seed(rank, 2, mark);
}

static void fill_area(void)
{
    check_fill(area.file, FILE_BYTES, seed_of(check_rank, MARKS));
    for (size_t i = 0; i < area.marks; i++) {
        check_fill(area.base + area.at[i], MARK_BYTES, seed_of(check_rank, i));
    }
}

/* True if that byte travels. */
static bool travels(size_t at, bool struct_too)
{
    return at < bytes || (struct_too && at >= bytes + UNIT && at < bytes + UNIT + TAIL);
}

/* All that travels is rank 0's, the rest what it was. */
static void check_area(bool struct_too, const char *what)
{
    char *ours = check_memory(MARK_BYTES), *theirs = check_memory(MARK_BYTES);

    check_match(area.file, FILE_BYTES, seed_of(0, MARKS), what);
    for (size_t i = 0; i < area.marks; i++) {
        size_t wrong = 0;

        check_fill(ours, MARK_BYTES, seed_of(check_rank, i));
        check_fill(theirs, MARK_BYTES, seed_of(0, i));
        for (size_t k = 0; k < MARK_BYTES; k++) {
            const char *right = travels(area.at[i] + k, struct_too) ? theirs : ours;

            wrong += area.base[area.at[i] + k] != right[k];
        }
        check_that(wrong == 0, "%s of %zu bytes: %zu bytes from %zu on are wrong", what, bytes,
                   wrong, area.at[i]);
    }
    free(ours);
    free(theirs);
}

/* Of one element of the type. */
static void message(int count, MPI_Datatype type)
{
    if (check_rank == 0) {
        MPI_Send(area.base, count, type, 1, 0, MPI_COMM_WORLD);
    } else if (check_rank == 1) {
        MPI_Recv(area.base, count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* By rank 0 into rank 1's window, or by rank 1 out of rank 0's. */
static void one_sided(bool is_put)
{
    const int count = (int) (bytes / UNIT);
    MPI_Win win;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_create(area.base, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) !=
        MPI_SUCCESS) {
        check_skip("Open MPI can make no window over this transport");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Win_fence(0, win);
    if (is_put && check_rank == 0) {
        MPI_Put(area.base, count, units, 1, 0, count, units, win);
    } else if (!is_put && check_rank == 1) {
        MPI_Get(area.base, count, units, 0, 0, count, units, win);
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void try_kind(const char *kind)
{
    const bool is_struct = strcmp(kind, "struct") == 0;
    const double start = MPI_Wtime();

    fill_area();
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_struct) {
        message(1, parts);
    } else if (strcmp(kind, "message") == 0) {
        message((int) (bytes / UNIT), units);
    } else {
        one_sided(strcmp(kind, "put") == 0);
    }
    if (check_rank == 1) {
        check_area(is_struct, kind);
        printf("%s of %zu bytes: %.1f s\n", kind, bytes, MPI_Wtime() - start);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    check_need_ranks(2);
    bytes = ((size_t) (argc > 1 ? atoi(argv[1]) : 2) * GIB + 65 * CHECK_M) / UNIT * UNIT;
    make_area();
    make_types();
    for (int i = 2; i < argc; i++) {
        try_kind(argv[i]);
    }
    MPI_Type_free(&units);
    MPI_Type_free(&parts);
    return check_end();
}
