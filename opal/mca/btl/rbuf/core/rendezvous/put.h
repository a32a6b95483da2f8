/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How a put begins: by the offer that it came with, or by the RTR that follows a deferred one and
 * may even come before. What is offered is checked here, and which early data are the put's is
 * named to the receiver (core/rendezvous/early.h); from then on it is the sender's
 * (core/rendezvous/sender.h).
 *
 *     UNGRANTED -> EARLY -> FILLING <-> FILLED -> DONE; a copied put: ... -> LANDING -> DONE
 */
#ifndef RBUF_CORE_PUT_H
#define RBUF_CORE_PUT_H

#include "core/base/states.h"
#include "core/base/trace.h"
#include "core/state/state.h"

/* What a put waits for. */
#define RBUF_PUT_STATES(STATE)                                                                     \
    STATE(RBUF_PUT_, UNGRANTED) /* an RTR */                                                       \
    STATE(RBUF_PUT_, EARLY)     /* staging for what is missing of its early data */                \
    STATE(RBUF_PUT_, FILLING)   /* staging for chunk `next`, and for that to be copied there */    \
    STATE(RBUF_PUT_, FILLED)    /* the window of chunk `next`, or room in the send queue */        \
    STATE(RBUF_PUT_, LANDING)   /* copied: the last chunks to arrive */                            \
    STATE(RBUF_PUT_, DONE)      /* nothing: its user owns it */

enum rbuf_put_state { RBUF_PUT_STATES(RBUF_STATE) };

static inline const char *rbuf_put_state_name(enum rbuf_put_state state)
{
    static const char *const names[] = {RBUF_PUT_STATES(RBUF_STATE_NAME)};

    return names[state];
}

/* The user sets source and offer, and owns it again with RBUF_EVENT_PUT or RBUF_EVENT_DIRECT. */
struct rbuf_put {
    const unsigned char *source; /* offer.bytes bytes */
    struct rbuf_offer offer;     /* STAGED or DEFERRED; after RBUF_EVENT_DIRECT it is DIRECT */

    enum rbuf_put_state state; /* core's, like everything below */
    struct rbuf_peer *peer;
    struct rbuf_early_data *early; /* that it has taken, until the slot is used again; NULL: none */
    uint32_t early_seq;            /* of them; 0: none */
    uint64_t early_bytes;          /* of the message, which they are */
    const unsigned char *rest;     /* of the source, behind them */
    uint64_t rest_bytes;
    struct rbuf_chunk next;        /* of the rest: the chunk that is filled or to be filled */
    struct rbuf_tx_chunk *filling; /* NULL: no staging yet */
    uint32_t in_flight;            /* copied: chunks under way */
    TAILQ_ENTRY(rbuf_put) link;
};

/* Starts a put; it ends in an event, also if the offer makes no sense (-EPROTO). */
void rbuf_put_start(struct rbuf_peer *peer, struct rbuf_put *put);

/*
 * Starts a put whose offer is DIRECT (base, bytes and rkey count), from memory that is not
 * registered: its chunks are copied into send staging and written from there to their place. It
 * ends in RBUF_EVENT_PUT when all of it has arrived, or with a status.
 */
void rbuf_put_copied(struct rbuf_peer *peer, struct rbuf_put *put);

/* ---- for core's own files ---- */

static inline void rbuf_put_become(struct rbuf_put *put, enum rbuf_put_state state)
{
    rbuf_trace("put", put->peer->index, put->offer.id, rbuf_put_state_name(put->state),
               rbuf_put_state_name(state));
    put->state = state;
}

/* True if some of the put's early data are not written. The receiver releases them when they are
 * all there, which may be before the put goes on: the slot is another message's then. */
bool rbuf_put_early_missing(const struct rbuf_put *put);

/* An RTR came. */
void rbuf_put_granted(struct rbuf_peer *peer, const struct rbuf_offer *offer);

/* Forgets the RTRs that no put has asked for. */
void rbuf_put_unexpected_free(struct rbuf_peer *peer);

#endif
