/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/rendezvous (tests/inspect/rendezvous.h): windows, early data, puts and
 * grants. Who may write into staging, and what must always hold, are in rendezvous_staging.c.
 */
#include "inspect/rendezvous.h"

#include "core/rendezvous/early.h"
#include "core/rendezvous/sender.h"

/* ---- windows for early data that peers have of ours ---- */

bool inspect_has_window(const struct rbuf_peer *peer)
{
    return peer->rendezvous.early_in != NULL;
}

bool inspect_may_use_window(const struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;

    return in != NULL && in->state == RBUF_EARLY_IN_LEASED;
}

uint32_t inspect_windows_out(const struct rbuf_core *core)
{
    return core->rendezvous.windows.out;
}

uint32_t inspect_slot_seq(const struct rbuf_peer *peer, uint32_t slot)
{
    return peer->rendezvous.early_in->slot[slot].seq;
}

bool inspect_has_unclaimed(const struct rbuf_peer *peer)
{
    return rbuf_early_in_unclaimed(peer->rendezvous.early_in);
}

bool inspect_holds_early(const struct rbuf_peer *peer, uint32_t seq)
{
    return rbuf_early_in_find(peer->rendezvous.early_in, seq) != NULL;
}

uint32_t inspect_slots_held(const struct rbuf_peer *peer)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;
    uint32_t held = 0;

    for (uint32_t i = 0; in != NULL && i < RBUF_EARLY_SLOTS; i++) {
        held += in->slot[i].state != RBUF_EARLY_SLOT_FREE;
    }
    return held;
}

uint32_t inspect_early_immediate(const struct rbuf_peer *peer, uint32_t seq)
{
    return rbuf_immediate_of_early(peer->rendezvous.early_in->immediate, seq);
}

/* ---- windows that peers have leased us ---- */

uint32_t inspect_newest_early(const struct rbuf_peer *peer)
{
    const struct rbuf_early_out *out = peer->rendezvous.early_out;
    const struct rbuf_early_data *newest = &out->slot[0];

    for (uint32_t i = 1; i < RBUF_EARLY_SLOTS; i++) {
        if (out->slot[i].rts > newest->rts) {
            newest = &out->slot[i];
        }
    }
    return newest->rts == out->rts ? newest->seq : 0;
}

bool inspect_writes_early(const struct rbuf_peer *peer)
{
    const struct rbuf_early_out *out = peer->rendezvous.early_out;

    return out != NULL && out->writing > 0;
}

bool inspect_gave_window_back(const struct rbuf_peer *peer)
{
    const struct rbuf_early_out *out = peer->rendezvous.early_out;

    return out != NULL && out->state == RBUF_EARLY_OUT_RETURNED;
}

bool inspect_early_under_way(const struct rbuf_peer *peer)
{
    const struct rbuf_early_out *out = peer->rendezvous.early_out;

    if (out == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        if (out->slot[i].state == RBUF_EARLY_WRITING || out->slot[i].state == RBUF_EARLY_WRITTEN ||
            out->slot[i].in_flight != 0) {
            return true;
        }
    }
    return out->writing != 0 || out->in_flight != 0 || out->state == RBUF_EARLY_OUT_RETURNING;
}

bool inspect_slot_leaked(const struct rbuf_peer *receiver, const struct rbuf_peer *sender)
{
    const struct rbuf_early_in *in = receiver->rendezvous.early_in;
    const struct rbuf_early_out *out = sender->rendezvous.early_out;

    for (uint32_t i = 0; in != NULL && i < RBUF_EARLY_SLOTS; i++) {
        if (in->slot[i].state != RBUF_EARLY_SLOT_FREE && out->slot[i].state != RBUF_EARLY_DROPPED) {
            return true;
        }
    }
    return false;
}

/* ---- puts ---- */

uint32_t inspect_puts_begun(const struct rbuf_peer *peer)
{
    const struct rbuf_put *put;
    uint32_t begun = 0;

    TAILQ_FOREACH(put, &peer->rendezvous.puts, link)
    {
        begun++;
    }
    return begun;
}

const struct rbuf_put *inspect_ungranted(const struct rbuf_peer *peer, unsigned which)
{
    const struct rbuf_put *put = TAILQ_FIRST(&peer->rendezvous.ungranted);

    for (; put != NULL && which > 0; which--) {
        put = TAILQ_NEXT(put, link);
    }
    return put;
}

bool inspect_is_ungranted(const struct rbuf_put *put)
{
    return put->state == RBUF_PUT_UNGRANTED;
}

uint32_t inspect_early_of_put(const struct rbuf_put *put)
{
    return put->early_seq;
}

uint32_t inspect_unexpected_rtrs(const struct rbuf_peer *peer)
{
    return peer->rendezvous.unexpected_count;
}

/* ---- grants ---- */

uint64_t inspect_direct_bytes(const struct rbuf_core *core)
{
    return core->rendezvous.direct_bytes;
}

unsigned inspect_words_taken(const struct rbuf_peer *peer)
{
    return (unsigned) __builtin_popcountll(peer->rendezvous.slots_taken);
}

bool inspect_was_named(const struct rbuf_grant *grant)
{
    return grant->early == RBUF_GRANT_EARLY_NAMED;
}

uint64_t inspect_chunks_announced(const struct rbuf_grant *grant)
{
    return grant->chunks_arrived;
}

uint64_t inspect_announced(const struct rbuf_core *core, uint32_t immediate)
{
    const struct rbuf_peer *holder =
        core->rendezvous.windows.holder[immediate % (1u << RBUF_IMMEDIATE_WINDOW_BITS)];
    const struct rbuf_grant *grant;
    uint64_t count = 0;

    if (holder != NULL) {
        const struct rbuf_early_arrivals *arrivals =
            &holder->rendezvous.early_in
                 ->arrivals[(immediate >> RBUF_IMMEDIATE_INDEX_BITS) % RBUF_EARLY_SLOTS];

        count += arrivals->immediate == immediate ? arrivals->chunks : 0;
    }
    TAILQ_FOREACH(grant, &core->rendezvous.receiving, link)
    {
        count += grant->chunks_arrived;
    }
    return count;
}

/* The block that the grant takes next: of a slot, or of a lane. */
static uint32_t next_block(const struct rbuf_grant *grant)
{
    const uint32_t buffer = (uint32_t) (grant->chunk.index % grant->schedule.buffers);

    if (grant->part == RBUF_GRANT_PART_EARLY && rbuf_grant_early_is_there(grant)) {
        return rbuf_early_in_block(grant->peer, grant->early_seq) +
               (uint32_t) grant->chunk.first_block + grant->block;
    }
    return grant->lane_first + buffer * grant->stride_blocks + grant->block;
}

unsigned char *inspect_block_of(const struct rbuf_grant *grant, uint32_t ahead)
{
    return rbuf_arena_block(&grant->peer->core->receive_arena, next_block(grant) + ahead);
}

uint64_t inspect_flag_of(const struct rbuf_grant *grant)
{
    return grant->flag;
}

/* ---- states that peers and programs do not bring about, or not soon enough ---- */

bool inspect_begin_filled(struct rbuf_peer *peer, struct rbuf_put *put,
                          struct rbuf_tx_chunk *filled)
{
    if (!rbuf_put_begin(peer, put, &rbuf_put_to_lane)) {
        return false;
    }
    put->rest = put->source;
    put->rest_bytes = put->offer.bytes;
    rbuf_schedule_first(&put->offer.schedule, put->rest_bytes, &put->next);
    put->filling = filled;
    put->state = RBUF_PUT_FILLED;
    rbuf_sender_begin(peer, put);
    return true;
}

void inspect_number_windows(struct rbuf_peer *peer, uint32_t seq)
{
    peer->rendezvous.early_seq = seq;
}

void inspect_drop_uses(struct rbuf_peer *peer, uint32_t slot, uint32_t uses)
{
    struct rbuf_early_data *data = &peer->rendezvous.early_out->slot[slot];

    data->seq += uses * RBUF_EARLY_SLOTS;
    data->state = RBUF_EARLY_DROPPED;
}

uint32_t inspect_age_grants(struct rbuf_core *core)
{
    for (uint32_t i = 0; i < core->rendezvous.grant_count; i++) {
        core->rendezvous.grants[i]->generation = UINT32_MAX - 1;
    }
    return core->rendezvous.grant_count;
}
