/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Where an operation goes: the part of a process's window that it is for, what its epoch and that
 * window's bounds say of it, and a record for it. No state. The lock is held, but for
 * osc_rbuf_pass().
 */
#ifndef OSC_RBUF_TARGET_H
#define OSC_RBUF_TARGET_H

#include "osc_rbuf_window.h"

/* The part of a process's window that an operation is for. The type stays the program's. */
struct osc_rbuf_target {
    int rank;
    ptrdiff_t displacement; /* in units of the window there */
    osc_rbuf_count_t count; /* of the type */
    MPI_Datatype type;
};

/* Whether this process is in an active epoch that lets it access the target. */
bool osc_rbuf_is_accessed(const struct osc_rbuf_window *window, int target);

/* Whether all its bytes are in the target's window. True for a dynamic window: the target knows. */
bool osc_rbuf_is_inside(const struct osc_rbuf_window *window, const struct osc_rbuf_target *target);

/* A record for the target with `payload` bytes behind it, which the caller fills in while it holds
 * the lock; NULL if there is no memory, or a full message could not leave. */
struct osc_rbuf_record *osc_rbuf_record_for(struct osc_rbuf_window *window,
                                            const struct osc_rbuf_target *target,
                                            enum osc_rbuf_record_kind kind, size_t payload);

/* Before an operation goes below. In an active epoch this waits for the target's post, or for its
 * last fence, and opens an epoch below; outside of one it does nothing. An error of MPI or Open
 * MPI, also if the target is none of the start's. No lock is held. */
int osc_rbuf_pass(struct osc_rbuf_window *window, int target);

#endif
