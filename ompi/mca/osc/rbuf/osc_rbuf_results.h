/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Results that were asked for and go to the program's memory: where, and how much is still to come.
 * The lock is held.
 */
#ifndef OSC_RBUF_RESULTS_H
#define OSC_RBUF_RESULTS_H

#include "osc_rbuf_buffer.h"
#include "osc_rbuf_elements.h"
#include "osc_rbuf_window.h"

/* A result for `count` of `type` at an address, of `elements` in all. The memory is the program's,
 * and in use until the result has come. `request` ends with the result, and has its error; NULL:
 * none does. The result's number, or -1 without memory. */
int osc_rbuf_result_new(struct osc_rbuf_window *window, void *address, size_t count,
                        MPI_Datatype type, const struct osc_rbuf_elements *elements,
                        MPI_Request request);

/* `bytes` of a result have come, at an offset from the start of its array. Without data they will
 * not, for an error of MPI, which becomes the request's, or else the window's. */
void osc_rbuf_result_came(struct osc_rbuf_window *window, int number, const void *data,
                          size_t bytes, uint64_t offset_or_error);

/* Bytes of the result that a record asks for; 0: it asks for none. */
size_t osc_rbuf_result_bytes(const struct osc_rbuf_record *record);

/* A message of operations did not leave, for an error of MPI or Open MPI: their results end with
 * it, and the window has it of those without. The error of a message of results is its sender's to
 * report. The buffer stays the caller's. */
void osc_rbuf_operations_failed(struct osc_rbuf_window *window,
                                const struct osc_rbuf_buffer *message, int error);

#endif
