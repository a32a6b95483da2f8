/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Credits: how many messages each side may have under way to the other, by flow.
 *
 * A flow is one supply of places for messages: the receive buffers of the control and of the bulk
 * channel, and the slots of an eager ring. For each flow that it sends on a side knows how many
 * messages it sent and how many of those were taken off; for each that it receives on, how many it
 * took off and what it told the sender of that. The word travels as a cumulative count, so that a
 * late, repeated or lost one does no harm: in every message of either channel, in both directions,
 * and by an inline RDMA write into the sender's mailbox when half a window is owed and nothing
 * flows. That write needs no credit itself: two peers with full windows can always free each other.
 *
 * Invariants, a flow: sent - taken <= window; consumed - returned <= the window that the peer has.
 */
#ifndef RBUF_CORE_CREDIT_H
#define RBUF_CORE_CREDIT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/wire.h"

struct rbuf_peer;

/* One flow of a peer. All counts wrap. */
struct rbuf_credit {
    uint32_t sent;     /* messages posted to the peer */
    uint32_t taken;    /* of those, known to be off its queue or out of their slot */
    uint32_t window;   /* places that the peer keeps for us; 0: none of this flow */
    uint32_t consumed; /* messages of the peer that we took off */
    uint32_t returned; /* value of `consumed` that the peer was told last */
};

/* Messages that may be sent at once, by what is known without looking at the mailbox. */
static inline uint32_t rbuf_credit_left(const struct rbuf_credit *credit)
{
    assert(credit->sent - credit->taken <= credit->window);
    return credit->window - (credit->sent - credit->taken);
}

/* For who has none left by that: looks at the mailbox. */
bool rbuf_credit_look(struct rbuf_peer *peer, enum rbuf_flow flow);

/* The counts for a header of ours, and, once that is posted, that the peer knows them. */
static inline void rbuf_credit_tell(const struct rbuf_credit credit[RBUF_FLOWS],
                                    uint16_t count[RBUF_FLOWS])
{
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        count[flow] = (uint16_t) credit[flow].consumed;
    }
}

static inline void rbuf_credit_told(struct rbuf_credit credit[RBUF_FLOWS])
{
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        credit[flow].returned = credit[flow].consumed;
    }
}

/* Believes the counts in a header of the peer, as far as they can be true. */
static inline void rbuf_credit_heard(struct rbuf_credit credit[RBUF_FLOWS],
                                     const uint16_t count[RBUF_FLOWS])
{
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        uint16_t newer = (uint16_t) (count[flow] - (uint16_t) credit[flow].taken);

        /* Older than what the mailbox said, or nonsense, if it is ahead of what was sent. */
        if (newer <= credit[flow].sent - credit[flow].taken) {
            credit[flow].taken += newer;
        }
    }
}

/* A message of the peer was taken off: owes it a credit. */
void rbuf_credit_consumed(struct rbuf_peer *peer, enum rbuf_flow flow);

/* True when so many credits are owed that they do not wait for a message to carry them. */
bool rbuf_credit_owed(const struct rbuf_peer *peer);

/* Writes what is owed to the peer's mailbox; returns the number of writes. */
int rbuf_credit_write(struct rbuf_peer *peer);

#endif
