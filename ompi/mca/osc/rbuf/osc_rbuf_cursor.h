/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Cursors: how far the pieces of one long operation on a derived type have come in the target's
 * window. Without one each piece would go through the whole type again.
 *
 * A cursor reads elements and writes them, both in their order and from the first on. What is not
 * written while it is read is never written. Elements have no holes. The lock of osc/rbuf is held;
 * a thread of Open MPI calls.
 */
#ifndef OSC_RBUF_CURSOR_H
#define OSC_RBUF_CURSOR_H

#include "osc_rbuf_compat.h"

#include <stdbool.h>
#include <stddef.h>

#include "mpi.h"

struct osc_rbuf_cursor;

/* At the first element of `count` of a type at an address; NULL without memory. The type lives as
 * long as the cursor. */
struct osc_rbuf_cursor *osc_rbuf_cursor_new(void *address, size_t count, MPI_Datatype type);
void osc_rbuf_cursor_free(struct osc_rbuf_cursor *cursor); /* NULL: nothing */

/* Whether it is one of the same data, and has come to the byte `at` of them. */
bool osc_rbuf_cursor_is_at(const struct osc_rbuf_cursor *cursor, const void *address, size_t count,
                           MPI_Datatype type, size_t at);

/* The next so many bytes of data: whole elements, and as many as there are at least. So nothing
 * here can fail. */
void osc_rbuf_cursor_read(struct osc_rbuf_cursor *cursor, void *stream, size_t bytes);
void osc_rbuf_cursor_write(struct osc_rbuf_cursor *cursor, const void *stream, size_t bytes);

#endif
