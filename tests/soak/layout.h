/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Where the bytes of a message lie in memory: contiguous, or in blocks with gaps, which MPI is told
 * by a derived type. The gaps of a receive must stay as they were.
 */
#ifndef RBUF_TESTS_SOAK_LAYOUT_H
#define RBUF_TESTS_SOAK_LAYOUT_H

#include "soak.h"

enum layout_kind {
    LAYOUT_PLAIN,     /* bytes in a row */
    LAYOUT_WRAPPED,   /* the same, as one element of a contiguous type */
    LAYOUT_VECTOR,    /* equal blocks at equal distances, and a rest */
    LAYOUT_SCATTERED, /* equal blocks at unequal distances, and a rest */
    LAYOUT_RESIZED,   /* a count of elements with a gap behind each */
};

struct layout {
    enum layout_kind kind;
    size_t bytes;  /* of the message */
    size_t block;  /* bytes of a block; the last may be shorter */
    size_t stride; /* bytes from one to the next */
    size_t lead;   /* bytes before the first */
    uint64_t salt; /* SCATTERED: where in its stride a block lies */
};

/* A layout for so many bytes; plain with that probability. */
struct layout layout_choose(struct dice *dice, size_t bytes, unsigned plain_percent);

/* Bytes of memory that it reaches over. */
size_t layout_extent(const struct layout *layout);

/* The type and count for MPI calls. The type is committed; give it back with layout_type_free(). */
MPI_Datatype layout_type(const struct layout *layout, int *count);
void layout_type_free(MPI_Datatype *type);

void layout_fill(const struct layout *layout, void *memory, uint64_t key);

/* Where byte `at` of the message stands. */
const char *layout_byte(const struct layout *layout, const void *memory, size_t at);

/*
 * The first of `received` bytes that is not the message's with that key; `received` if all are.
 * Ends the job with `what` if anything else in the extent was touched.
 */
size_t layout_match(const struct layout *layout, const void *memory, size_t received, uint64_t key,
                    const char *what);

/* Ends the job with `what` unless all of that is as it should be; counts the message. */
void layout_check(const struct layout *layout, const void *memory, size_t received, uint64_t key,
                  const char *what);

#endif
