/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The receiver's half of early data (core/rendezvous/early.h): what stands in a window's slots, and
 * what the peer is told of them. Windows are leased and taken back in core/rendezvous/lease.c.
 */
#include "core/rendezvous/early.h"

#include "core/rendezvous/lease.h"
#include "core/state/state.h"
#include "core/link/credit.h"
#include "core/link/words.h"

#define REPORT_DUE 2u         /* releases that are reported together */
#define STALE_USES (1u << 14) /* of a slot, after which the report is sent again */

static void become(const struct rbuf_peer *peer, struct rbuf_early_slot *slot,
                   enum rbuf_early_slot_state state)
{
    static const char *const names[] = {RBUF_EARLY_SLOT_STATES(RBUF_STATE_NAME)};

    rbuf_trace("slot", peer->index, slot->seq, names[slot->state], names[state]);
    slot->state = state;
}

/* ---- the window comes back ---- */

void rbuf_early_in_returned(struct rbuf_peer *peer)
{
    struct rbuf_early_in *in = peer->rendezvous.early_in;

    if (in == NULL || in->state != RBUF_EARLY_IN_RECALLED) {
        peer->core->stats.messages_refused++;
        return;
    }
    in->state = RBUF_EARLY_IN_RETURNED;
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) { /* whose data the peer has dropped */
        if (in->slot[i].state == RBUF_EARLY_SLOT_UNCLAIMED) {
            become(peer, &in->slot[i], RBUF_EARLY_SLOT_FREE);
        }
    }
    in->unclaimed = 0;
    rbuf_lease_free_if_unused(peer);
}

/* ---- arrivals ---- */

/* Of the chunks that `immediate` announces; those of an earlier use of the slot are forgotten. */
static struct rbuf_early_arrivals *arrivals_of(struct rbuf_early_in *in, uint32_t immediate)
{
    const uint32_t seq = immediate >> RBUF_IMMEDIATE_INDEX_BITS;
    struct rbuf_early_arrivals *arrivals = &in->arrivals[seq % RBUF_EARLY_SLOTS];

    if (arrivals->immediate != immediate) {
        *arrivals = (struct rbuf_early_arrivals){.immediate = immediate};
    }
    return arrivals;
}

void rbuf_early_in_immediate(struct rbuf_core *core, uint32_t immediate)
{
    const uint32_t of_window = immediate & ((1u << RBUF_IMMEDIATE_INDEX_BITS) - 1);
    const uint32_t number = immediate & ((1u << RBUF_IMMEDIATE_WINDOW_BITS) - 1);
    struct rbuf_peer *peer = core->rendezvous.windows.holder[number];

    if (peer == NULL || peer->rendezvous.early_in->immediate != of_window) {
        core->stats.messages_refused++;
        return;
    }
    arrivals_of(peer->rendezvous.early_in, immediate)->chunks++;
    rbuf_credit_consumed(peer, RBUF_FLOW_BULK);
}

uint32_t rbuf_early_in_arrived(const struct rbuf_peer *peer, uint32_t seq)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;
    const struct rbuf_early_arrivals *arrivals = &in->arrivals[seq % RBUF_EARLY_SLOTS];

    return arrivals->immediate == rbuf_immediate_of_early(in->immediate, seq) ? arrivals->chunks
                                                                              : 0;
}

/* ---- slots ---- */

/* Enough releases are due together, or the sender has no slot at all, and what holds the rest waits
 * for receives: no other release may come. */
bool rbuf_early_in_owed(const struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;

    return in != NULL && in->state == RBUF_EARLY_IN_LEASED && in->unreported > 0 &&
           (in->unreported >= REPORT_DUE || in->unreported + in->unclaimed >= RBUF_EARLY_SLOTS);
}

static void report_if_owed(struct rbuf_peer *peer)
{
    if (rbuf_early_in_owed(peer)) {
        rbuf_peer_wake(peer);
    }
}

/* A use that the sender dropped is over, too. No report is needed, as it knows, but what stands in
 * its mailbox must not fall behind by as many uses as the bits there count. */
static void keep_report_new(struct rbuf_peer *peer, const struct rbuf_early_slot *slot,
                            uint32_t seq)
{
    struct rbuf_early_in *in = peer->rendezvous.early_in;

    if (slot->state != RBUF_EARLY_SLOT_FREE) {
        in->released = rbuf_early_report(in->released, slot->seq);
    }
    if (seq / RBUF_EARLY_SLOTS % STALE_USES == 0) {
        in->unreported += REPORT_DUE;
    }
}

/* The slot gets another use, whatever became of the last one: the sender knows that nobody will ask
 * for that. A grant that claimed it wrongly does not find it any more, and is corrected. */
static bool fill_slot(struct rbuf_peer *peer, uint32_t seq, uint32_t bytes)
{
    struct rbuf_early_in *in = peer->rendezvous.early_in;
    struct rbuf_early_slot *slot = &in->slot[seq % RBUF_EARLY_SLOTS];
    const uint64_t most = (uint64_t) in->slot_blocks * rbuf_block_payload(&in->schedule);

    if (seq != slot->seq + RBUF_EARLY_SLOTS || bytes > most) {
        return false;
    }
    in->unclaimed += bytes > 0;
    in->unclaimed -= slot->state == RBUF_EARLY_SLOT_UNCLAIMED;
    keep_report_new(peer, slot, seq);
    *slot = (struct rbuf_early_slot){.state = RBUF_EARLY_SLOT_FREE, .seq = seq, .bytes = bytes};
    /* Of packed data the fragments say what they are. */
    become(peer, slot, bytes > 0 ? RBUF_EARLY_SLOT_UNCLAIMED : RBUF_EARLY_SLOT_CLAIMED);
    (void) arrivals_of(in, rbuf_immediate_of_early(in->immediate, seq));
    report_if_owed(peer);
    return true;
}

bool rbuf_early_in_rts(struct rbuf_peer *peer, uint64_t argument)
{
    struct rbuf_early_in *in = peer->rendezvous.early_in;

    peer->core->stats.rts_received++;
    if (in == NULL) {
        rbuf_lease_want(peer);
        return argument == 0;
    }
    in->last_rts = peer->core->stats.rts_received;
    if (argument == 0) {
        return true;
    }
    if (in->state == RBUF_EARLY_IN_RETURNED ||
        !fill_slot(peer, rbuf_rts_seq(argument), rbuf_rts_bytes(argument))) {
        return false;
    }
    if (rbuf_rts_seq(argument) >= RBUF_LEASE_RETIRED_SEQ && in->state == RBUF_EARLY_IN_LEASED) {
        rbuf_lease_ask_back(peer);
    }
    return true;
}

void rbuf_early_in_claim(struct rbuf_peer *peer, struct rbuf_early_slot *slot)
{
    peer->rendezvous.early_in->unclaimed -= slot->state == RBUF_EARLY_SLOT_UNCLAIMED;
    become(peer, slot, RBUF_EARLY_SLOT_CLAIMED);
    slot->claims++;
}

void rbuf_early_in_unclaim(struct rbuf_peer *peer, uint32_t seq)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->rendezvous.early_in, seq);

    if (slot == NULL || slot->claims == 0 || --slot->claims > 0) {
        return;
    }
    /* The peer has dropped them. */
    if (peer->rendezvous.early_in->state == RBUF_EARLY_IN_RETURNED) {
        become(peer, slot, RBUF_EARLY_SLOT_FREE);
        rbuf_lease_free_if_unused(peer);
        return;
    }
    become(peer, slot, RBUF_EARLY_SLOT_UNCLAIMED);
    peer->rendezvous.early_in->unclaimed++;
    report_if_owed(peer);
}

void rbuf_early_in_release(struct rbuf_peer *peer, uint32_t seq)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->rendezvous.early_in, seq);
    struct rbuf_early_in *in = peer->rendezvous.early_in;

    if (slot == NULL) {
        return;
    }
    in->unclaimed -= slot->state == RBUF_EARLY_SLOT_UNCLAIMED;
    become(peer, slot, RBUF_EARLY_SLOT_FREE);
    in->released = rbuf_early_report(in->released, seq);
    in->unreported++;
    report_if_owed(peer);
    rbuf_lease_free_if_unused(peer);
}

int rbuf_early_in_report(struct rbuf_peer *peer)
{
    struct rbuf_early_in *in = peer->rendezvous.early_in;

    if (!rbuf_early_in_owed(peer) || !rbuf_words_write(peer, RBUF_WORD_EARLY, in->released)) {
        return 0;
    }
    in->unreported = 0;
    return 1;
}

/* ---- fragments ---- */

/* The slot of packed data of which more may come; NULL: there is none. */
static struct rbuf_early_slot *find_packed(struct rbuf_early_in *in, uint32_t seq)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(in, seq);

    return slot != NULL && slot->bytes == 0 && slot->state == RBUF_EARLY_SLOT_CLAIMED ? slot : NULL;
}

bool rbuf_early_in_fragment(struct rbuf_peer *peer, const void *message, uint32_t bytes,
                            uint32_t *block)
{
    const struct rbuf_fragment *fragment = message;
    struct rbuf_early_slot *slot;
    uint32_t payload;

    if (bytes < sizeof(*fragment)) {
        return false;
    }
    slot = find_packed(peer->rendezvous.early_in, fragment->seq);
    if (slot == NULL || fragment->blocks > RBUF_FRAGMENT_BLOCKS ||
        (uint32_t) fragment->first + fragment->blocks > peer->rendezvous.early_in->slot_blocks) {
        return false;
    }
    payload = rbuf_block_payload(&peer->rendezvous.early_in->schedule);
    for (uint32_t i = 0; i < fragment->blocks; i++) {
        if (fragment->bytes[i] == 0 || fragment->bytes[i] > payload) {
            return false;
        }
    }
    if (fragment->last != 0) {
        become(peer, slot, RBUF_EARLY_SLOT_LAST);
    }
    slot->claims++;
    *block = rbuf_early_in_block(peer, fragment->seq) + fragment->first;
    peer->core->stats.early_fragments++;
    return true;
}

void rbuf_early_in_fragment_over(struct rbuf_peer *peer, const struct rbuf_fragment *fragment)
{
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->rendezvous.early_in, fragment->seq);

    if (slot != NULL && slot->claims > 0 && --slot->claims == 0 &&
        slot->state == RBUF_EARLY_SLOT_LAST) {
        rbuf_early_in_release(peer, fragment->seq);
    }
}

bool rbuf_early_in_closed(struct rbuf_peer *peer, uint32_t seq)
{
    struct rbuf_early_slot *slot = find_packed(peer->rendezvous.early_in, seq);

    if (slot == NULL) {
        return false;
    }
    become(peer, slot, RBUF_EARLY_SLOT_LAST);
    if (slot->claims == 0) {
        rbuf_early_in_release(peer, seq);
    }
    return true;
}

/* ---- where they stand ---- */

uint32_t rbuf_early_in_block(const struct rbuf_peer *peer, uint32_t seq)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;

    return in->first + seq % RBUF_EARLY_SLOTS * in->slot_blocks;
}

uint64_t rbuf_early_in_flag(const struct rbuf_peer *peer, uint32_t seq)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;

    return in->flag + (uint64_t) seq * in->slot_blocks;
}
