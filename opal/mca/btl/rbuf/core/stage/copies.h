/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copied puts, and copied gets: what those of a peer share, in each direction.
 *
 * A few have begun; the others wait. Those that have begun have together as many bytes of staging
 * as one message would have: in the send queue requests leave in their order, and those of the
 * other direction would wait for all that were posted before.
 *
 * Invariant: some wait only while RBUF_COPIED_AT_ONCE have begun.
 */
#ifndef RBUF_CORE_COPIES_H
#define RBUF_CORE_COPIES_H

#include "core/state/state.h"

/* How many of a peer have begun in each direction, most. Each call of progress looks at all of
 * these, and a program may start any number before it waits. */
#define RBUF_COPIED_AT_ONCE 32u

void rbuf_copies_open(struct rbuf_copies *copies);

/* True if this one begins now; else it waits. */
bool rbuf_copies_begin(struct rbuf_copies *copies, struct rbuf_copy *copy);

/* One that had begun is over: the one that has waited the longest begins; NULL: none waits. */
struct rbuf_copy *rbuf_copies_end(struct rbuf_copies *copies);

/* True if a chunk of `bytes` more of this one may be under way. A short one may that is the only
 * one of its operation: short operations do not wait for the end of the long ones before them. */
bool rbuf_copies_may_go(const struct rbuf_core *core, const struct rbuf_copies *copies,
                        const struct rbuf_copy *copy, uint32_t bytes);

/* A chunk is posted. */
static inline void rbuf_copies_posted(struct rbuf_copies *copies, struct rbuf_copy *copy,
                                      uint32_t bytes)
{
    copy->chunks++;
    copies->bytes += bytes;
}

/* A chunk has given its staging back. Whose it was counts it off itself, if that is still there. */
static inline void rbuf_copies_back(struct rbuf_copies *copies, uint32_t bytes)
{
    copies->bytes -= bytes;
}

#endif
