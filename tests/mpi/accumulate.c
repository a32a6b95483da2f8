/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Accumulates of every kind: all operations on all predefined types, as MPI_Accumulate,
 * MPI_Get_accumulate, MPI_Fetch_and_op and MPI_Compare_and_swap, to targets with and without gaps,
 * in created, allocated and dynamic windows, under every synchronisation. Each rank's target is the
 * next one; what comes of it is what MPI_Reduce_local makes of the same data.
 *
 *   accumulate packed|plain [turns] WINDOW...
 *     packed  under fence and post and start alone, by osc/rbuf
 *     plain   by osc/rdma, but for what that of Open MPI 4.1.4 does wrong, over vader too: sums of
 *             targets with gaps and of complex numbers, and pairs. Allocated windows are for rbuf
 *             alone
 *     turns   each operation on each type under one kind of synchronisation, by turns: else under
 * all
 */
#include "check.h"

#include <complex.h>

enum { ELEMENTS = 5, MOST_BYTES = 32, ROOM = 2 * ELEMENTS * MOST_BYTES };

enum kind { INTEGER, REAL, COMPLEX, LOGICAL, BYTES, PAIR };

/* Of an element `used` bytes are compared from its start on, and `more` at an offset. */
static const struct type {
    const char *name;
    MPI_Datatype type;
    enum kind kind;
    size_t extent, used, second, more;
} types[] = {
#define INT(c, mpi)                                                                                \
    {                                                                                              \
#mpi, mpi, INTEGER, sizeof(c), sizeof(c), 0, 0                                             \
    }
    INT(char, MPI_SIGNED_CHAR),
    INT(unsigned char, MPI_UNSIGNED_CHAR),
    INT(short, MPI_SHORT),
    INT(unsigned short, MPI_UNSIGNED_SHORT),
    INT(int, MPI_INT),
    INT(unsigned, MPI_UNSIGNED),
    INT(long, MPI_LONG),
    INT(unsigned long, MPI_UNSIGNED_LONG),
    INT(long long, MPI_LONG_LONG),
    INT(unsigned long long, MPI_UNSIGNED_LONG_LONG),
    INT(int8_t, MPI_INT8_T),
    INT(int16_t, MPI_INT16_T),
    INT(int32_t, MPI_INT32_T),
    INT(int64_t, MPI_INT64_T),
    INT(uint8_t, MPI_UINT8_T),
    INT(uint16_t, MPI_UINT16_T),
    INT(uint32_t, MPI_UINT32_T),
    INT(uint64_t, MPI_UINT64_T),
    INT(MPI_Aint, MPI_AINT),
    INT(MPI_Offset, MPI_OFFSET),
#undef INT
    {"float", MPI_FLOAT, REAL, sizeof(float), sizeof(float), 0, 0},
    {"double", MPI_DOUBLE, REAL, sizeof(double), sizeof(double), 0, 0},
    {"long double", MPI_LONG_DOUBLE, REAL, sizeof(long double), 10, 0, 0},
    {"float complex", MPI_C_FLOAT_COMPLEX, COMPLEX, sizeof(float complex), sizeof(float complex), 0,
     0},
    {"double complex", MPI_C_DOUBLE_COMPLEX, COMPLEX, sizeof(double complex),
     sizeof(double complex), 0, 0},
    {"bool", MPI_C_BOOL, LOGICAL, sizeof(bool), sizeof(bool), 0, 0},
    {"byte", MPI_BYTE, BYTES, 1, 1, 0, 0},
    {"float, int", MPI_FLOAT_INT, PAIR, 8, 4, 4, 4},
    {"double, int", MPI_DOUBLE_INT, PAIR, 16, 8, 8, 4},
    {"long, int", MPI_LONG_INT, PAIR, 16, 8, 8, 4},
    {"int, int", MPI_2INT, PAIR, 8, 4, 4, 4},
    {"short, int", MPI_SHORT_INT, PAIR, 8, 2, 4, 4}};
enum { TYPES = sizeof types / sizeof types[0] };

static const struct operation {
    const char *name;
    MPI_Op op;
    unsigned kinds; /* bits */
} operations[] = {{"sum", MPI_SUM, 1 << INTEGER | 1 << REAL | 1 << COMPLEX},
                  {"prod", MPI_PROD, 1 << INTEGER | 1 << REAL | 1 << COMPLEX},
                  {"max", MPI_MAX, 1 << INTEGER | 1 << REAL},
                  {"min", MPI_MIN, 1 << INTEGER | 1 << REAL},
                  {"land", MPI_LAND, 1 << INTEGER | 1 << LOGICAL},
                  {"lor", MPI_LOR, 1 << INTEGER | 1 << LOGICAL},
                  {"lxor", MPI_LXOR, 1 << INTEGER | 1 << LOGICAL},
                  {"band", MPI_BAND, 1 << INTEGER | 1 << BYTES},
                  {"bor", MPI_BOR, 1 << INTEGER | 1 << BYTES},
                  {"bxor", MPI_BXOR, 1 << INTEGER | 1 << BYTES},
                  {"maxloc", MPI_MAXLOC, 1 << PAIR},
                  {"minloc", MPI_MINLOC, 1 << PAIR},
                  {"replace", MPI_REPLACE, ~0u},
                  {"no_op", MPI_NO_OP, ~0u}};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

enum synchronisation { FENCE, GROUPS, LOCK, LOCK_ALL, SYNCHRONISATIONS };
static const char *const synchronisation_names[] = {"fence", "post and start", "lock", "lock_all"};

static struct {
    MPI_Win win;
    unsigned char *memory; /* this rank's */
    MPI_Aint there;        /* displacement of the next rank's */
    MPI_Group next, previous;
} window;

static int next_rank(void)
{
    return (check_rank + 1) % check_ranks;
}

static void begin(enum synchronisation how)
{
    switch (how) {
    case FENCE:
        MPI_Win_fence(0, window.win);
        break;
    case GROUPS:
        MPI_Win_post(window.previous, 0, window.win);
        MPI_Win_start(window.next, 0, window.win);
        break;
    case LOCK:
        MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, window.win);
        break;
    default:
        MPI_Win_lock_all(0, window.win);
        break;
    }
}

static void end(enum synchronisation how)
{
    switch (how) {
    case FENCE:
        MPI_Win_fence(0, window.win);
        break;
    case GROUPS:
        MPI_Win_complete(window.win);
        MPI_Win_wait(window.win);
        break;
    case LOCK:
        MPI_Win_unlock(next_rank(), window.win);
        break;
    default:
        MPI_Win_flush_all(window.win);
        MPI_Win_unlock_all(window.win);
        break;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Small numbers of a type. */
static void fill(void *to, const struct type *type, size_t count, unsigned seed)
{
    memset(to, 0, count * type->extent);
    for (size_t i = 0; i < count; i++) {
        unsigned char *at = (unsigned char *) to + i * type->extent;
        const int value = (int) (1 + (seed * 7 + i * 5) % 6), location = (int) ((seed + i) % 3);
        const float single = (float) value;
        const double real = value;
        const long double longer = value;

        if (type->kind == REAL || type->kind == COMPLEX || type->type == MPI_FLOAT_INT ||
            type->type == MPI_DOUBLE_INT) {
            if (type->type == MPI_FLOAT || type->type == MPI_C_FLOAT_COMPLEX ||
                type->type == MPI_FLOAT_INT) {
                memcpy(at, &single, sizeof single);
            } else if (type->type == MPI_LONG_DOUBLE) {
                memcpy(at, &longer, 10);
            } else {
                memcpy(at, &real, sizeof real);
            }
        } else {
            at[0] = (unsigned char) (type->kind == LOGICAL ? value % 2 : value);
        }
        if (type->kind == PAIR) {
            memcpy(at + type->second, &location, sizeof location);
        }
    }
}

static bool alike(const unsigned char *a, const unsigned char *b, const struct type *type)
{
    return memcmp(a, b, type->used) == 0 &&
           memcmp(a + type->second, b + type->second, type->more) == 0;
}

/* What `count` elements become. */
static void reduce(const void *origin, void *target, const struct type *type, size_t count,
                   MPI_Op op)
{
    if (op == MPI_REPLACE) {
        memcpy(target, origin, count * type->extent);
    } else if (op != MPI_NO_OP) {
        MPI_Reduce_local(origin, target, (int) count, type->type, op);
    }
}

enum form { ACCUMULATE, GET_ACCUMULATE, WITH_GAPS, FETCH_AND_OP, FORMS };
static const char *const form_names[] = {"accumulate", "get_accumulate", "get_accumulate with gaps",
                                         "fetch_and_op"};

static void issue(enum form form, const struct type *type, MPI_Op op, const void *origin,
                  void *result)
{
    MPI_Datatype gaps;

    switch (form) {
    case ACCUMULATE:
        MPI_Accumulate(origin, ELEMENTS, type->type, next_rank(), window.there, ELEMENTS,
                       type->type, op, window.win);
        break;
    case GET_ACCUMULATE:
        MPI_Get_accumulate(origin, ELEMENTS, type->type, result, ELEMENTS, type->type, next_rank(),
                           window.there, ELEMENTS, type->type, op, window.win);
        break;
    case WITH_GAPS:
        MPI_Type_vector(ELEMENTS, 1, 2, type->type, &gaps);
        MPI_Type_commit(&gaps);
        MPI_Get_accumulate(origin, ELEMENTS, type->type, result, ELEMENTS, type->type, next_rank(),
                           window.there, 1, gaps, op, window.win);
        MPI_Type_free(&gaps);
        break;
    default:
        MPI_Fetch_and_op(origin, result, type->type, next_rank(), window.there, op, window.win);
        break;
    }
}

/* One operation on one type: all ranks to their next, the same numbers everywhere. */
static void try(enum form form, enum synchronisation how, const struct type *type,
                const struct operation *operation)
{
    const size_t stride = form == WITH_GAPS ? 2 : 1, count = form == FETCH_AND_OP ? 1 : ELEMENTS;
    unsigned char origin[ROOM], result[ROOM], before[ROOM], after[ROOM];
    size_t wrong = 0;

    fill(origin, type, 2 * ELEMENTS, 3);
    fill(window.memory, type, 2 * ELEMENTS, 11);
    fill(before, type, 2 * ELEMENTS, 11);
    memset(result, 0, sizeof result);
    MPI_Barrier(MPI_COMM_WORLD);
    begin(how);
    issue(form, type, operation->op, origin, result);
    end(how);
    memcpy(after, before, sizeof after);
    for (size_t i = 0; i < count; i++) {
        reduce(origin + i * type->extent, after + i * stride * type->extent, type, 1,
               operation->op);
        if (form != ACCUMULATE) {
            wrong += !alike(result + i * type->extent, before + i * stride * type->extent, type);
        }
    }
    for (size_t i = 0; i < 2 * ELEMENTS; i++) {
        wrong += !alike(window.memory + i * type->extent, after + i * type->extent, type);
    }
    check_that(wrong == 0, "%s of %s, %s, %s: %zu elements are wrong", form_names[form], type->name,
               operation->name, synchronisation_names[how], wrong);
}

/* Swaps where the old number is the one compared with, and leaves it where not. */
static void swap(enum synchronisation how, const struct type *type)
{
    unsigned char old[MOST_BYTES], new[MOST_BYTES], found[MOST_BYTES];

    for (int same = 0; same < 2; same++) {
        fill(window.memory, type, 1, 11);
        fill(old, type, 1, same ? 11u : 12u);
        fill(new, type, 1, 14);
        MPI_Barrier(MPI_COMM_WORLD);
        begin(how);
        MPI_Compare_and_swap(new, old, found, type->type, next_rank(), window.there, window.win);
        end(how);
        fill(old, type, 1, 11);
        check_that(alike(found, old, type), "compare_and_swap of %s, %s: another result",
                   type->name, synchronisation_names[how]);
        check_that(alike(window.memory, same ? new : old, type), "compare_and_swap of %s, %s: %s",
                   type->name, synchronisation_names[how], same ? "not swapped" : "swapped");
    }
}

static bool is_plain(int form, enum kind kind)
{
    return form != WITH_GAPS && kind != COMPLEX && kind != PAIR;
}

/* What is tried of each window. */
struct scope {
    int synchronisations;
    bool plain;
    bool turns;
};

static bool has_turn(const struct scope *scope, int how, int number)
{
    return !scope->turns || number % scope->synchronisations == how;
}

static void everything(const struct scope *scope)
{
    for (int how = 0; how < scope->synchronisations; how++) {
        for (int t = 0; t < TYPES; t++) {
            for (int form = 0; form < FORMS; form++) {
                for (int o = 0; o < OPERATIONS; o++) {
                    if ((operations[o].kinds & 1u << types[t].kind) &&
                        (!scope->plain || is_plain(form, types[t].kind)) &&
                        has_turn(scope, how, t + form + o) &&
                        (operations[o].op != MPI_NO_OP || form != ACCUMULATE)) {
                        try((enum form) form, (enum synchronisation) how, &types[t],
                            &operations[o]);
                    }
                }
            }
            if ((types[t].kind == INTEGER || types[t].kind == LOGICAL || types[t].kind == BYTES) &&
                has_turn(scope, how, t)) {
                swap((enum synchronisation) how, &types[t]);
            }
        }
    }
}

static void make_groups(void)
{
    const int next = next_rank(), previous = (check_rank + check_ranks - 1) % check_ranks;
    MPI_Group all;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &window.next);
    MPI_Group_incl(all, 1, &previous, &window.previous);
    MPI_Group_free(&all);
}

/* Of every kind; in the dynamic one displacements are addresses. */
static void in_window(const char *kind, const struct scope *scope)
{
    unsigned char *memory = check_memory(ROOM);
    MPI_Aint mine;

    window.memory = memory;
    window.there = 0;
    if (strcmp(kind, "created") == 0) {
        MPI_Win_create(memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.win);
    } else if (strcmp(kind, "allocated") == 0) {
        MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.memory, &window.win);
    } else {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window.win);
        MPI_Win_attach(window.win, memory, ROOM);
        MPI_Get_address(memory, &mine);
        MPI_Sendrecv(&mine, 1, MPI_AINT, (check_rank + check_ranks - 1) % check_ranks, 0,
                     &window.there, 1, MPI_AINT, next_rank(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    everything(scope);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(kind, "dynamic") == 0) {
        MPI_Win_detach(window.win, memory);
    }
    MPI_Win_free(&window.win);
    free(memory);
}

int main(int argc, char **argv)
{
    const bool packed = argc > 1 && strcmp(argv[1], "packed") == 0;
    const bool is_rbuf = packed ? check_pack_one_sided() : check_is_rbuf();
    const bool turns = argc > 2 && strcmp(argv[2], "turns") == 0;
    const struct scope scope = {
        .synchronisations = packed ? LOCK : SYNCHRONISATIONS, .plain = !packed, .turns = turns};

    check_begin(&argc, &argv);
    check_need_ranks(2);
    check_need_windows();
    for (int i = 1; i < argc && !is_rbuf; i++) {
        if (packed || strcmp(argv[i], "allocated") == 0) {
            check_skip("for rbuf alone");
        }
    }
    make_groups();
    for (int i = turns ? 3 : 2; i < argc; i++) {
        in_window(argv[i], &scope);
    }
    MPI_Group_free(&window.next);
    MPI_Group_free(&window.previous);
    return check_end();
}
