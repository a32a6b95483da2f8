/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receive staging and what must always hold of it, by the account of core/rendezvous
 * (tests/inspect/rendezvous.h): whose the blocks are, which may be written, and whether grants,
 * lanes, windows, RTRs and what is counted of them agree.
 */
#include "inspect/rendezvous.h"

#include "core/rendezvous/early.h"

/* ---- who may write ---- */

/* The grant has taken up early data, its own for sure. */
static bool surely_has_early(const struct rbuf_grant *grant, bool claims_are_right)
{
    return grant->early == RBUF_GRANT_EARLY_NAMED ||
           (grant->early == RBUF_GRANT_EARLY_CLAIMED && claims_are_right);
}

/* The blocks of the slot from `first` on are none that the grant has copied out. */
static bool behind_taken(const struct rbuf_grant *grant, const struct rbuf_early_slot *slot,
                         uint64_t first, bool claims_are_right)
{
    if (!surely_has_early(grant, claims_are_right) || grant->early_seq != slot->seq) {
        return true;
    }
    return grant->part == RBUF_GRANT_PART_EARLY && first >= grant->chunk.first_block + grant->block;
}

/* A write into a window: of one slot, and nothing that was taken of its use. */
static bool slot_is_free(const struct rbuf_peer *peer, uint32_t first, uint32_t last,
                         bool claims_are_right)
{
    const struct rbuf_early_in *in = peer->rendezvous.early_in;
    const uint32_t number = (first - in->first) / in->slot_blocks;
    const struct rbuf_early_slot *slot = &in->slot[number];
    const struct rbuf_grant *grant;

    if ((last - in->first) / in->slot_blocks != number) {
        return false;
    }
    if (slot->state == RBUF_EARLY_SLOT_FREE) { /* of the next use */
        return true;
    }
    TAILQ_FOREACH(grant, &peer->core->rendezvous.receiving, link)
    {
        if (grant->peer == peer &&
            !behind_taken(grant, slot, (first - in->first) % in->slot_blocks, claims_are_right)) {
            return false;
        }
    }
    return slot->state != RBUF_EARLY_SLOT_LAST;
}

/* The peer in whose window the blocks are; NULL: in none. */
static const struct rbuf_peer *window_of(const struct rbuf_core *core, uint32_t first,
                                         uint32_t last)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct rbuf_early_in *in =
            core->peers[i] != NULL ? core->peers[i]->rendezvous.early_in : NULL;

        if (in != NULL && first >= in->first &&
            last < in->first + in->slot_blocks * RBUF_EARLY_SLOTS) {
            return core->peers[i];
        }
    }
    return NULL;
}

/* The lane's buffer is that of one of the next N chunks that the receiver takes, and not of one
 * that has arrived. */
static bool buffer_is_free(const struct rbuf_grant *grant, uint32_t buffer)
{
    const uint64_t buffers = grant->schedule.buffers;
    const bool begun = grant->part == RBUF_GRANT_PART_LANE;
    const uint64_t next = begun ? grant->chunk.index : 0;

    for (uint64_t chunk = next; chunk < next + buffers; chunk++) {
        if (chunk % buffers == buffer && (!begun || chunk != next || grant->block == 0)) {
            return true;
        }
    }
    return false;
}

static bool lane_is_free(const struct rbuf_core *core, uint32_t first, uint32_t last)
{
    const struct rbuf_grant *grant;

    TAILQ_FOREACH(grant, &core->rendezvous.receiving, link)
    {
        if (first >= grant->lane_first && last < grant->lane_first + grant->lane_blocks) {
            const uint32_t buffer = (first - grant->lane_first) / grant->stride_blocks;

            return (last - grant->lane_first) / grant->stride_blocks == buffer &&
                   buffer_is_free(grant, buffer);
        }
    }
    return false;
}

bool inspect_may_be_written(const struct rbuf_core *core, uint32_t first, uint32_t last,
                            bool claims_are_right)
{
    const struct rbuf_peer *peer = window_of(core, first, last);

    return peer != NULL ? slot_is_free(peer, first, last, claims_are_right)
                        : lane_is_free(core, first, last);
}

/* ---- whose it is ---- */

/* The memory has bytes of these blocks. */
static bool overlaps(const struct rbuf_arena *arena, uint32_t block, uint32_t blocks,
                     uint64_t address, uint32_t bytes)
{
    const uint64_t first = (uintptr_t) rbuf_arena_block(arena, block);

    return address < first + (uint64_t) blocks * arena->block_bytes && address + bytes > first;
}

bool inspect_is_of_others(const struct rbuf_core *core, const struct rbuf_peer *peer,
                          uint64_t address, uint32_t bytes)
{
    const struct rbuf_arena *arena = &core->receive_arena;
    const struct rbuf_grant *grant;

    TAILQ_FOREACH(grant, &core->rendezvous.receiving, link)
    {
        if (grant->peer != peer &&
            overlaps(arena, grant->lane_first, grant->lane_blocks, address, bytes)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct rbuf_peer *other = core->peers[i];
        const struct rbuf_early_in *in = other != NULL ? other->rendezvous.early_in : NULL;

        if (in != NULL && other != peer &&
            overlaps(arena, in->first, in->slot_blocks * RBUF_EARLY_SLOTS, address, bytes)) {
            return true;
        }
    }
    return false;
}

/* ---- invariants ---- */

/* The chunk that the grant takes fits its buffer, or its slot. */
static bool chunk_fits(const struct rbuf_grant *grant)
{
    const struct rbuf_chunk *chunk = &grant->chunk;

    if (grant->block >= chunk->blocks) {
        return false;
    }
    if (grant->part == RBUF_GRANT_PART_LANE) {
        return chunk->blocks <= grant->stride_blocks;
    }
    return !rbuf_grant_early_is_there(grant) ||
           chunk->first_block + chunk->blocks <= grant->peer->rendezvous.early_in->slot_blocks;
}

static const char *grants_fault(const struct rbuf_core *core)
{
    const struct rbuf_grant *grant;

    TAILQ_FOREACH(grant, &core->rendezvous.receiving, link)
    {
        if (grant->state != RBUF_GRANT_STAGED) {
            return "what is polled is staged";
        }
        if (grant->to < grant->base || grant->to > grant->base + grant->bytes) {
            return "copying stays inside of the grant";
        }
        if (!chunk_fits(grant)) {
            return "a chunk fits its buffer";
        }
        if (grant->lane_first + grant->lane_blocks > core->receive_arena.blocks) {
            return "a lane lies in the arena";
        }
    }
    TAILQ_FOREACH(grant, &core->rendezvous.deferred, link)
    {
        if (grant->state != RBUF_GRANT_DEFERRED) {
            return "what waits is deferred";
        }
    }
    return NULL;
}

static const char *words_fault(const struct rbuf_peer *peer)
{
    const struct rbuf_grant *grant;
    uint64_t words = 0;

    TAILQ_FOREACH(grant, &peer->core->rendezvous.receiving, link)
    {
        if (grant->peer == peer && grant->slot < RBUF_ACK_SLOTS) {
            if ((words >> grant->slot & 1) != 0) {
                return "a word serves one grant at a time";
            }
            words |= 1ull << grant->slot;
        }
    }
    return words == peer->rendezvous.slots_taken ? NULL
                                                 : "words are taken by grants that are staged";
}

/* What is counted of a window and its slots is what there is. */
static const char *window_fault(const struct rbuf_peer *peer)
{
    const struct rbuf_core *core = peer->core;
    const struct rbuf_early_in *in = peer->rendezvous.early_in;
    uint32_t unclaimed = 0;

    if (in == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < RBUF_EARLY_SLOTS; i++) {
        unclaimed += in->slot[i].state == RBUF_EARLY_SLOT_UNCLAIMED;
        if (in->slot[i].seq % RBUF_EARLY_SLOTS != i) {
            return "a slot has its own numbers";
        }
    }
    if (unclaimed != in->unclaimed) {
        return "what is unclaimed is counted right";
    }
    if (core->rendezvous.windows.holder[in->number] != peer) {
        return "a window knows its holder";
    }
    return in->first + in->slot_blocks * RBUF_EARLY_SLOTS <= core->receive_arena.blocks
               ? NULL
               : "a window lies in the arena";
}

/* Chunks of early data that are under way are counted right, whichever window they went to. */
static const char *early_out_fault(const struct rbuf_peer *peer)
{
    const struct rbuf_early_out *out = peer->rendezvous.early_out;
    uint64_t in_flight = 0;

    for (uint32_t i = 0; out != NULL && i < RBUF_EARLY_SLOTS; i++) {
        in_flight += out->slot[i].in_flight;
    }
    return out == NULL || (in_flight == out->in_flight && in_flight <= peer->in_flight)
               ? NULL
               : "chunks of early data are counted right";
}

static const char *peer_fault(const struct rbuf_peer *peer)
{
    const char *fault = words_fault(peer);

    fault = fault != NULL ? fault : window_fault(peer);
    if (fault == NULL && (peer->rendezvous.unexpected_count == 0) !=
                             SLIST_EMPTY(&peer->rendezvous.unexpected_rtrs)) {
        fault = "RTRs that are kept are counted right";
    }
    return fault != NULL ? fault : early_out_fault(peer);
}

const char *inspect_rendezvous_fault(const struct rbuf_core *core)
{
    const char *fault = grants_fault(core);
    uint32_t windows = 0;

    for (uint32_t i = 0; fault == NULL && i < core->peer_count; i++) {
        if (core->peers[i] != NULL) {
            windows += core->peers[i]->rendezvous.early_in != NULL;
            fault = peer_fault(core->peers[i]);
        }
    }
    return fault != NULL || windows == core->rendezvous.windows.out
               ? fault
               : "windows that are out are counted right";
}
