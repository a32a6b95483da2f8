/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts whose bytes are copied into send staging and written from there, chunk by chunk. A put has
 * one of two targets: the lane of the receiver's offer (core/rendezvous/put.c), or, copied, the
 * user's memory there (core/onesided/copied_put.c). One loop moves both on
 * (core/rendezvous/sender.h).
 *
 * One for a lane begins by the offer that it came with, or by the RTR that follows a deferred one
 * and may even come before. What is offered is checked in put.c, and which early data are the put's
 * is named to the receiver (core/rendezvous/early.h).
 *
 *     UNGRANTED -> EARLY -> FILLING <-> FILLED -> DONE
 *     copied: WAITING -> FILLING <-> FILLED -> LANDING -> DONE
 */
#ifndef RBUF_CORE_PUT_H
#define RBUF_CORE_PUT_H

#include "core/state/state.h"

/* What a put waits for. */
#define RBUF_PUT_STATES(STATE)                                                                     \
    STATE(RBUF_PUT_, UNGRANTED) /* an RTR */                                                       \
    STATE(RBUF_PUT_, EARLY)     /* staging for what is missing of its early data */                \
    STATE(RBUF_PUT_, WAITING)   /* copied: the end of one of those that have begun */              \
    STATE(RBUF_PUT_, FILLING)   /* staging for chunk `next`, and for that to be copied there */    \
    STATE(RBUF_PUT_, FILLED)    /* the window of chunk `next`, or room in the send queue */        \
    STATE(RBUF_PUT_, LANDING)   /* copied: the last chunks to arrive */                            \
    STATE(RBUF_PUT_, DONE)      /* nothing: its user owns it */

enum rbuf_put_state { RBUF_PUT_STATES(RBUF_STATE) };

/* What differs between the two targets. */
struct rbuf_put_ops {
    /* True if chunk `next` may be under way. */
    bool (*window_open)(const struct rbuf_put *put);

    /* Copies of chunk `next` into `filling`, as far as the budget goes, bytes. */
    void (*fill)(struct rbuf_put *put, uint64_t *budget);

    /* Posts `filling`, which is full. */
    enum rbuf_fab_status (*write)(struct rbuf_put *put);

    /* Steps to the next chunk; false after the last. */
    bool (*step)(struct rbuf_put *put);

    /* Of the put whose last chunk is posted: DONE, or LANDING until its file finishes it. */
    enum rbuf_put_state posted;
};

/* The user sets source and offer, and owns it again with RBUF_EVENT_PUT or RBUF_EVENT_DIRECT. */
struct rbuf_put {
    const unsigned char *source; /* offer.bytes bytes */
    struct rbuf_offer offer;     /* STAGED or DEFERRED; after RBUF_EVENT_DIRECT it is DIRECT */

    enum rbuf_put_state state; /* core's, like everything below */
    const struct rbuf_put_ops *ops;
    struct rbuf_peer *peer;
    struct rbuf_early_data *early; /* that it has taken, until the slot is used again; NULL: none */
    uint32_t early_seq;            /* of them; 0: none */
    uint64_t early_bytes;          /* of the message, which they are */
    const unsigned char *rest;     /* of the source, behind them */
    uint64_t rest_bytes;
    struct rbuf_chunk next;        /* of the rest: the chunk that is filled or to be filled */
    struct rbuf_tx_chunk *filling; /* NULL: no staging yet */
    struct rbuf_copy copy;         /* copied */
    TAILQ_ENTRY(rbuf_put) link;
    struct rbuf_event_place ended;
};

/* Starts a put; it ends in an event, also if the offer makes no sense (-EPROTO). */
void rbuf_put_start(struct rbuf_peer *peer, struct rbuf_put *put);

/* ---- for core's own files ---- */

static inline void rbuf_put_become(struct rbuf_put *put, enum rbuf_put_state state)
{
    static const char *const names[] = {RBUF_PUT_STATES(RBUF_STATE_NAME)};

    rbuf_trace("put", put->peer->index, put->offer.id, names[put->state], names[state]);
    put->state = state;
}

/* Those of the lane of the receiver's offer: each chunk goes to a buffer of the lane, flags and
 * all, when the chunk that last used that buffer is acknowledged, or none did. The put ends when
 * its last chunk is posted: the user's memory is free then. */
extern const struct rbuf_put_ops rbuf_put_to_lane;

/* What every put starts with; false: it has ended, as its peer has failed. */
bool rbuf_put_begin(struct rbuf_peer *peer, struct rbuf_put *put, const struct rbuf_put_ops *ops);

/* True if some of the put's early data are not written. The receiver releases them when they are
 * all there, which may be before the put goes on: the slot is another message's then. */
bool rbuf_put_early_missing(const struct rbuf_put *put);

/* An RTR came. */
void rbuf_put_granted(struct rbuf_peer *peer, const struct rbuf_offer *offer);

/* Forgets the RTRs that no put has asked for. */
void rbuf_put_unexpected_free(struct rbuf_peer *peer);

#endif
