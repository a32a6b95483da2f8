/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Accumulates, fetches and swaps, as MPI calls them. Errors are MPI's or Open MPI's. The program
 * may change what a packed one has read when the call returns. Its result has come when the epoch,
 * the flush or the request ends. No lock is held.
 */
#ifndef OSC_RBUF_ACCUMULATE_H
#define OSC_RBUF_ACCUMULATE_H

#include "osc_rbuf_window.h"

int osc_rbuf_accumulate(const void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type,
                        int target, ptrdiff_t displacement, osc_rbuf_count_t target_count,
                        MPI_Datatype target_type, MPI_Op op, ompi_win_t *win);
int osc_rbuf_get_accumulate(const void *origin, osc_rbuf_count_t origin_count,
                            MPI_Datatype origin_type, void *result, osc_rbuf_count_t result_count,
                            MPI_Datatype result_type, int target, ptrdiff_t displacement,
                            osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                            ompi_win_t *win);
int osc_rbuf_fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target,
                          ptrdiff_t displacement, MPI_Op op, ompi_win_t *win);
int osc_rbuf_compare_and_swap(const void *origin, const void *compare, void *result,
                              MPI_Datatype type, int target, ptrdiff_t displacement,
                              ompi_win_t *win);

/* With requests: MPI's, which the program frees by a wait or test. */
int osc_rbuf_raccumulate(const void *origin, osc_rbuf_count_t origin_count,
                         MPI_Datatype origin_type, int target, ptrdiff_t displacement,
                         osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                         ompi_win_t *win, MPI_Request *request);
int osc_rbuf_rget_accumulate(const void *origin, osc_rbuf_count_t origin_count,
                             MPI_Datatype origin_type, void *result, osc_rbuf_count_t result_count,
                             MPI_Datatype result_type, int target, ptrdiff_t displacement,
                             osc_rbuf_count_t target_count, MPI_Datatype target_type, MPI_Op op,
                             ompi_win_t *win, MPI_Request *request);

#endif
