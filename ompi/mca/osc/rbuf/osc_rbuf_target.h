/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Where an operation goes: the part of another process's window that it is for, what its epoch and
 * that window's bounds say of it, and a record for it. It keeps nothing. The lock is held.
 */
#ifndef OSC_RBUF_TARGET_H
#define OSC_RBUF_TARGET_H

#include "osc_rbuf_window.h"

/* The part of another process's window that an operation is for. */
struct osc_rbuf_target {
    int rank;
    ptrdiff_t displacement;
    osc_rbuf_count_t count;
    MPI_Datatype type;
};

/* In an active epoch for it. */
bool osc_rbuf_is_accessed(const struct osc_rbuf_window *window, int target);

/* All its bytes are in the target's window. Of a dynamic window that is not known here: true. */
bool osc_rbuf_is_inside(const struct osc_rbuf_window *window, const struct osc_rbuf_target *target);

/* A record for the target with `payload` bytes behind it, or NULL without memory. */
struct osc_rbuf_record *osc_rbuf_record_for(struct osc_rbuf_window *window,
                                            const struct osc_rbuf_target *target,
                                            enum osc_rbuf_record_kind kind, size_t payload);

/* Before what goes below: nothing in a passive epoch; in an active one it waits for the target's
 * post, or for its last fence, and opens an epoch below. An error of Open MPI if the target is not
 * accessed. No lock is held. */
int osc_rbuf_pass(struct osc_rbuf_window *window, int target);

#endif
