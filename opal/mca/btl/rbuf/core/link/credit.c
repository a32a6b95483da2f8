/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Credits (core/link/credit.h): which counts of peers are taken, and when ours are advertised.
 */
#include "core/link/credit.h"

#include "core/state/state.h"
#include "core/link/words.h"

#define SWEEPS 3u

/* The peer may have `window` messages under way to us. */
static void grant(struct rbuf_credit *credit, uint16_t window)
{
    credit->due = window < 2 ? 1 : window / 2;
}

void rbuf_credit_open(struct rbuf_peer *peer)
{
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        grant(&peer->link.credit[flow], peer->core->options.window[flow]);
    }
}

void rbuf_credit_connected(struct rbuf_peer *peer, enum rbuf_flow flow, uint16_t window,
                           uint16_t granted)
{
    peer->link.credit[flow].window = window;
    if (granted != 0) {
        grant(&peer->link.credit[flow], granted);
    }
}

void rbuf_credit_learn_order(struct rbuf_peer *peer)
{
    const uint16_t counted = peer->link.counts.last_received[RBUF_COUNTED];

    if (counted != RBUF_COUNTED_NOT) {
        peer->link.words.order =
            counted == RBUF_COUNTED_IN_ORDER ? RBUF_WORDS_IN_ORDER : RBUF_WORDS_ONE_BY_ONE;
    }
}

/* Takes the counts of the newest header, as far as they can be true. */
static void read_header(struct rbuf_peer *peer)
{
    struct rbuf_credit_counts *counts = &peer->link.counts;

    if (counts->last_received[RBUF_COUNTED] == RBUF_COUNTED_NOT) {
        return;
    }
    rbuf_credit_learn_order(peer);
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        struct rbuf_credit *credit = &peer->link.credit[flow];
        uint16_t newer = (uint16_t) (counts->last_received[flow] - (uint16_t) credit->taken);

        /* Older than the mailbox, or not valid: ahead of what was sent. */
        if (newer <= credit->sent - credit->taken) {
            credit->taken += newer;
        }
    }
    counts->last_received[RBUF_COUNTED] = RBUF_COUNTED_NOT;
}

/*
 * Raises the limit up to which the mailbox is believed. A header that had arrived before the last
 * look is certain to be read after three sweeps (rbuf_core_swept()): the first one may have begun
 * before that look, the second one empties the completion queues, and the third one comes to
 * messages of a ring that waited for one of those.
 */
static void reach_out(struct rbuf_peer *peer)
{
    struct rbuf_credit_reach *reach = &peer->link.reach;

    if (peer->core->sweeps - reach->sweep < SWEEPS) {
        return;
    }
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        reach->past[flow] = reach->next[flow];
        reach->next[flow] = peer->link.credit[flow].taken;
    }
    reach->sweep = peer->core->sweeps;
}

/*
 * The peer's count of what it took off, from the mailbox. The acquire pairs with the adapter
 * placing the peer's word: what the peer's software did before (reposting the buffer, freeing the
 * slot) is done.
 */
static void read_mailbox(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    struct rbuf_credit *credit = &peer->link.credit[flow];
    uint64_t taken = atomic_load_explicit(&peer->mailbox->credit[flow], memory_order_acquire);
    uint64_t most = peer->link.reach.past[flow] + RBUF_CREDIT_FAR;

    if (taken - credit->taken > credit->sent - credit->taken) {
        return; /* old, or not valid */
    }
    if (taken <= most) {
        credit->taken = taken;
    } else if (credit->taken < most) {
        credit->taken = most;
    }
}

bool rbuf_credit_look(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    reach_out(peer);
    read_header(peer);
    read_mailbox(peer, flow);
    return rbuf_credit_left(&peer->link.credit[flow]) > 0;
}

bool rbuf_credit_has(struct rbuf_peer *peer, enum rbuf_flow flow, uint32_t messages)
{
    const struct rbuf_credit *credit = &peer->link.credit[flow];

    return rbuf_credit_left(credit) >= messages ||
           (rbuf_credit_look(peer, flow) && rbuf_credit_left(credit) >= messages);
}

bool rbuf_credit_owed(const struct rbuf_peer *peer)
{
    for (int flow = 0; flow < RBUF_FLOWS; flow++) {
        if (rbuf_credit_is_due(peer->link.credit, &peer->link.counts, flow)) {
            return true;
        }
    }
    return false;
}

int rbuf_credit_write(struct rbuf_peer *peer)
{
    int done = 0;

    for (int flow = 0; flow < RBUF_FLOWS && !rbuf_peer_is_lost(peer); flow++) {
        if (rbuf_credit_is_due(peer->link.credit, &peer->link.counts, flow) &&
            rbuf_words_write(peer, RBUF_WORD_CREDIT + (unsigned) flow,
                             peer->link.credit[flow].consumed)) {
            peer->link.counts.advertised[flow] = peer->link.counts.mine[flow];
            peer->core->stats.credits_written++;
            done++;
        }
    }
    return done;
}
