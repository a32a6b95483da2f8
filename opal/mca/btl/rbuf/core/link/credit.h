/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Credits: how many messages each side may have under way to the other, by flow.
 *
 * A flow is one kind of room at the receiver: the receive buffers of the control channel, those of
 * the bulk channel, and the slots of an eager ring. A message takes one place. In a ring a long
 * message takes several slots, and counts as so many messages.
 *
 * The sender counts what it sent, and what of that the receiver has taken off. The receiver counts
 * what it took off, and what of that it has advertised. Counts are cumulative, so that a late,
 * repeated or lost one does no harm. They travel
 *
 * - in the header of each message of the control channel and of the ring, for all flows;
 * - by an RDMA write into the sender's mailbox, when half a window is owed and no message goes
 *   there. That write needs no credit: two peers with full windows can always free each other.
 *
 * A header has the low 16 bits of a count. They tell the whole count only if the header is less
 * than 2^16 messages older than what is known already. So
 *
 * - headers of the bulk channel are not read: they may be late by any number of messages;
 * - the mailbox, which has all 64 bits, is believed only up to RBUF_CREDIT_FAR messages beyond the
 *   headers that have certainly been received. A process that sends on and on, and does not poll,
 *   has old headers waiting: with an unbounded count from the mailbox they would be taken for new.
 *
 * A header's counts are kept (8 bytes), and read when credits run out.
 *
 * Invariants, a flow: sent - taken <= window; consumed - advertised <= the window that the peer
 * has; windows are less than 2^15.
 */
#ifndef RBUF_CORE_CREDIT_H
#define RBUF_CORE_CREDIT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/state/state.h"

/* By so many messages the mailbox may be ahead of headers that have arrived and are not read yet;
 * a window more is still less than 2^16. */
#define RBUF_CREDIT_FAR (1u << 14)

/* Messages that may be sent at once, by what is known without looking any further. */
static inline uint32_t rbuf_credit_left(const struct rbuf_credit *credit)
{
    assert(credit->sent - credit->taken <= credit->window);
    return credit->window - (uint32_t) (credit->sent - credit->taken);
}

/* For who has none left by that: looks at what was received last, and at the mailbox. */
bool rbuf_credit_look(struct rbuf_peer *peer, enum rbuf_flow flow);

/* True if so many messages of the flow may be sent. */
bool rbuf_credit_has(struct rbuf_peer *peer, enum rbuf_flow flow, uint32_t messages);

/* True if one may be sent. */
static inline bool rbuf_credit_available(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    const struct rbuf_credit *credit = &peer->link.credit[flow];

    return credit->sent - credit->taken < credit->window || rbuf_credit_look(peer, flow);
}

/* So many messages of the flow were posted. */
static inline void rbuf_credit_use(struct rbuf_peer *peer, enum rbuf_flow flow, uint32_t messages)
{
    peer->link.credit[flow].sent += messages;
}

/* Messages of the control channel or the ring that are under way, as far as the newest header of
 * the peer tells. */
static inline uint16_t rbuf_credit_under_way(const struct rbuf_peer *peer, enum rbuf_flow flow)
{
    const struct rbuf_credit_counts *counts = &peer->link.counts;
    const struct rbuf_credit *credit = &peer->link.credit[flow];
    const uint16_t taken = counts->last_received[RBUF_COUNTED] != RBUF_COUNTED_NOT
                               ? counts->last_received[flow]
                               : (uint16_t) credit->taken;

    return (uint16_t) (credit->sent - taken);
}

/* The places that the peer keeps for our messages of the flow. */
static inline uint32_t rbuf_credit_window(const struct rbuf_peer *peer, enum rbuf_flow flow)
{
    return peer->link.credit[flow].window;
}

/* The peer has `window` places for the flow, all of them empty. */
static inline void rbuf_credit_restart(struct rbuf_peer *peer, enum rbuf_flow flow, uint32_t window)
{
    struct rbuf_credit *credit = &peer->link.credit[flow];

    credit->window = window;
    credit->taken = credit->sent;
}

/* The counts for a header of ours, and, once that is posted, that the peer knows them. */
static inline void rbuf_credit_advertise(const struct rbuf_peer *peer, uint16_t credit[RBUF_COUNTS])
{
    memcpy(credit, peer->link.counts.mine, sizeof(peer->link.counts.mine));
}

static inline void rbuf_credit_advertised(struct rbuf_peer *peer)
{
    struct rbuf_credit_counts *counts = &peer->link.counts;

    memcpy(counts->advertised, counts->mine, sizeof(counts->advertised));
}

/* Keeps the counts of a header of the peer; headers come in the order in which they were sent. */
static inline void rbuf_credit_received(struct rbuf_peer *peer, const uint16_t credit[RBUF_COUNTS])
{
    memcpy(peer->link.counts.last_received, credit, sizeof(peer->link.counts.last_received));
}

/* Takes up what the newest header said of the order of our words there (core/link/words.h). */
void rbuf_credit_learn_order(struct rbuf_peer *peer);

/* For a peer whose counts are zero: it gets the windows of core's options. */
void rbuf_credit_open(struct rbuf_peer *peer);

/* The peer keeps `window` places of the flow for us, and may have `granted` messages under way to
 * us; 0: as core's options say. */
void rbuf_credit_connected(struct rbuf_peer *peer, enum rbuf_flow flow, uint16_t window,
                           uint16_t granted);

/* True if the peer is owed so many credits of the flow that they are written to its mailbox. */
static inline bool rbuf_credit_is_due(const struct rbuf_credit *credit,
                                      const struct rbuf_credit_counts *counts, int flow)
{
    return (uint16_t) (counts->mine[flow] - counts->advertised[flow]) >= credit[flow].due;
}

/* The same of any flow. */
bool rbuf_credit_owed(const struct rbuf_peer *peer);

/* Writes what is due to the peer's mailbox; returns the number of writes. */
int rbuf_credit_write(struct rbuf_peer *peer);

/* A message of the peer was taken off, and it is owed a credit. */
static inline void rbuf_credit_consumed(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    peer->link.credit[flow].consumed++;
    peer->link.counts.mine[flow]++;
    if (rbuf_credit_is_due(peer->link.credit, &peer->link.counts, flow)) {
        rbuf_peer_wake(peer);
    }
}

#endif
