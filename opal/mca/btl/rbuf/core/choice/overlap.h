/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Whether a message may be gathered without making the program wait. Its user's memory is not free
 * until the adapter has fetched it, so that a blocking send lasts a round trip, where a copied one
 * returns at once. In a stream of those that is far more than a copy; behind a send that is
 * answered it is nothing, as the program would wait as long for the answer.
 *
 * The two are told apart by calls of progress that find nothing, "idle":
 *
 * - None before the completion: the program did not wait for it.
 * - Some before it, and some behind it before the program sends again: the program came back to
 *   wait for something else, which the gathered message has not delayed.
 * - Some before it, and none behind: the wait was in vain. After RBUF_OVERLAP_STRIKES of these in a
 *   row the next messages are copied, of which there are twice as many each time that happens.
 *
 * Threads: the module's lock. No clock.
 */
#ifndef RBUF_CORE_OVERLAP_H
#define RBUF_CORE_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#define RBUF_OVERLAP_STRIKES      2u
#define RBUF_OVERLAP_COPIES_LEAST 256u
#define RBUF_OVERLAP_COPIES_MOST  16384u

enum rbuf_overlap_state {
    RBUF_OVERLAP_FREE,   /* nothing is known against gathering */
    RBUF_OVERLAP_WAITED, /* the program has waited for a completion: is it idle again? */
    RBUF_OVERLAP_COPIES  /* so many messages are to be copied */
};

struct rbuf_overlap {
    enum rbuf_overlap_state state;
    uint32_t idle;    /* calls in a row */
    uint32_t copies;  /* COPIES: that are left */
    uint32_t next;    /* next time there are so many */
    uint32_t strikes; /* waits in vain, in a row */
    uint64_t sent;    /* WAITED: messages, at the completion */
    uint64_t exposed; /* counter: waits that were in vain */
};

/* A call of progress has found nothing, or something; `sent` are all messages so far, gathered and
 * others. */
static inline void rbuf_overlap_progress(struct rbuf_overlap *overlap, bool found, uint64_t sent)
{
    overlap->idle = found ? 0 : overlap->idle + 1;
    if (overlap->state == RBUF_OVERLAP_WAITED && !found && sent == overlap->sent) {
        overlap->state = RBUF_OVERLAP_FREE;
        overlap->next /= 2;
        overlap->strikes = 0;
    }
}

/* A gathered message has completed. */
static inline void rbuf_overlap_completed(struct rbuf_overlap *overlap, uint64_t sent)
{
    if (overlap->state == RBUF_OVERLAP_FREE && overlap->idle > 0) {
        overlap->state = RBUF_OVERLAP_WAITED;
        overlap->sent = sent;
    }
    overlap->idle = 0;
}

/* The wait was in vain. */
static inline void rbuf_overlap_exposed(struct rbuf_overlap *overlap)
{
    overlap->exposed++;
    overlap->state = RBUF_OVERLAP_FREE;
    if (++overlap->strikes < RBUF_OVERLAP_STRIKES) {
        return;
    }
    overlap->next = overlap->next < RBUF_OVERLAP_COPIES_LEAST  ? RBUF_OVERLAP_COPIES_LEAST
                    : overlap->next < RBUF_OVERLAP_COPIES_MOST ? 2 * overlap->next
                                                               : overlap->next;
    overlap->strikes = 0;
    overlap->copies = overlap->next;
    overlap->state = RBUF_OVERLAP_COPIES;
}

/* Whether a message that is sent now may be gathered. */
static inline bool rbuf_overlap_allows(struct rbuf_overlap *overlap)
{
    if (overlap->state == RBUF_OVERLAP_WAITED) {
        rbuf_overlap_exposed(overlap);
    }
    if (overlap->state == RBUF_OVERLAP_COPIES && overlap->copies-- == 0) {
        overlap->state = RBUF_OVERLAP_FREE;
    }
    overlap->idle = 0;
    return overlap->state == RBUF_OVERLAP_FREE;
}

#endif
