/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Where the bytes of a message lie in memory, described twice: to MPI as a datatype, and to the
 * code that fills and checks buffers without MPI.
 *
 * A message is a number of equal elements and a tail of bytes that make no whole element. An
 * element is one block or more, with gaps between them that nobody may write.
 */
#ifndef RBUF_BENCH_LAYOUT_H
#define RBUF_BENCH_LAYOUT_H

#include "bench/cases.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct bench_block {
    size_t offset, length; /* bytes from the element's start */
};

struct bench_layout {
    enum bench_type kind;
    size_t size;     /* bytes of payload */
    size_t span;     /* bytes of memory from the first to the last */
    size_t elements; /* whole ones */
    size_t payload;  /* bytes in an element */
    size_t extent;   /* bytes from one element to the next */
    bool pages;      /* messages share none; the user's, like the next */
    bool array;      /* messages have nothing between them */
    const struct bench_block *blocks;
    int block_count;
    MPI_Datatype type;
    int count; /* of `type` in a message */
};

/* The caller frees with bench_layout_close(), before MPI_Finalize. */
void bench_layout_open(struct bench_layout *layout, enum bench_type kind, size_t size);
void bench_layout_close(struct bench_layout *layout);

/* Copies a message of `size` contiguous bytes to where it lies in memory, and back. */
void bench_layout_unpack(const struct bench_layout *layout, char *memory, const char *packed);
void bench_layout_pack(const struct bench_layout *layout, const char *memory, char *packed);

#endif
