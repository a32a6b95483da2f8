/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which of two paths is faster in this run: the copy, or the transfer in place.
 *
 * Each path has a window of its newest RBUF_SAMPLES times. Its usual time is their median: times
 * that include the wait for a late peer or for a processor do not count unless they are half of
 * all.
 *
 * No path is preferred until both have RBUF_SAMPLES_MIN times; from then on one always is. In place
 * is left when it is slower by more than one part in RBUF_SLOWER_LEAVE. It is preferred again when
 * it is slower by no more than one part in RBUF_SLOWER_ENTER. Between the two bounds nothing
 * changes, so that two paths which take equally long do not alternate (hysteresis). At a tie in
 * place is preferred: it leaves the processor and its caches to the program.
 *
 * Times are ns of a unit of work that the user chooses, the same for both paths. Threads: the
 * user's lock. No clock.
 */
#ifndef RBUF_CORE_PREFERENCE_H
#define RBUF_CORE_PREFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#define RBUF_SAMPLES      16u  /* times of the longest window */
#define RBUF_SAMPLES_MIN  3u   /* times; of fewer one outlier moves the median */
#define RBUF_SAMPLES_STEP 4u   /* new times before a full window is sorted again: sorting is slow */
#define RBUF_SLOWER_LEAVE 64u  /* 1.6 % */
#define RBUF_SLOWER_ENTER 256u /* 0.4 % */

enum rbuf_path {
    RBUF_PATH_COPY,     /* through staging, rbuf's registered memory */
    RBUF_PATH_IN_PLACE, /* the adapter reads or writes the program's memory, which is registered */
    RBUF_PATHS
};

enum rbuf_preferred { RBUF_PREFER_UNKNOWN, RBUF_PREFER_COPY, RBUF_PREFER_IN_PLACE };

struct rbuf_preference {
    uint64_t sample[RBUF_PATHS][RBUF_SAMPLES]; /* ns */
    uint32_t samples[RBUF_PATHS];              /* taken so far */
    double usual_ns[RBUF_PATHS];               /* 0: fewer than RBUF_SAMPLES_MIN samples */
    enum rbuf_preferred preferred;
};

static inline enum rbuf_path rbuf_path_other(enum rbuf_path path)
{
    return path == RBUF_PATH_COPY ? RBUF_PATH_IN_PLACE : RBUF_PATH_COPY;
}

static inline bool rbuf_preference_is(const struct rbuf_preference *preference, enum rbuf_path path)
{
    return preference->preferred ==
           (path == RBUF_PATH_COPY ? RBUF_PREFER_COPY : RBUF_PREFER_IN_PLACE);
}

/* A unit of work took `ns` on that path, of whose times the newest `window` count: from
 * RBUF_SAMPLES_MIN to RBUF_SAMPLES, always the same. */
void rbuf_preference_add(struct rbuf_preference *preference, uint32_t window, enum rbuf_path path,
                         uint64_t ns);

/* The times of in place are too old: none is preferred until it has been timed anew. */
void rbuf_preference_forget_in_place(struct rbuf_preference *preference);

#endif
