/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Accumulates that osc/rbuf packs in many messages, on types with gaps within gaps: each of its
 * messages goes on where the last one stopped. Each rank changes the next one's window, with fences
 * and under a lock, and compares all of its own, gaps included.
 */
#include "check.h"

enum {
    ROWS = 90,
    ROW_STRIDE = 220, /* of doubles, as all of these */
    PAIRS = 50,
    PAIR_STRIDE = 4,
    OF_TYPE = ROWS * PAIRS * 2,
    IN_WINDOW = 20000
};

static double *memory;
static MPI_Win win;

static MPI_Datatype rows_of_pairs(void)
{
    MPI_Datatype row, type;

    MPI_Type_vector(PAIRS, 2, PAIR_STRIDE, MPI_DOUBLE, &row);
    MPI_Type_create_hvector(ROWS, 1, ROW_STRIDE * sizeof(double), row, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&row);
    return type;
}

/* Where number i of the type lies in a window. */
static int place_of(int i)
{
    const int pair = i / 2 % PAIRS;

    return i / (2 * PAIRS) * ROW_STRIDE + pair * PAIR_STRIDE + i % 2;
}

static void check_places(const double *wanted, const char *what)
{
    const double *have = memory;
    int wrong = 0;

    for (int i = 0; i < (int) IN_WINDOW; i++) {
        wrong += have[i] != wanted[i];
    }
    check_that(wrong == 0, "%s: %d numbers are wrong", what, wrong);
}

static void open_epoch(bool locked, int target)
{
    if (locked) {
        MPI_Barrier(MPI_COMM_WORLD);
        check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win), "MPI_Win_lock");
    } else {
        check_mpi(MPI_Win_fence(0, win), "MPI_Win_fence");
    }
}

static void close_epoch(bool locked, int target)
{
    if (locked) {
        check_mpi(MPI_Win_unlock(target, win), "MPI_Win_unlock");
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        check_mpi(MPI_Win_fence(0, win), "MPI_Win_fence");
    }
}

/* A sum, a fetch that replaces, and one that only reads. */
static void long_operations(bool locked)
{
    static double given[OF_TYPE], got[OF_TYPE], wanted[IN_WINDOW];
    const int target = (check_rank + 1) % check_ranks;
    MPI_Datatype type = rows_of_pairs();
    int wrong = 0;

    for (int i = 0; i < (int) IN_WINDOW; i++) {
        memory[i] = wanted[i] = i;
    }
    for (int i = 0; i < OF_TYPE; i++) {
        given[i] = 3 * i + 1;
        wanted[place_of(i)] += given[i];
    }
    open_epoch(locked, target);
    MPI_Accumulate(given, OF_TYPE, MPI_DOUBLE, target, 0, 1, type, MPI_SUM, win);
    close_epoch(locked, target);
    check_places(wanted, "a sum");

    open_epoch(locked, target);
    MPI_Get_accumulate(given, OF_TYPE, MPI_DOUBLE, got, OF_TYPE, MPI_DOUBLE, target, 0, 1, type,
                       MPI_REPLACE, win);
    close_epoch(locked, target);
    for (int i = 0; i < OF_TYPE; i++) {
        wrong += got[i] != wanted[place_of(i)];
        wanted[place_of(i)] = given[i];
    }
    check_that(wrong == 0, "a fetch that replaces: %d numbers are wrong", wrong);
    check_places(wanted, "a fetch that replaces");

    open_epoch(locked, target);
    MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, got, OF_TYPE, MPI_DOUBLE, target, 0, 1, type, MPI_NO_OP,
                       win);
    close_epoch(locked, target);
    check_that(memcmp(got, given, sizeof(got)) == 0, "a fetch that reads is wrong");
    check_places(wanted, "a fetch that reads");
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const bool is_rbuf = check_pack_one_sided();

    setenv("OMPI_MCA_osc_rbuf_message_size", "7776", 1); /* 10 messages */
    check_begin(&argc, &argv);
    check_need_ranks(2);
    if (!is_rbuf) {
        check_skip("of rbuf");
    }
    memory = (double *) (void *) check_window(IN_WINDOW * sizeof(double), &win);
    long_operations(false);
    long_operations(true);
    MPI_Win_free(&win);
    free(memory);
    return check_end();
}
