/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A flush asks the target for an answer behind the messages before it, which the target does in
 * their order. Of a peer, all under the lock:
 *
 *   unflushed   operations that no flush has asked for: packed, or sent in messages that were full;
 *               of each of the two ways (osc_rbuf_way.h)
 *   flushes     asked for and not answered, each with its number and its way
 *
 * Who flushes waits for those of the numbers so far, of one peer or of all: other threads may ask
 * on and on, so that there is never a moment with none. A target answers in order on each way. A
 * thread may give up the lock before its question leaves, and another one's leaves first: the first
 * answer is for all operations of both.
 *
 * Owns all of these. The lock is held.
 */
#ifndef OSC_RBUF_FLUSH_H
#define OSC_RBUF_FLUSH_H

#include "osc_rbuf_window.h"

enum { OSC_RBUF_ALL = -1 }; /* targets */

/* A peer gets a packed operation. */
void osc_rbuf_unflushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_way way);

static inline bool osc_rbuf_is_unflushed(const struct osc_rbuf_peer *peer)
{
    return peer->flush.unflushed[OSC_RBUF_BY_MPI] || peer->flush.unflushed[OSC_RBUF_BY_AM];
}

/* A flush asks for all that is unflushed: nothing is any more. Something was. */
void osc_rbuf_flush_asked(struct osc_rbuf_peer *peer);

/* One that the target is asked for now; NULL without memory. */
struct osc_rbuf_flush *osc_rbuf_flush_begin(struct osc_rbuf_window *window, int target,
                                            enum osc_rbuf_way way);

/* No answer will come. */
void osc_rbuf_flush_end(struct osc_rbuf_window *window, int target, struct osc_rbuf_flush *flush);

/* A peer has answered a flush, the way it was asked. */
void osc_rbuf_flushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_way way);

/* Whether all of the target, or of OSC_RBUF_ALL, up to that number are answered. */
bool osc_rbuf_is_flushed(const struct osc_rbuf_window *window, int target, uint64_t number);

/* Whether all of the target are. */
bool osc_rbuf_is_answered(struct osc_rbuf_window *window, int target);

#endif
