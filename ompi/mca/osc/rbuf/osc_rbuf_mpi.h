/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Functions of MPI as calls of Open MPI's own. PMPI_* would do, but for programs of MPI's standard
 * ABI: there these names are those of a library with other handles and another MPI_Status.
 *
 * Errors are MPI's or Open MPI's, which MPI's functions return to programs as MPI's. No error
 * handler is called.
 *
 * State is a table of predefined types and operations, for rbuf's thread:
 * osc_rbuf_know_predefined() fills it. The functions that turn types and operations into numbers
 * and back want the lock held. All others may be called by any thread.
 */
#ifndef OSC_RBUF_MPI_H
#define OSC_RBUF_MPI_H

#include "osc_rbuf_compat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi.h"

/* ---- collective over a communicator ---- */

int osc_rbuf_barrier(MPI_Comm comm);

/* The least of all processes' values, each for itself. */
int osc_rbuf_least(MPI_Comm comm, const long *mine, long *least, int count);

/* `bytes` of each process, in the order of ranks. */
int osc_rbuf_allgather(MPI_Comm comm, const void *mine, void *all, int bytes);

/* The sums of all processes' `count` values for this one; `values` has as many for each. */
int osc_rbuf_sum_for_each(MPI_Comm comm, const int *values, int *mine, int count);

/* ---- messages; a receive takes any tag from 0 to this ---- */

enum { OSC_RBUF_MOST_TAG = 0x3fffffff };

/* `data` stays the caller's, and in use until the request is complete. */
int osc_rbuf_isend(MPI_Comm comm, int target, int tag, const void *data, size_t bytes,
                   MPI_Request *request);
int osc_rbuf_irecv(MPI_Comm comm, void *data, size_t bytes, MPI_Request *request);

/* ---- predefined types and operations as numbers, which all processes of a job have in common ----
 */

/* The type of MPI's own that a predefined type is: its own, but for those that
 * MPI_Type_create_f90_real() and the like make, to which each process gives numbers of its own.
 * NULL: there is none. */
MPI_Datatype osc_rbuf_basic_type(MPI_Datatype type);

/* Of one of MPI's own. */
int32_t osc_rbuf_type_number(MPI_Datatype type);
MPI_Datatype osc_rbuf_type_of(int32_t number); /* NULL: there is none */
int32_t osc_rbuf_op_number(MPI_Op op);
MPI_Op osc_rbuf_op_of(int32_t number); /* NULL: there is none */

/* Fills the table. From now on predefined ones with low numbers are found without Open MPI's own
 * tables, which may move while a program makes types: so rbuf's thread may look for them. */
void osc_rbuf_know_predefined(void);

/* Whether both are found so. */
bool osc_rbuf_is_known(MPI_Datatype type, MPI_Op op);

/* ---- data of a type from and to a stream of `bytes` without gaps ---- */

int osc_rbuf_pack(const void *address, size_t count, MPI_Datatype type, void *stream, size_t bytes);
int osc_rbuf_unpack(const void *stream, size_t bytes, void *address, size_t count,
                    MPI_Datatype type);

/* The average length of the pieces without gaps in which `count` of a type lie, bytes: of the first
 * few, which stand for all. No data: 0. */
size_t osc_rbuf_piece_bytes(MPI_Datatype type, size_t count);

#endif
