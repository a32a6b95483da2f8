/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What elements.c knows of MPI without asking it: the predefined types and their parts, what
 * operations make of values, and where derived types have their elements. Values are small numbers,
 * which each type holds without loss.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include "check.h"

enum { MOST_SHAPE = 4 }; /* elements of an instance */

/* ---- types ---- */

enum number { NONE, S8, S16, S32, S64, R32, R64, R80 };
static const size_t number_bytes[] = {0, 1, 2, 4, 8, 4, 8, sizeof(long double)};

/* Fortran's integers know no logical operations (MPI-4.1, 6.9.2). */
enum kind { INTEGER = 1, FORTRAN = 2, LOGICAL = 4, REAL = 8, COMPLEX = 16, BYTES = 32, PAIR = 64 };

/* An element is one number, or two. */
struct type {
    const char *name;
    MPI_Datatype type;
    enum kind kind;
    enum number first, second;
    size_t second_at, extent; /* bytes */
};

#define NUMBER(mpi, kind, number, bytes)                                                           \
    {                                                                                              \
#mpi, mpi, kind, number, NONE, 0, bytes                                                    \
    }
#define TWO(mpi, kind, one, two, c_one, c_two)                                                     \
    {                                                                                              \
#mpi, mpi, kind, one, two,                                                                 \
            offsetof(                                                                              \
                struct {                                                                           \
                    c_one a;                                                                       \
                    c_two b;                                                                       \
                },                                                                                 \
                b),                                                                                \
            sizeof(struct {                                                                        \
                c_one a;                                                                           \
                c_two b;                                                                           \
            })                                                                                     \
    }

static const struct type types[] = {
    NUMBER(MPI_SIGNED_CHAR, INTEGER, S8, 1),
    NUMBER(MPI_UNSIGNED_CHAR, INTEGER, S8, 1),
    NUMBER(MPI_SHORT, INTEGER, S16, 2),
    NUMBER(MPI_UNSIGNED_SHORT, INTEGER, S16, 2),
    NUMBER(MPI_INT, INTEGER, S32, 4),
    NUMBER(MPI_UNSIGNED, INTEGER, S32, 4),
    NUMBER(MPI_LONG, INTEGER, S64, 8),
    NUMBER(MPI_UNSIGNED_LONG, INTEGER, S64, 8),
    NUMBER(MPI_LONG_LONG, INTEGER, S64, 8),
    NUMBER(MPI_UNSIGNED_LONG_LONG, INTEGER, S64, 8),
    NUMBER(MPI_INT8_T, INTEGER, S8, 1),
    NUMBER(MPI_INT16_T, INTEGER, S16, 2),
    NUMBER(MPI_INT32_T, INTEGER, S32, 4),
    NUMBER(MPI_INT64_T, INTEGER, S64, 8),
    NUMBER(MPI_UINT8_T, INTEGER, S8, 1),
    NUMBER(MPI_UINT16_T, INTEGER, S16, 2),
    NUMBER(MPI_UINT32_T, INTEGER, S32, 4),
    NUMBER(MPI_UINT64_T, INTEGER, S64, 8),
    NUMBER(MPI_AINT, INTEGER, S64, 8),
    NUMBER(MPI_OFFSET, INTEGER, S64, 8),
    NUMBER(MPI_COUNT, INTEGER, S64, 8),
    NUMBER(MPI_INTEGER, FORTRAN, S32, 4),
    NUMBER(MPI_C_BOOL, LOGICAL, S8, 1),
    NUMBER(MPI_LOGICAL, LOGICAL, S32, 4),
    NUMBER(MPI_FLOAT, REAL, R32, 4),
    NUMBER(MPI_DOUBLE, REAL, R64, 8),
    NUMBER(MPI_LONG_DOUBLE, REAL, R80, sizeof(long double)),
    NUMBER(MPI_REAL, REAL, R32, 4),
    NUMBER(MPI_DOUBLE_PRECISION, REAL, R64, 8),
    NUMBER(MPI_BYTE, BYTES, S8, 1),
    TWO(MPI_C_FLOAT_COMPLEX, COMPLEX, R32, R32, float, float),
    TWO(MPI_C_DOUBLE_COMPLEX, COMPLEX, R64, R64, double, double),
    TWO(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, R80, R80, long double, long double),
    TWO(MPI_COMPLEX, COMPLEX, R32, R32, float, float),
    TWO(MPI_DOUBLE_COMPLEX, COMPLEX, R64, R64, double, double),
    TWO(MPI_FLOAT_INT, PAIR, R32, S32, float, int),
    TWO(MPI_DOUBLE_INT, PAIR, R64, S32, double, int),
    TWO(MPI_LONG_INT, PAIR, S64, S32, long, int),
    TWO(MPI_2INT, PAIR, S32, S32, int, int),
    TWO(MPI_SHORT_INT, PAIR, S16, S32, short, int),
    TWO(MPI_LONG_DOUBLE_INT, PAIR, R80, S32, long double, int),
    TWO(MPI_2INTEGER, PAIR, S32, S32, int, int),
    TWO(MPI_2REAL, PAIR, R32, R32, float, float),
    TWO(MPI_2DOUBLE_PRECISION, PAIR, R64, R64, double, double)};
#undef TWO
#undef NUMBER
enum { TYPES = sizeof types / sizeof types[0] };

/* Small numbers, which each type holds without loss. */
struct value {
    long first, second;
};

static void number_write(unsigned char *to, enum number number, long value)
{
    const float single = (float) value;
    const double real = (double) value;
    long double longer;

    memset(&longer, 0, sizeof longer); /* its last bytes belong to the type, and hold nothing */
    longer = (long double) value;
    switch (number) {
    case R32:
        memcpy(to, &single, sizeof single);
        break;
    case R64:
        memcpy(to, &real, sizeof real);
        break;
    case R80:
        memcpy(to, &longer, 10);
        break;
    default:
        memcpy(to, &value, number_bytes[number]);
        break;
    }
}

static void value_write(unsigned char *to, const struct type *type, struct value value)
{
    number_write(to, type->first, value.first);
    number_write(to + type->second_at, type->second, value.second);
}

/* ---- operations ---- */

static long bits_and_numbers(MPI_Op op, long a, long b)
{
    return op == MPI_SUM    ? b + a
           : op == MPI_PROD ? b * a
           : op == MPI_MAX  ? (a > b ? a : b)
           : op == MPI_MIN  ? (a < b ? a : b)
           : op == MPI_LAND ? b && a
           : op == MPI_LOR  ? b || a
           : op == MPI_LXOR ? !b != !a
           : op == MPI_BAND ? (b & a)
           : op == MPI_BOR  ? (b | a)
                            : (b ^ a);
}

/* MPI-4.1, 6.9.4: of the same value the smaller location. */
static struct value located(MPI_Op op, struct value a, struct value b)
{
    if (a.first == b.first) {
        return (struct value){a.first, a.second < b.second ? a.second : b.second};
    }
    return (op == MPI_MAXLOC) == (a.first > b.first) ? a : b;
}

/* What becomes of `b` at the target. */
static struct value combined(enum kind kind, MPI_Op op, struct value a, struct value b)
{
    if (op == MPI_NO_OP || op == MPI_REPLACE) {
        return op == MPI_REPLACE ? a : b;
    }
    if (kind == PAIR) {
        return located(op, a, b);
    }
    if (kind == COMPLEX && op == MPI_PROD) {
        return (struct value){a.first * b.first - a.second * b.second,
                              a.first * b.second + a.second * b.first};
    }
    return (struct value){bits_and_numbers(op, a.first, b.first),
                          bits_and_numbers(op, a.second, b.second)};
}

static const struct operation {
    const char *name;
    MPI_Op op;
    unsigned kinds;
} operations[] = {{"sum", MPI_SUM, INTEGER | FORTRAN | REAL | COMPLEX},
                  {"prod", MPI_PROD, INTEGER | FORTRAN | REAL | COMPLEX},
                  {"max", MPI_MAX, INTEGER | FORTRAN | REAL},
                  {"min", MPI_MIN, INTEGER | FORTRAN | REAL},
                  {"land", MPI_LAND, INTEGER | LOGICAL},
                  {"lor", MPI_LOR, INTEGER | LOGICAL},
                  {"lxor", MPI_LXOR, INTEGER | LOGICAL},
                  {"band", MPI_BAND, INTEGER | FORTRAN | BYTES},
                  {"bor", MPI_BOR, INTEGER | FORTRAN | BYTES},
                  {"bxor", MPI_BXOR, INTEGER | FORTRAN | BYTES},
                  {"maxloc", MPI_MAXLOC, PAIR},
                  {"minloc", MPI_MINLOC, PAIR},
                  {"replace", MPI_REPLACE, ~0u},
                  {"no_op", MPI_NO_OP, ~0u}};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/* ---- shapes: where the elements of one instance of a derived type are, in elements ---- */

struct shape {
    const char *name;
    int elements;
    int at[MOST_SHAPE]; /* in the order of the type map */
    int extent;
    int (*make)(MPI_Datatype element, MPI_Datatype *made);
};

static int make_vector(MPI_Datatype element, MPI_Datatype *made)
{
    return MPI_Type_vector(3, 1, 2, element, made);
}

static int make_one(MPI_Datatype element, MPI_Datatype *made)
{
    return MPI_Type_contiguous(1, element, made);
}

static int make_negative(MPI_Datatype element, MPI_Datatype *made)
{
    return MPI_Type_indexed(3, (int[]){1, 1, 1}, (int[]){2, 1, -1}, element, made);
}

static int make_resized(MPI_Datatype element, MPI_Datatype *made)
{
    MPI_Aint first, extent;

    MPI_Type_get_extent(element, &first, &extent);
    return MPI_Type_create_resized(element, -extent, 2 * extent, made);
}

static int make_nested(MPI_Datatype element, MPI_Datatype *made)
{
    MPI_Datatype twin, inner;

    MPI_Type_dup(element, &twin);
    MPI_Type_vector(2, 1, 3, twin, &inner);
    MPI_Type_contiguous(2, inner, made);
    MPI_Type_free(&inner);
    return MPI_Type_free(&twin);
}

static int make_subarray(MPI_Datatype element, MPI_Datatype *made)
{
    return MPI_Type_create_subarray(2, (int[]){3, 3}, (int[]){2, 2}, (int[]){1, 1}, MPI_ORDER_C,
                                    element, made);
}

static int make_darray(MPI_Datatype element, MPI_Datatype *made)
{
    return MPI_Type_create_darray(2, 1, 1, (int[]){4}, (int[]){MPI_DISTRIBUTE_BLOCK},
                                  (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2}, MPI_ORDER_C,
                                  element, made);
}

static int make_interleaved(MPI_Datatype element, MPI_Datatype *made)
{
    MPI_Aint first, extent;
    MPI_Datatype vector;

    MPI_Type_get_extent(element, &first, &extent);
    MPI_Type_vector(2, 1, 2, element, &vector);
    MPI_Type_create_resized(vector, 0, extent, made);
    return MPI_Type_free(&vector);
}

static const struct shape shapes[] = {{"plain", 1, {0}, 1, NULL},
                                      {"dup", 1, {0}, 1, MPI_Type_dup},
                                      {"contiguous(1)", 1, {0}, 1, make_one},
                                      {"vector", 3, {0, 2, 4}, 5, make_vector},
                                      {"indexed, below 0", 3, {2, 1, -1}, 4, make_negative},
                                      {"resized, below 0", 1, {0}, 2, make_resized},
                                      {"nested dup", 4, {0, 3, 4, 7}, 8, make_nested},
                                      {"subarray", 4, {4, 5, 7, 8}, 9, make_subarray},
                                      {"darray", 2, {2, 3}, 4, make_darray},
                                      {"interleaved", 2, {0, 2}, 1, make_interleaved}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static MPI_Datatype shape_type(const struct shape *shape, const struct type *type)
{
    MPI_Datatype made = type->type;

    if (shape->make != NULL) {
        shape->make(type->type, &made);
        MPI_Type_commit(&made);
    }
    return made;
}

static void forget(const struct shape *shape, MPI_Datatype *made)
{
    if (shape->make != NULL) {
        MPI_Type_free(made);
    }
}

#endif
