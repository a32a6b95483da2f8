/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The first chunk of a put, copied while its rendezvous is under way: one wish a peer, and at most
 * one chunk for it.
 *
 * It is a guess: the put may never come, or be another one. So it takes staging only where no put
 * waits for any, gives it up to the first that does (oldest first), and reads the user's memory now
 * or never, since a message may end without a put.
 */
#ifndef RBUF_CORE_PRESTAGE_H
#define RBUF_CORE_PRESTAGE_H

#include "core/core.h"

struct rbuf_put;

/* A rendezvous for `length` bytes at `source` is about to be sent: copy the first chunk while it is
 * under way. `source` is read by the next rbuf_core_progress(), or not at all. Replaces an earlier
 * wish for the same peer. With a standing lane the next message to the peer leads the head of what
 * was wished: that is read by the next rbuf_core_progress(), and the wish is fulfilled. Call it
 * for every message that may be put, or for none: it is how core knows that what it staged of some
 * memory is an earlier message's. */
void rbuf_prestage(struct rbuf_peer *peer, const void *source, uint64_t length);

/* Nobody will ask for what was staged, or is to be, from `source`. */
void rbuf_prestage_cancel(struct rbuf_peer *peer, const void *source);

/* ---- for core's own files ---- */

/* Forgets the wish and gives its chunk back. */
void rbuf_prestage_drop(struct rbuf_peer *peer);

/* Drops the oldest chunk of any peer; false if there is none. */
bool rbuf_prestage_reclaim(struct rbuf_core *core);

/* The wished chunk becomes the put's first one if it is that, byte for byte; it is dropped if it is
 * another one of that memory. */
void rbuf_prestage_adopt(struct rbuf_put *put);

/*
 * Copies the wished first chunk, as a whole, or gives the wish up: now or never. Core has delivered
 * nothing since the wish was made, so its message is under way and its memory there. Later it need
 * not be: a message may end without a put (in pieces, truncated, written in place).
 */
void rbuf_prestage_fill(struct rbuf_peer *peer, uint64_t *budget);

#endif
