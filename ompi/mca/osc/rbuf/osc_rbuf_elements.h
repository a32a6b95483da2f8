/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Data of any type as an array of its predefined elements, as a C program would have it: with the
 * holes of MPI_DOUBLE_INT and the like, without those of derived types. In arrays of ours holes are
 * zero. A program's memory is read and written by the parts of each element: its holes stay as they
 * are, and so does what is behind the last element, which may end at its true extent. No state;
 * errors are MPI's.
 */
#ifndef OSC_RBUF_ELEMENTS_H
#define OSC_RBUF_ELEMENTS_H

#include "osc_rbuf_compat.h"

#include <stdbool.h>
#include <stddef.h>

#include "mpi.h"

/* What a type is made of. */
struct osc_rbuf_elements {
    MPI_Datatype type; /* predefined */
    size_t size;       /* bytes of data of an element */
    size_t extent;     /* bytes from one to the next */
    size_t count;      /* elements */
};

/* Bytes from the first to behind the last that `count` of a type have, and where the first is, from
 * the address of the whole. None: 0. */
size_t osc_rbuf_span(MPI_Datatype type, size_t count, ptrdiff_t *first);

/* Of `count` of a type. False: it is not made of one predefined type. */
bool osc_rbuf_elements_of(MPI_Datatype type, size_t count, struct osc_rbuf_elements *elements);

/* Where the data lies if it lies in one piece, as an array without holes; else NULL. */
void *osc_rbuf_elements_in_place(const void *address, size_t count, MPI_Datatype type,
                                 const struct osc_rbuf_elements *elements);

/* From and to `count` of `type` at an address. The array is of count * extent bytes; reading writes
 * all of it. */
int osc_rbuf_elements_read(const void *address, size_t count, MPI_Datatype type,
                           const struct osc_rbuf_elements *elements, void *array);
int osc_rbuf_elements_write(void *address, size_t count, MPI_Datatype type,
                            const struct osc_rbuf_elements *elements, const void *array);

#endif
