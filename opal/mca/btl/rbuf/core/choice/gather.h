/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether the program gets on faster when its small messages of one size are gathered from
 * frequently used buffers (in place) or when they are copied.
 *
 * The time of a single send does not tell. Memory that is gathered is not free until the adapter
 * has fetched it, so that a blocking send lasts a round trip. Before a send that waits for an
 * answer this costs nothing, as the program would wait as long for the answer; in a stream of sends
 * it takes far longer than a copy. Nor does it show how long an adapter takes to fetch several
 * pieces.
 *
 * So whole blocks of messages take one path, and the time from the first message of a block to the
 * first of the next one is a sample of it (preference.h). Blocks change path until both are known;
 * then they take the preferred one, and now and then a block tries the other (trial.h).
 *
 * All messages of the size count, with their buffers registered or not: the latter are as many in
 * blocks of either path. The time of registrations is taken off the block, and added to what its
 * trial costs. A block with many registrations is no sample, as these leave the caches cold for
 * what follows; the next block takes the same path.
 *
 * Threads: the module's lock. No clock: times are given.
 */
#ifndef RBUF_CORE_GATHER_H
#define RBUF_CORE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/choice/trial.h"

#define RBUF_GATHER_UNIT   1024u /* messages that the times of blocks are scaled to */
#define RBUF_GATHER_MANY   4u    /* one registration in so many messages: the block is no sample */
#define RBUF_GATHER_WINDOW 5u    /* blocks; each is of many messages, which chance evens out */

struct rbuf_gather {
    struct rbuf_preference paths; /* ns of RBUF_GATHER_UNIT messages */
    struct rbuf_trial trial;      /* likewise */
    enum rbuf_path path;          /* of this block */
    uint32_t messages;            /* of it, so far */
    uint32_t registrations;       /* likewise */
    uint64_t begun_ns;            /* 0: no block has begun */
    uint64_t registered_ns;       /* what registrations took in the newest trial */
};

/* So many more messages; true if a block of `length` is over, or the first begins: tell
 * rbuf_gather_turn() before the path is looked at. */
static inline bool rbuf_gather_count(struct rbuf_gather *gather, uint32_t messages, uint32_t length)
{
    gather->messages += messages;
    return gather->messages >= length || gather->begun_ns == 0;
}

/* Whether to register buffers now: this block gathers, or no path is preferred yet. */
static inline bool rbuf_gather_needs_registrations(const struct rbuf_gather *gather)
{
    return gather->path == RBUF_PATH_IN_PLACE || gather->paths.preferred == RBUF_PREFER_UNKNOWN;
}

/* A buffer was registered in `ns`. */
void rbuf_gather_registered(struct rbuf_gather *gather, uint64_t ns);

/* The next block begins. */
void rbuf_gather_turn(struct rbuf_gather *gather, uint64_t now_ns);

#endif
