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
#ifndef RBUF_CORE_PACE_H
#define RBUF_CORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define RBUF_PACE_SAMPLES 5u    /* blocks, of each path */
#define RBUF_PACE_ENOUGH  3u    /* before they say anything */
#define RBUF_PACE_SLOWER  64u   /* gathering is left when slower by one part in so many */
#define RBUF_PACE_LEAST   16u   /* blocks between tries of the other path */
#define RBUF_PACE_MOST    1024u /* likewise */
#define RBUF_PACE_SHARE   200u  /* of the time goes into tries: one part in so many, at most */
#define RBUF_PACE_UNIT    1024u /* messages that blocks are compared by */
#define RBUF_PACE_MANY    4u    /* one registration in so many messages */

enum rbuf_pace_path { RBUF_PACE_COPY, RBUF_PACE_GATHER, RBUF_PACE_PATHS };

struct rbuf_pace {
    enum rbuf_pace_path path; /* of this block */
    enum rbuf_pace_path preferred;
    uint32_t messages;      /* of it, so far */
    uint32_t registrations; /* likewise */
    uint32_t until;         /* blocks to the next try of the other path; 0: none is preferred yet */
    uint64_t begun_ns;      /* 0: none has begun */
    uint64_t spared_ns;     /* in the newest try of the other path */
    uint32_t samples[RBUF_PACE_PATHS];                      /* taken */
    uint64_t sample_ns[RBUF_PACE_PATHS][RBUF_PACE_SAMPLES]; /* of RBUF_PACE_UNIT messages */
};

/* So many more messages; true if a block of `length` is over, or the first begins: tell
 * rbuf_pace_turn() before the path is looked at. */
static inline bool rbuf_pace_count(struct rbuf_pace *pace, uint32_t messages, uint32_t length)
{
    pace->messages += messages;
    return pace->messages >= length || pace->begun_ns == 0;
}

/* Whether a registration would serve this block, or has to be there before anything is known. */
static inline bool rbuf_pace_needs_registrations(const struct rbuf_pace *pace)
{
    return pace->path == RBUF_PACE_GATHER || pace->until == 0;
}

/* A buffer was registered: so much of this block's time is not its messages', but what a try costs
 * besides. */
static inline void rbuf_pace_spare(struct rbuf_pace *pace, uint64_t ns)
{
    pace->registrations++;
    pace->begun_ns += pace->begun_ns > 0 ? ns : 0;
    pace->spared_ns += pace->path != pace->preferred ? ns : 0;
}

/* The next block begins. */
void rbuf_pace_turn(struct rbuf_pace *pace, uint64_t now_ns);

#endif
