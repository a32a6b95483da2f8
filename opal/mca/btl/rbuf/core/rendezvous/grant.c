/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Grants (core/rendezvous/grant.h): who gets staging and in which order, and what becomes of a
 * grant's early data. What comes into a lane is core/rendezvous/receiver.c's, the table of grants
 * grant_table.c's.
 *
 *     DEFERRED -> STAGED -> PLACED, or DEFERRED -> REGISTERING -> DIRECT; all end as FREE
 *     STAGED -> STAGED or DEFERRED: what it claimed was another message's
 *     REGISTERING -> DEFERRED: the user's buffer could not be registered
 *
 * Invariant: a grant is on the list of its state and on no other; it has a lane only while it is
 * STAGED.
 */
#include "core/rendezvous/grant.h"
#include "core/rendezvous/early.h"

#include <errno.h>
#include <stdlib.h>

#include "core/eager/channel.h"
#include "core/link/words.h"
#include "core/stage/staging.h"

#define STUCK_WAITS 20u
#define NO_SLOT     UINT8_MAX

static void become(struct rbuf_grant *grant, enum rbuf_grant_state state)
{
    static const char *const names[] = {RBUF_GRANT_STATES(RBUF_STATE_NAME)};

    rbuf_trace("grant", grant->peer->index, rbuf_grant_id(grant), names[grant->state],
               names[state]);
    grant->state = state;
}

static bool has_early(const struct rbuf_grant *grant)
{
    return grant->early == RBUF_GRANT_EARLY_CLAIMED || grant->early == RBUF_GRANT_EARLY_NAMED;
}

static void describe(const struct rbuf_grant *grant, enum rbuf_offer_mode mode,
                     struct rbuf_offer *offer)
{
    const struct rbuf_core *core = grant->peer->core;

    *offer = (struct rbuf_offer){.id = rbuf_grant_id(grant),
                                 .base = (uintptr_t) grant->base,
                                 .bytes = grant->bytes,
                                 .schedule = grant->schedule,
                                 .mode = (uint8_t) mode,
                                 .arrival = (uint8_t) rbuf_peer_arrival(grant->peer)};
    if (mode == RBUF_OFFER_STAGED) {
        if (grant->lane_blocks > 0) {
            offer->lane = (uintptr_t) rbuf_arena_block(&core->receive_arena, grant->lane_first);
            offer->rkey = rbuf_arena_extent(&core->receive_arena, grant->lane_first)->rkey;
        }
        offer->flag = grant->lane_flag;
        offer->acks = grant->acks_first;
        offer->stride_blocks = grant->stride_blocks;
        offer->slot = grant->slot != NO_SLOT ? grant->slot : 0;
    }
    offer->ask = grant->early == RBUF_GRANT_EARLY_ASKED;
    offer->early = has_early(grant) ? grant->early_seq : 0;
}

/* An acknowledgement word for a message that needs one; false if all are in use. The peer's counts
 * are made for the first such message; without memory the peer is lost. */
static bool slot_take(struct rbuf_grant *grant)
{
    struct rbuf_peer *peer = grant->peer;

    grant->slot = NO_SLOT;
    if (grant->acks_wanted == 0) {
        return true;
    }
    if (!rbuf_acks_open(peer)) {
        rbuf_peer_break(peer, -ENOMEM);
        return false;
    }
    if (peer->rendezvous.slots_taken == UINT64_MAX) {
        return false;
    }
    grant->slot = (uint8_t) __builtin_ctzll(~peer->rendezvous.slots_taken);
    peer->rendezvous.slots_taken |= 1ull << grant->slot;
    grant->acks_first = rbuf_acks_count(peer, grant->slot);
    return true;
}

static void slot_give(struct rbuf_grant *grant)
{
    if (grant->slot != NO_SLOT) {
        grant->peer->rendezvous.slots_taken &= ~(1ull << grant->slot);
    }
}

/* The early data become the grant's; false: they are not there. */
static bool early_take(struct rbuf_grant *grant, enum rbuf_grant_early how, uint32_t seq)
{
    struct rbuf_peer *peer = grant->peer;
    struct rbuf_early_slot *slot = rbuf_early_in_find(peer->rendezvous.early_in, seq);

    if (slot == NULL || slot->bytes == 0) {
        return false;
    }
    rbuf_early_in_claim(peer, slot);
    grant->early = how;
    grant->early_seq = seq;
    grant->early_bytes = slot->bytes;
    if (slot->bytes < grant->bytes) {
        const struct rbuf_schedule whole = rbuf_peer_schedule(peer, grant->bytes);

        grant->schedule = rbuf_schedule_rest(&peer->rendezvous.early_in->schedule,
                                             peer->rendezvous.early_in->slot_blocks, &whole);
    }
    return true;
}

/* The grant's early data were another message's: they wait for that. */
static void early_leave(struct rbuf_grant *grant)
{
    if (has_early(grant)) {
        rbuf_early_in_unclaim(grant->peer, grant->early_seq);
    }
    grant->early = RBUF_GRANT_EARLY_NONE;
    grant->early_bytes = 0;
    grant->schedule = rbuf_peer_schedule(grant->peer, grant->bytes);
}

void rbuf_grant_early_over(struct rbuf_grant *grant)
{
    if (has_early(grant)) {
        rbuf_early_in_release(grant->peer, grant->early_seq);
    }
}

/* False: they were claimed wrongly, and their slot has got another use, or the window is gone. The
 * peer will say so. */
bool rbuf_grant_early_is_there(const struct rbuf_grant *grant)
{
    return has_early(grant) &&
           rbuf_early_in_find(grant->peer->rendezvous.early_in, grant->early_seq) != NULL;
}

/* Bytes behind the early data. */
static uint64_t rest_of(const struct rbuf_grant *grant)
{
    return grant->bytes > grant->early_bytes ? grant->bytes - grant->early_bytes : 0;
}

uint64_t rbuf_grant_part_bytes(const struct rbuf_grant *grant)
{
    return grant->part == RBUF_GRANT_PART_EARLY ? grant->early_bytes : rest_of(grant);
}

/* If what was claimed has gone nothing is read before EARLY comes. */
void rbuf_grant_begin(struct rbuf_grant *grant, enum rbuf_grant_part part)
{
    const bool early = part == RBUF_GRANT_PART_EARLY && rbuf_grant_early_is_there(grant);

    grant->part = part;
    grant->block = 0;
    grant->flag = early ? rbuf_early_in_flag(grant->peer, grant->early_seq) : grant->lane_flag;
    rbuf_schedule_first(early ? &grant->peer->rendezvous.early_in->schedule : &grant->schedule,
                        rbuf_grant_part_bytes(grant), &grant->chunk);
}

/* Chunks that some later one waits for: all but those that find a buffer that was not used. */
static uint64_t acks_of(const struct rbuf_extent *extent, uint64_t buffers)
{
    return extent->chunks > buffers ? extent->chunks - buffers : 0;
}

/* A lane for the rest, its flags and word; false if there is no room. */
static bool take_lane(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;
    const struct rbuf_schedule *schedule = &grant->schedule;
    struct rbuf_extent extent = {.chunks = 0};
    uint64_t buffers;

    if (rest_of(grant) > 0) {
        rbuf_schedule_measure(schedule, rest_of(grant), &extent);
    }
    buffers = extent.chunks < schedule->buffers ? extent.chunks : schedule->buffers;
    grant->acks_wanted = acks_of(&extent, buffers);
    grant->stride_blocks = extent.largest_blocks;
    grant->lane_blocks = (uint32_t) buffers * extent.largest_blocks;
    if (!slot_take(grant)) {
        return false;
    }
    if (grant->lane_blocks > 0 &&
        !rbuf_staging_take(core, &core->receive_arena, grant->lane_blocks, &grant->lane_first)) {
        slot_give(grant);
        return false;
    }
    if (rbuf_peer_proof(grant->peer) == RBUF_PROOF_CHECKSUM) {
        rbuf_arena_fill(&core->receive_arena, grant->lane_first, grant->lane_blocks, core->fill);
    }
    grant->lane_flag = core->receive_arena.next_flag;
    core->receive_arena.next_flag += extent.blocks;
    return true;
}

/* Gives the grant its lane, if there is one; it is then STAGED. */
static bool stage(struct rbuf_grant *grant)
{
    if (!take_lane(grant)) {
        return false;
    }
    grant->to = grant->base;
    grant->chunks_arrived = 0;
    rbuf_grant_begin(grant, has_early(grant) ? RBUF_GRANT_PART_EARLY : RBUF_GRANT_PART_LANE);
    become(grant, RBUF_GRANT_STAGED);
    TAILQ_INSERT_TAIL(&grant->peer->core->rendezvous.receiving, grant, link);
    return true;
}

static void unstage(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;

    TAILQ_REMOVE(&core->rendezvous.receiving, grant, link);
    if (grant->lane_blocks > 0) {
        rbuf_arena_give(&core->receive_arena, grant->lane_first, grant->lane_blocks);
        if (rbuf_peer_proof(grant->peer) == RBUF_PROOF_CHECKSUM) {
            rbuf_arena_want_fill(&core->receive_arena, grant->lane_first, grant->lane_blocks);
            core->chores_due_ns = 0;
        }
    }
    slot_give(grant);
    core->rendezvous.deferred_retry = true;
}

static void defer(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;

    become(grant, RBUF_GRANT_DEFERRED);
    grant->deferred_ns = core->now_ns;
    TAILQ_INSERT_TAIL(&core->rendezvous.deferred, grant, link);
    core->rendezvous.deferred_retry = true;
}

/* What a new grant knows of its early data. */
static void early_open(struct rbuf_grant *grant, uint32_t early)
{
    struct rbuf_peer *peer = grant->peer;

    grant->early = RBUF_GRANT_EARLY_NONE;
    grant->early_bytes = 0;
    if (early == RBUF_EARLY_UNKNOWN) {
        if (rbuf_early_in_unclaimed(peer->rendezvous.early_in)) {
            grant->early = RBUF_GRANT_EARLY_ASKED;
        }
    } else if (early != 0 && early_take(grant, RBUF_GRANT_EARLY_CLAIMED, early)) {
        peer->core->stats.early_claimed++;
    }
}

struct rbuf_grant *rbuf_grant_open(struct rbuf_peer *peer, void *base, uint64_t bytes, void *user,
                                   uint32_t early, struct rbuf_offer *offer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_grant *grant = rbuf_grant_take(core);

    if (grant == NULL) {
        return NULL;
    }
    grant->peer = peer;
    grant->user = user;
    grant->base = base;
    grant->bytes = bytes;
    grant->schedule = rbuf_peer_schedule(peer, bytes);
    early_open(grant, early);
    /* Those that wait already go first. */
    if (TAILQ_EMPTY(&core->rendezvous.deferred) && stage(grant)) {
        core->stats.grants++;
        describe(grant, RBUF_OFFER_STAGED, offer);
        return grant;
    }
    defer(grant);
    core->stats.grants_deferred++;
    describe(grant, RBUF_OFFER_DEFERRED, offer);
    return grant;
}

/* Whether so many bytes more may be registered in their place. */
static bool may_register(const struct rbuf_core *core, uint64_t bytes)
{
    const uint64_t limit = core->options.direct_limit;

    return limit == 0 || core->rendezvous.direct_bytes == 0 ||
           core->rendezvous.direct_bytes + bytes <= limit ||
           core->now_ns - core->rendezvous.moved_ns >= STUCK_WAITS * core->options.grant_wait_ns;
}

/* Whether the grant has waited for nothing: as long as staging is given back the others go first.
 */
static bool has_waited(const struct rbuf_core *core, const struct rbuf_grant *grant)
{
    const uint64_t wait = core->options.grant_wait_ns;
    const uint64_t since = core->rendezvous.copied_ns > grant->deferred_ns
                               ? core->rendezvous.copied_ns
                               : grant->deferred_ns;

    return core->now_ns - since >= wait || core->now_ns - grant->deferred_ns >= STUCK_WAITS * wait;
}

/* Asks for a registration of every grant that has waited long enough; they are in order of age. */
static int expire(struct rbuf_core *core)
{
    struct rbuf_grant *grant;
    int done = 0;

    while (core->options.grant_wait_ns != 0 &&
           (grant = TAILQ_FIRST(&core->rendezvous.deferred)) != NULL && has_waited(core, grant) &&
           may_register(core, grant->bytes) &&
           rbuf_core_ask(core, RBUF_EVENT_REGISTER, grant->peer, grant)) {
        TAILQ_REMOVE(&core->rendezvous.deferred, grant, link);
        become(grant, RBUF_GRANT_REGISTERING);
        if (core->rendezvous.direct_bytes + grant->bytes > core->options.direct_limit) {
            core->rendezvous.moved_ns = core->now_ns; /* the next one of those waits anew */
        }
        core->rendezvous.direct_bytes += grant->bytes;
        core->rendezvous.deferred_retry = true; /* there may be room for the next one */
        done++;
    }
    return done;
}

void rbuf_grants_open(struct rbuf_core *core)
{
    TAILQ_INIT(&core->rendezvous.grants_free);
    TAILQ_INIT(&core->rendezvous.receiving);
    TAILQ_INIT(&core->rendezvous.deferred);
}

void rbuf_grants_grown(struct rbuf_core *core)
{
    core->rendezvous.deferred_retry = true;
}

bool rbuf_grants_are_open(const struct rbuf_peer *peer)
{
    const struct rbuf_rendezvous_of_core *all = &peer->core->rendezvous;

    for (uint32_t i = 0; i < all->grant_count; i++) {
        if (all->grants[i]->peer == peer && all->grants[i]->state != RBUF_GRANT_FREE) {
            return true;
        }
    }
    return false;
}

void rbuf_grants_remove(struct rbuf_peer *peer)
{
    const struct rbuf_rendezvous_of_core *all = &peer->core->rendezvous;

    for (uint32_t i = 0; i < all->grant_count; i++) {
        if (all->grants[i]->peer == peer) {
            rbuf_grant_close(all->grants[i]);
        }
    }
}

int rbuf_grants_progress(struct rbuf_core *core)
{
    struct rbuf_grant *grant;
    int done = 0;

    while (core->rendezvous.deferred_retry &&
           (grant = TAILQ_FIRST(&core->rendezvous.deferred)) != NULL) {
        struct rbuf_offer offer;

        TAILQ_REMOVE(&core->rendezvous.deferred, grant, link);
        if (!stage(grant)) {
            TAILQ_INSERT_HEAD(&core->rendezvous.deferred, grant, link);
            break;
        }
        describe(grant, RBUF_OFFER_STAGED, &offer);
        rbuf_channel_send_own_by(grant->peer, RBUF_CONTROL, RBUF_MESSAGE_RTR, offer.id, &offer,
                                 sizeof(offer));
        done++;
    }
    core->rendezvous.deferred_retry = false;
    return done + expire(core);
}

void rbuf_grant_direct(struct rbuf_grant *grant, uint32_t rkey)
{
    struct rbuf_offer offer;

    if (grant->state != RBUF_GRANT_REGISTERING) {
        return; /* closed while the event was on its way */
    }
    become(grant, RBUF_GRANT_DIRECT);
    grant->peer->core->stats.grants_direct++;
    if (grant->early == RBUF_GRANT_EARLY_NAMED) {
        rbuf_grant_early_over(grant);
    }
    describe(grant, RBUF_OFFER_DIRECT, &offer);
    offer.rkey = rkey;
    rbuf_channel_send_own_by(grant->peer, RBUF_CONTROL, RBUF_MESSAGE_RTR, offer.id, &offer,
                             sizeof(offer));
}

void rbuf_grant_not_direct(struct rbuf_grant *grant)
{
    if (grant->state != RBUF_GRANT_REGISTERING) {
        return; /* closed while the event was on its way */
    }
    grant->peer->core->rendezvous.direct_bytes -= grant->bytes;
    defer(grant); /* the next try after another wait */
}

/* Takes up what the peer has named, unless it is nothing; false: there is no such thing. */
static bool take_named(struct rbuf_grant *grant, uint32_t seq)
{
    if (seq == 0) {
        return true;
    }
    if (!early_take(grant, RBUF_GRANT_EARLY_NAMED, seq)) {
        return false;
    }
    grant->peer->core->stats.early_late++;
    if (grant->state == RBUF_GRANT_DIRECT) {
        rbuf_grant_early_over(grant);
    }
    return true;
}

/* The grant that asked is STAGED, with a lane for the whole: less comes there, in chunks that fit
 * into its buffers (put.c does the same). */
static void shorten(struct rbuf_grant *grant)
{
    struct rbuf_extent extent = {.chunks = 0};

    if (rest_of(grant) > 0) {
        rbuf_schedule_fit(&grant->schedule, grant->stride_blocks);
        rbuf_schedule_measure(&grant->schedule, rest_of(grant), &extent);
    }
    grant->acks_wanted = acks_of(&extent, grant->schedule.buffers);
    rbuf_grant_begin(grant, RBUF_GRANT_PART_EARLY);
}

static bool answered(struct rbuf_grant *grant, uint32_t seq)
{
    grant->early = RBUF_GRANT_EARLY_NONE;
    if (!take_named(grant, seq)) {
        return false;
    }
    if (seq != 0 && grant->state == RBUF_GRANT_STAGED) {
        shorten(grant);
    }
    return true;
}

/* The grant claimed the early data of another message, and may have copied them. The peer has
 * written nothing else for it, and waits for an RTR. */
static bool corrected(struct rbuf_grant *grant, uint32_t seq)
{
    const enum rbuf_grant_state state = grant->state;

    grant->peer->core->stats.early_corrected++;
    if (state == RBUF_GRANT_STAGED) {
        unstage(grant);
    }
    early_leave(grant);
    if (state == RBUF_GRANT_STAGED || state == RBUF_GRANT_PLACED) {
        defer(grant);
    }
    return take_named(grant, seq);
}

void rbuf_grant_named(struct rbuf_peer *peer, uint64_t id, uint32_t seq)
{
    struct rbuf_grant *grant = rbuf_grant_find(peer->core, id);
    bool usable = false;

    if (rbuf_peer_is_lost(peer)) {
        return;
    }
    if (grant != NULL && grant->peer == peer && grant->early == RBUF_GRANT_EARLY_ASKED) {
        usable = answered(grant, seq);
    } else if (grant != NULL && grant->peer == peer && grant->early == RBUF_GRANT_EARLY_CLAIMED) {
        usable = corrected(grant, seq);
    }
    if (!usable) { /* it would wait for ever */
        peer->core->stats.messages_refused++;
        rbuf_peer_break(peer, -EPROTO);
    }
}

void rbuf_grant_discard_held(struct rbuf_grant *grant)
{
    struct rbuf_held *held;

    while ((held = STAILQ_FIRST(&grant->held)) != NULL) {
        STAILQ_REMOVE_HEAD(&grant->held, link);
        free(held);
    }
}

/* Delivers what waited for the grant, in order of arrival. Without memory the peer is lost: what
 * waits for the message would wait for ever. */
static void release_held(struct rbuf_grant *grant)
{
    struct rbuf_held *held;

    while ((held = STAILQ_FIRST(&grant->held)) != NULL &&
           rbuf_core_deliver(grant->peer, &held->delivery)) {
        STAILQ_REMOVE_HEAD(&grant->held, link);
    }
    if (held != NULL) {
        rbuf_grant_discard_held(grant);
        rbuf_peer_break(grant->peer, -ENOMEM);
    }
}

void rbuf_grant_placed(struct rbuf_grant *grant)
{
    unstage(grant);
    become(grant, RBUF_GRANT_PLACED);
    if (grant->early == RBUF_GRANT_EARLY_NAMED) { /* what was claimed is given back at the end */
        rbuf_grant_early_over(grant);
    }
    release_held(grant);
}

void rbuf_grant_close(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;

    switch (grant->state) {
    case RBUF_GRANT_FREE:
        return;
    case RBUF_GRANT_STAGED:
        /* Open MPI gives a handle back before its data only when the peer never learnt of it or is
         * lost: nobody writes into the lane any more. What waits for the data must not be told that
         * it is there. */
        unstage(grant);
        rbuf_grant_discard_held(grant);
        break;
    case RBUF_GRANT_DEFERRED:
        TAILQ_REMOVE(&core->rendezvous.deferred, grant, link);
        core->rendezvous.deferred_retry = true; /* there may be room for those behind it */
        break;
    case RBUF_GRANT_REGISTERING:
    case RBUF_GRANT_DIRECT:
        core->rendezvous.direct_bytes -= grant->bytes;
        core->rendezvous.moved_ns = core->now_ns;
        break;
    case RBUF_GRANT_PLACED:
        break;
    }
    rbuf_grant_early_over(grant);
    grant->early = RBUF_GRANT_EARLY_NONE;
    become(grant, RBUF_GRANT_FREE);
    TAILQ_INSERT_TAIL(&core->rendezvous.grants_free, grant, link);
}
