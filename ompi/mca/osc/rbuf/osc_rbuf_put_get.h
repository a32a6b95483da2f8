/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts and gets, as MPI calls them. Errors are MPI's or Open MPI's. The program may change the
 * origin of a packed put when the call returns. All other memory is in use as long as MPI says. No
 * lock is held.
 */
#ifndef OSC_RBUF_PUT_GET_H
#define OSC_RBUF_PUT_GET_H

#include "osc_rbuf_window.h"

int osc_rbuf_put(const void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type,
                 int target, ptrdiff_t displacement, osc_rbuf_count_t target_count,
                 MPI_Datatype target_type, ompi_win_t *win);
int osc_rbuf_get(void *origin, osc_rbuf_count_t origin_count, MPI_Datatype origin_type, int target,
                 ptrdiff_t displacement, osc_rbuf_count_t target_count, MPI_Datatype target_type,
                 ompi_win_t *win);

#endif
