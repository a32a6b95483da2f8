/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * When will this memory be used again? A time-based, context-aware predictor, after D. Li,
 * K. W. Cameron, D. S. Nikolopoulos, B. R. de Supinski, M. Schulz, "Scalable Memory Registration
 * for High Performance Networks Using Helper Threads", Computing Frontiers 2011, sections 3.1
 * and 4.2.
 *
 * A site is a signature of a point of communication: the hash of its stack frames, of its buffer's
 * address, and of kind and address of the points before it (the window), so that uses of one buffer
 * on different control paths are told apart. Other than in the paper the size belongs to it, to the
 * next power of two: a multigrid solver uses the same place and buffer at each level. Without
 * frames, size and peer stand for them.
 * The period of a site is the shortest interval seen between two uses, as in the paper: too early
 * costs memory, too late costs time. Other than in the paper a period that was too short for
 * RBUF_SITE_LATE uses in a row makes room for that of late uses, below: else one odd interval would
 * spoil the site for ever.
 *
 * The next use of a site is predicted for its last use and a period later. The prediction lapses
 * after a grace, a quarter of the period or the caller's minimum. The nested loops of the paper's
 * figure 4 need that: the first turns of a loop, as many as the window has points, are sites of
 * their own, and the others' prediction lapses when the loop ends. The turn behind these is theirs
 * again: it comes late, by the same interval whenever the loop begins. So a site has a second
 * period, that of its late uses, for when the first has lapsed. It is believed from its second
 * interval on. When that one lapses, too, the site predicts nothing until it is seen again.
 *
 * Intervals vary, and a use that comes sooner than the shortest of them so far would find its
 * memory not registered yet. So it is to be registered by a margin before: twice the deviation of
 * the intervals from the shortest one, smoothed as the round trip time's is by TCP (RFC 6298), and
 * at most a sixteenth of the period, which is what it costs of memory.
 *
 * The table is bounded. A signature has a few slots where it can be, and the site there that was
 * seen the longest ago makes room.
 *
 * Invariant: each use of a site with a period is counted in one of near, close, early, late,
 * missed, by the prediction that was not lapsed, or was the last to.
 *
 * Threads: the helper alone.
 */
#ifndef RBUF_CORE_HELPER_PREDICTOR_H
#define RBUF_CORE_HELPER_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/helper/use_queue.h"

#define RBUF_SITE_WAYS      8u
#define RBUF_SITE_LATE      8u /* uses in a row */
#define RBUF_WINDOW_LONGEST 4u

struct rbuf_period {
    uint64_t shortest_ns;  /* 0: not known */
    uint64_t deviation_ns; /* of the intervals from it, smoothed; from the second one on */
    uint32_t intervals;    /* that were seen */
};

struct rbuf_site {
    uint64_t signature; /* 0: a free slot */
    uint64_t base;      /* its buffer */
    uint64_t bytes;
    uint64_t last_ns; /* its last use */
    struct rbuf_period period;
    struct rbuf_period late; /* of the uses that came when that had lapsed */
    uint32_t late_in_row;
};

/* How well uses were predicted, by the error as part of the interval that was observed. */
struct rbuf_prediction_counters {
    uint64_t points;
    uint64_t predicted; /* uses of a site whose period was known: the sum of the following */
    uint64_t near;      /* within 0.5 % */
    uint64_t close;     /* else within 5 % */
    uint64_t early;     /* they came sooner than predicted */
    uint64_t late;      /* they came later */
    uint64_t missed;    /* twice the period later, or more: a predicted use never came */
    uint64_t replaced;  /* sites that made room for others */
};

struct rbuf_predictor {
    struct rbuf_site *site;
    uint32_t *seen; /* slots of `site` that are not free, in the order in which they were taken */
    uint32_t sites; /* of these */
    uint32_t sets;
    uint32_t window; /* points before, of which the signature knows */
    uint64_t grace_ns;
    uint64_t context[RBUF_WINDOW_LONGEST]; /* hashes of the last points, the last one first */
    struct rbuf_prediction_counters counters;
};

struct rbuf_prediction {
    uint64_t use_ns;   /* the next use */
    uint64_t ready_ns; /* its memory is to be registered by then: a margin before */
    uint64_t lapse_ns; /* if it has not come by then it will not */
};

/* About `sites` sites are remembered; the paper's window is 2 and at most RBUF_WINDOW_LONGEST. No
 * prediction lapses sooner than `grace_ns` after its time. -ENOMEM, else 0. */
int rbuf_predictor_open(struct rbuf_predictor *predictor, uint32_t sites, uint32_t window,
                        uint64_t grace_ns);
void rbuf_predictor_close(struct rbuf_predictor *predictor);

/* Points come in the order of their times, or nearly so. */
void rbuf_predictor_see(struct rbuf_predictor *predictor, const struct rbuf_use *point);

/* The earliest next use of a buffer within [begin, end) that has not lapsed at now_ns; false: none
 * is predicted. It may be overdue. */
bool rbuf_predictor_next(const struct rbuf_predictor *predictor, uint64_t begin, uint64_t end,
                         uint64_t now_ns, struct rbuf_prediction *prediction);

#endif
