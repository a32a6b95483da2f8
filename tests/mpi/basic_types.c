/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Numbers of types in packed operations mean the same at all processes, and all of MPI's own go as
 * active messages:
 *
 *     types that MPI_Type_create_f90_real() and the like make are predefined, but each process has
 *     numbers of its own for them. Here ranks that made other types before have other ones
 *     types of MPI's own that come late in Open MPI's table
 */
#include "check.h"
#include "counter.h"

enum { COUNT = 3, APART = 16, PLACES = 64 /* of 8 bytes */ };

static double *memory;
static MPI_Win win;

static int target(void)
{
    return (check_rank + 1) % check_ranks;
}

/* Numbers of types that this rank makes later are other ones than those of the rank before. */
static void shift_numbers(void)
{
    for (int i = 0; i < 5 * check_rank; i++) {
        MPI_Datatype type;

        MPI_Type_contiguous(i + 1, MPI_INT, &type);
        (void) MPI_Type_c2f(type);
    }
}

/* The window begins with `bytes` of `initial`, and is zero otherwise. */
static void open_epoch(bool locked, const void *initial, size_t bytes)
{
    memset(memory, 0, PLACES * sizeof(double));
    memcpy(memory, initial, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    check_mpi(locked ? MPI_Win_lock_all(0, win) : MPI_Win_fence(0, win), "opening an epoch");
}

static void close_epoch(bool locked)
{
    check_mpi(locked ? MPI_Win_unlock_all(win) : MPI_Win_fence(0, win), "closing an epoch");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A sum of elements of the type, the same of them as a derived type, and a fetch. */
static void sum_elements(MPI_Datatype type, const void *given, size_t bytes, bool locked,
                         const char *name)
{
    unsigned char got[COUNT * 16];
    MPI_Datatype derived;

    MPI_Type_vector(COUNT, 1, 1, type, &derived);
    MPI_Type_commit(&derived);
    open_epoch(locked, given, 0);
    MPI_Accumulate(given, COUNT, type, target(), 0, COUNT, type, MPI_SUM, win);
    MPI_Accumulate(given, COUNT, type, target(), APART * sizeof(double), 1, derived, MPI_SUM, win);
    close_epoch(locked);
    check_that(memcmp(memory, given, bytes) == 0, "%s, a sum: wrong", name);
    check_that(memcmp(memory + APART, given, bytes) == 0, "%s, a sum of a derived type: wrong",
               name);
    open_epoch(locked, given, bytes);
    MPI_Get_accumulate(NULL, 0, type, got, COUNT, type, target(), 0, COUNT, type, MPI_NO_OP, win);
    close_epoch(locked);
    check_that(memcmp(got, given, bytes) == 0, "%s, a fetch: wrong", name);
    MPI_Type_free(&derived);
}

static void swap_integer(MPI_Datatype type, bool locked)
{
    const int before = 7, after = 8;
    int found = 0;

    open_epoch(locked, &before, sizeof(before));
    MPI_Compare_and_swap(&after, &before, &found, type, target(), 0, win);
    close_epoch(locked);
    check_that(found == before, "f90 integer, a swap: found %d", found);
    check_that(memcmp(memory, &after, sizeof(after)) == 0, "f90 integer, a swap: not done");
}

static void f90_types(bool locked)
{
    static const double reals[COUNT] = {1.5, -2, 3};
    static const int integers[COUNT] = {7, -1, 100000};
    static const float complexes[2 * COUNT] = {1, 2, -3, 4.5f, 5, -6};
    MPI_Datatype real, integer, complex;

    MPI_Type_create_f90_real(15, 307, &real);
    MPI_Type_create_f90_integer(9, &integer);
    MPI_Type_create_f90_complex(6, 30, &complex);
    (void) MPI_Type_c2f(real);
    sum_elements(real, reals, sizeof(reals), locked, "f90 real");
    sum_elements(integer, integers, sizeof(integers), locked, "f90 integer");
    swap_integer(integer, locked);
    sum_elements(complex, complexes, sizeof(complexes), locked, "f90 complex");
}

static void goes_as_active_message(MPI_Datatype type, const char *name)
{
    const long before = counter_read("osc_rbuf_active_sent");
    long long one = 1, found = 0;

    MPI_Fetch_and_op(&one, &found, type, target(), 0, MPI_SUM, win);
    MPI_Win_flush(target(), win);
    check_that(counter_read("osc_rbuf_active_sent") > before, "%s: no active message went", name);
}

static void late_types(void)
{
    const double byte = 0; /* connects */

    open_epoch(false, &byte, 0);
    MPI_Put(&byte, 1, MPI_DOUBLE, target(), APART * sizeof(double), 1, MPI_DOUBLE, win);
    close_epoch(false);
    open_epoch(true, &byte, 0);
    goes_as_active_message(MPI_LONG, "MPI_LONG");
    goes_as_active_message(MPI_INT64_T, "MPI_INT64_T");
    goes_as_active_message(MPI_UINT64_T, "MPI_UINT64_T");
    goes_as_active_message(MPI_AINT, "MPI_AINT");
    goes_as_active_message(MPI_OFFSET, "MPI_OFFSET");
    goes_as_active_message(MPI_COUNT, "MPI_COUNT");
    close_epoch(true);
    check_that(*(long *) (void *) memory == 6, "%ld sums instead of 6", *(long *) (void *) memory);
}

int main(int argc, char **argv)
{
    const bool is_rbuf = check_pack_one_sided();

    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    if (!is_rbuf) {
        check_skip("only rbuf packs them");
    }
    counter_begin();
    shift_numbers();
    memory = (double *) (void *) check_window(PLACES * sizeof(double), &win);
    f90_types(false);
    f90_types(true);
    late_types();
    MPI_Win_free(&win);
    free(memory);
    counter_end();
    return check_end();
}
