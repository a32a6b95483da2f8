/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Requests of packed operations with a result (MPI_Rget_accumulate): each ends when its result is
 * there.
 *
 *   made --result or error--> complete --MPI frees it, in a wait or test--> gone
 *   made --MPI_Request_free, which MPI forbids--> forgotten --result or error--> gone
 *
 * The result has it from when it is made to when it is complete (osc_rbuf_results.h), MPI from when
 * the call returns. The lock guards whether it is forgotten. It is not held but where a function
 * says so.
 */
#ifndef OSC_RBUF_REQUEST_H
#define OSC_RBUF_REQUEST_H

#include "osc_rbuf_window.h"

#include "ompi/request/request.h"

/* One that is not complete; NULL without memory. */
MPI_Request osc_rbuf_request_new(ompi_win_t *win);

/* Completes it, with MPI's error or MPI_SUCCESS. It is MPI's alone then. The lock is held. */
void osc_rbuf_request_complete(MPI_Request request, int error);

/* Frees one that the program never gets, and that no result has. */
void osc_rbuf_request_drop(MPI_Request request);

#endif
