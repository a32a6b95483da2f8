/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether the program gets on faster when its messages are gathered or when they are copied: tried
 * out, in blocks of so many messages, by the time from the first of a block to the first of the
 * next. For what a gathered message costs does not show where it is sent. Its user's memory is not
 * free until it was fetched, so that a blocking send lasts a round trip: behind a send that is
 * answered that is nothing, as the program would wait as long for the answer, in a stream of sends
 * it is far more than a copy. And an adapter may take its time to fetch several pieces.
 *
 * All messages of a size count, whether their buffers are registered or not: the others are as many
 * in blocks of either path. What registrations take does not count, but for how often that is
 * tried. But a block in which many buffers are registered says nothing, as that leaves the caches
 * cold, and what follows will find them registered: it is no sample, and its path goes on.
 *
 * The faster path by the median of the newest blocks is preferred. Each so-manieth block takes the
 * other one, the more seldom the slower that was.
 *
 * Threads: the module's lock. No clock: times are given.
 */
#ifndef RBUF_CORE_TRIAL_H
#define RBUF_CORE_TRIAL_H

#include "core/choice/frequent.h"

#define RBUF_GATHER_TRIAL_SAMPLES 5u    /* blocks, of each path */
#define RBUF_GATHER_TRIAL_ENOUGH  3u    /* before they say anything */
#define RBUF_GATHER_TRIAL_SLOWER  64u   /* gathering is left when slower by one part in so many */
#define RBUF_GATHER_TRIAL_LEAST   16u   /* blocks between tries of the other path */
#define RBUF_GATHER_TRIAL_MOST    1024u /* likewise */
#define RBUF_GATHER_TRIAL_SHARE                                                                    \
    200u                             /* of the time goes into tries: one part in so many, at most  \
                                      */
#define RBUF_GATHER_TRIAL_UNIT 1024u /* messages that blocks are compared by */
#define RBUF_GATHER_TRIAL_MANY 4u    /* one registration in so many messages */

struct rbuf_gather_trial {
    enum rbuf_frequent_path path; /* of this block */
    enum rbuf_frequent_path preferred;
    uint32_t messages;      /* of it, so far */
    uint32_t registrations; /* likewise */
    uint32_t until;         /* blocks to the next try of the other path; 0: none is preferred yet */
    uint64_t begun_ns;      /* 0: none has begun */
    uint64_t spared_ns;     /* in the newest try of the other path */
    uint32_t samples[RBUF_FREQUENT_PATHS]; /* taken */
    uint64_t sample_ns[RBUF_FREQUENT_PATHS]
                      [RBUF_GATHER_TRIAL_SAMPLES]; /* of RBUF_GATHER_TRIAL_UNIT messages */
};

/* So many more messages; true if a block of `length` is over, or the first begins: tell
 * rbuf_gather_trial_turn() before the path is looked at. */
static inline bool rbuf_gather_trial_count(struct rbuf_gather_trial *trial, uint32_t messages,
                                           uint32_t length)
{
    trial->messages += messages;
    return trial->messages >= length || trial->begun_ns == 0;
}

/* Whether a registration would serve this block, or has to be there before anything is known. */
static inline bool rbuf_gather_trial_needs_registrations(const struct rbuf_gather_trial *trial)
{
    return trial->path == RBUF_FREQUENT_GATHERED || trial->until == 0;
}

/* A buffer was registered: so much of this block's time is not its messages', but what a try costs
 * besides. */
static inline void rbuf_gather_trial_spare(struct rbuf_gather_trial *trial, uint64_t ns)
{
    trial->registrations++;
    trial->begun_ns += trial->begun_ns > 0 ? ns : 0;
    trial->spared_ns += trial->path != trial->preferred ? ns : 0;
}

/* The next block begins. */
void rbuf_gather_trial_turn(struct rbuf_gather_trial *trial, uint64_t now_ns);

#endif
