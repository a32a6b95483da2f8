/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A flush asks the target for an answer behind the messages before it, which the target does in
 * their order. Of a peer, all under the lock:
 *
 *   unflushed   operations that no flush has asked for: packed, or sent in messages that were full;
 *               of each of the two paths (enum osc_rbuf_path)
 *   flushes     asked for and not answered, each with its number and its path
 *
 * Who flushes waits for those of the numbers so far, of one peer or of all: other threads may ask
 * on and on, so that there is never a moment with none. A target answers in order on each path. A
 * thread may give up the lock before its question leaves, and another one's leaves first: the first
 * answer is for all operations of both.
 *
 * Owns `flush` of a window and of its peers. The lock is held.
 */
#ifndef OSC_RBUF_FLUSH_H
#define OSC_RBUF_FLUSH_H

#include "osc_rbuf_window.h"

/* The target gets a packed operation on that path, which no flush has asked for. */
void osc_rbuf_unflushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_path path);

/* Whether it has operations that no flush has asked for. */
static inline bool osc_rbuf_is_unflushed(const struct osc_rbuf_peer *peer)
{
    return peer->flush.unflushed[OSC_RBUF_BY_MPI] || peer->flush.unflushed[OSC_RBUF_BY_AM];
}

/* A flush asks for everything that is unflushed of a peer, which has something: then nothing is. */
void osc_rbuf_flush_asked(struct osc_rbuf_peer *peer);

/* A flush that the target is about to be asked for; NULL without memory. This file frees it, when
 * it is answered or ended. */
struct osc_rbuf_flush *osc_rbuf_flush_begin(struct osc_rbuf_window *window, int target,
                                            enum osc_rbuf_path path);

/* No answer will come: frees it. */
void osc_rbuf_flush_end(struct osc_rbuf_window *window, int target, struct osc_rbuf_flush *flush);

/* The target has answered the oldest flush of that path. */
void osc_rbuf_flushed(struct osc_rbuf_window *window, int target, enum osc_rbuf_path path);

/* Whether the flushes up to that number are answered: of the target, or of OSC_RBUF_ALL. */
bool osc_rbuf_is_flushed(const struct osc_rbuf_window *window, int target, uint64_t number);

/* Whether all its flushes are answered. */
static inline bool osc_rbuf_is_answered(const struct osc_rbuf_peer *peer)
{
    return SLIST_EMPTY(&peer->flush.unanswered);
}

#endif
