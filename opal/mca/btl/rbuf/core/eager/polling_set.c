/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Who is in the polling set (core/eager/polling_set.h): invitations, recalls, epochs.
 *
 *     a ring   FREE -> POLLED -> RECALLED -> DRAINING -> FREE; POLLED or RECALLED -> LOST
 */
#include "core/eager/ring_in.h"
#include "core/eager/polling_set.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/fill.h"
#include "core/eager/channel.h"
#include "core/state/state.h"
#include "core/eager/ring_long.h"
#include "core/eager/ring_word.h"

#define EPOCH       1024u /* small messages from one epoch to the next, for small sets */
#define A_MEMBER    64u   /* or so many for each member that there may be, if that is more */
#define SILENT      8u    /* epochs without a message after which a member is recalled */
#define MUCH_BUSIER 2u    /* times the traffic of the one that it replaces, */
#define MARGIN      16u   /* and so many messages more: few ones are chance */
#define PATIENCE    2u    /* epochs before who declined a ring is invited again, the first time */
#define DOUBLINGS   9u    /* of that, each time that it declines */

int rbuf_polling_set_open(struct rbuf_core *core, uint32_t limit)
{
    struct rbuf_polling_set *set = &core->eager.set;

    *set = (struct rbuf_polling_set){.limit = limit,
                                     .period = limit * A_MEMBER > EPOCH ? limit * A_MEMBER : EPOCH};
    TAILQ_INIT(&core->eager.rings.waiting);
    TAILQ_INIT(&core->eager.rings.open);
    SLIST_INIT(&core->eager.rings.spare);
    limit += limit == 0; /* what is polled begins somewhere, also if it is nothing */
    set->watch = calloc(limit, sizeof(*set->watch));
    set->rings = calloc(limit, sizeof(*set->rings));
    return set->watch != NULL && set->rings != NULL ? 0 : -ENOMEM;
}

void rbuf_polling_set_close(struct rbuf_core *core)
{
    free(core->eager.set.watch);
    free(core->eager.set.rings);
}

/* ---- slots ---- */

static void put_into_slot(struct rbuf_polling_set *set, uint32_t slot, struct rbuf_watch watch)
{
    set->watch[slot] = watch;
    watch.ring->watch = &set->watch[slot];
}

static void leave_slot(struct rbuf_polling_set *set, const struct rbuf_ring_in *ring)
{
    set->count--;
    for (uint32_t i = (uint32_t) (ring->watch - set->watch); i < set->count; i++) {
        put_into_slot(set, i, set->watch[i + 1]);
    }
}

/* There must be one. */
static struct rbuf_ring_in *free_ring(struct rbuf_polling_set *set)
{
    struct rbuf_ring_in *ring = set->rings;

    while (ring->state != RBUF_RING_IN_FREE) {
        ring++;
    }
    return ring;
}

/* Nothing of the ring is in use: its memory may serve another one. */
static void dissolve(struct rbuf_ring_in *ring)
{
    struct rbuf_core *core = ring->peer->core;

    rbuf_ring_memory_return(core, ring->memory);
    ring->peer->eager.ring_in = NULL;
    ring->state = RBUF_RING_IN_FREE;
    core->eager.set.used--;
    if (core->eager.set.leaving == ring) {
        core->eager.set.leaving = NULL;
    }
}

/* ---- coming ---- */

/* Words of an earlier use, as a sender's slots perhaps, must not be taken for messages. */
static void clear_words(const struct rbuf_ring_options *options, struct rbuf_ring_memory *memory)
{
    const size_t bytes = rbuf_ring_memory_bytes(options);

    for (size_t end = options->slot_bytes; end <= bytes; end += options->slot_bytes) {
        *((uint64_t *) (void *) (memory->base + end) - 1) = 0;
    }
}

static uint64_t first_use_of(const struct rbuf_ring_memory *memory, uint32_t slots)
{
    return (memory->next_use / slots + 1) * slots;
}

static void admit(struct rbuf_peer *peer, struct rbuf_ring_memory *memory)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_ring_in *ring = free_ring(&core->eager.set);
    const struct rbuf_ring_options *options = &core->options.ring;
    uint64_t first_use = first_use_of(memory, options->slots);
    struct rbuf_ring_offer offer = {.base = (uintptr_t) memory->base,
                                    .first_use = first_use,
                                    .rkey = memory->rkey,
                                    .slots = options->slots,
                                    .slot_bytes = options->slot_bytes,
                                    .longest = rbuf_ring_longest(options),
                                    .proof = rbuf_peer_proof(peer)};

    if (offer.proof == RBUF_PROOF_CHECKSUM) {
        rbuf_fill(memory->base, rbuf_ring_memory_bytes(options), core->fill);
    } else {
        clear_words(options, memory);
    }
    *ring = (struct rbuf_ring_in){.state = RBUF_RING_IN_POLLED,
                                  .peer = peer,
                                  .memory = memory,
                                  .slots = options->slots,
                                  .slot_bytes = options->slot_bytes,
                                  .longest = offer.longest,
                                  .recent = peer->eager.recent,
                                  .admitted = core->eager.set.epoch,
                                  .proof = (enum rbuf_proof) offer.proof,
                                  .use = first_use,
                                  .counted = first_use,
                                  .tail = first_use,
                                  .full = first_use + options->slots};
    peer->eager.ring_in = ring;
    core->eager.set.used++;
    put_into_slot(
        &core->eager.set, core->eager.set.count++,
        (struct rbuf_watch){.word = (const _Atomic uint64_t *) (const void *) (memory->base +
                                                                               options->slot_bytes -
                                                                               sizeof(uint64_t)),
                            .expected = rbuf_ring_word_of_use(ring->proof, first_use),
                            .span = rbuf_ring_word_span(ring->proof),
                            .ring = ring});
    core->stats.ring_admitted++;
    rbuf_channel_send_own(peer, RBUF_MESSAGE_LEASE, RBUF_LEASE_RING, &offer, sizeof(offer));
}

/* Messages that the peer has sent since the last epoch; those that found the ring full as well. */
static uint64_t fresh(const struct rbuf_ring_in *ring)
{
    return ring->use - ring->counted + ring->beside;
}

static uint64_t recent_of(const struct rbuf_ring_in *ring)
{
    return ring->recent + fresh(ring);
}

/* Only who was counted in a full epoch may be challenged: that bounds how often members change. */
static bool is_settled(const struct rbuf_polling_set *set, const struct rbuf_ring_in *ring)
{
    return ring->state == RBUF_RING_IN_POLLED && ring->admitted + 1 < set->epoch;
}

static bool is_much_busier(const struct rbuf_peer *peer, uint64_t member)
{
    return peer->eager.recent > MUCH_BUSIER * member + MARGIN;
}

static void recall(struct rbuf_ring_in *ring)
{
    ring->state = RBUF_RING_IN_RECALLED;
    ring->peer->core->stats.ring_recalled++;
    rbuf_channel_send_own(ring->peer, RBUF_MESSAGE_RECALL, RBUF_LEASE_RING, NULL, 0);
}

/* There is no room: makes some if the peer is much busier than the replacement victim. `victim` of
 * the set only grows until the next epoch, so that most messages need not look at every member. */
static void challenge(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_polling_set *set = &core->eager.set;
    struct rbuf_ring_in *victim = NULL;

    if (set->leaving != NULL || !is_much_busier(peer, set->victim)) {
        return;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        struct rbuf_ring_in *ring = set->watch[i].ring;

        if (is_settled(set, ring) && (victim == NULL || recent_of(ring) < recent_of(victim))) {
            victim = ring;
        }
    }
    set->victim = victim != NULL ? recent_of(victim) : UINT32_MAX;
    if (is_much_busier(peer, set->victim)) {
        set->leaving = victim;
        set->heir = peer;
        recall(victim);
    }
}

/* Counts a message over send/receive of who has no ring. */
static void count(const struct rbuf_polling_set *set, struct rbuf_peer *peer)
{
    uint32_t epochs = set->epoch - peer->eager.recent_epoch;

    peer->eager.recent = (epochs < 32 ? peer->eager.recent >> epochs : 0) + 1;
    peer->eager.recent_epoch = set->epoch;
}

/* It had no memory for its side of a ring when it was invited last; since then it may have. */
static bool may_decline(const struct rbuf_polling_set *set, const struct rbuf_peer *peer)
{
    return peer->eager.ring_declines > 0 && set->epoch - peer->eager.ring_declined_epoch <
                                                PATIENCE << (peer->eager.ring_declines - 1);
}

/* True if a ring of ours takes a message of `bytes`; most fit one slot. */
static bool would_take(const struct rbuf_ring_options *options, uint32_t bytes)
{
    return bytes <= rbuf_ring_room(options) || bytes <= rbuf_ring_longest(options);
}

void rbuf_polling_set_received(struct rbuf_peer *peer, uint32_t bytes)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_polling_set *set = &core->eager.set;
    struct rbuf_ring_memory *memory = NULL;

    if (set->limit == 0 || !would_take(&core->options.ring, bytes)) {
        return;
    }
    set->traffic++;
    if (peer->eager.ring_in != NULL) {
        peer->eager.ring_in->beside++;
        return;
    }
    count(set, peer);
    if (peer->eager.recent < core->options.ring.threshold || peer->state != RBUF_PEER_CONNECTED ||
        may_decline(set, peer) || (set->heir != NULL && set->heir != peer)) {
        return;
    }
    if (set->used < set->limit) {
        memory = rbuf_ring_memory_take(core);
    }
    if (memory != NULL) {
        set->heir = NULL;
        admit(peer, memory);
    } else if (set->used == set->limit || core->eager.rings.supply == RBUF_RING_SUPPLY_ENDED) {
        challenge(peer);
    }
}

/* ---- going ---- */

/* True if no message ever came by it. */
static bool is_unused(const struct rbuf_ring_in *ring)
{
    return ring->use == first_use_of(ring->memory, ring->slots);
}

void rbuf_polling_set_back(struct rbuf_peer *peer)
{
    struct rbuf_ring_in *ring = peer->eager.ring_in;

    if (ring == NULL || !rbuf_ring_in_polled(ring)) {
        peer->core->stats.messages_refused++;
        return;
    }
    if (ring->state == RBUF_RING_IN_RECALLED || !is_unused(ring)) {
        peer->eager.ring_declines = 0;
    } else if (peer->eager.ring_declines <= DOUBLINGS) {
        peer->eager.ring_declines++;
    }
    peer->eager.ring_declined_epoch = peer->core->eager.set.epoch;
    ring->state = RBUF_RING_IN_DRAINING;
    ring->memory->next_use = ring->use;
    leave_slot(&peer->core->eager.set, ring);
    peer->eager.recent = 0;
    rbuf_polling_set_drained(ring);
}

void rbuf_polling_set_drained(struct rbuf_ring_in *ring)
{
    if (ring->tail == ring->memory->next_use) {
        dissolve(ring);
    }
}

void rbuf_polling_set_fail(struct rbuf_peer *peer)
{
    struct rbuf_ring_in *ring = peer->eager.ring_in;

    if (peer->core->eager.set.heir == peer) {
        peer->core->eager.set.heir = NULL;
    }
    if (ring == NULL || !rbuf_ring_in_polled(ring)) {
        return;
    }
    (void) rbuf_ring_in_take(ring); /* what is there was sent before, and counts */
    ring->memory->next_use = ring->use;
    leave_slot(&peer->core->eager.set, ring);
    ring->state = RBUF_RING_IN_LOST;
}

void rbuf_polling_set_remove(struct rbuf_peer *peer)
{
    rbuf_polling_set_fail(peer);
    if (peer->eager.ring_in != NULL) {
        dissolve(peer->eager.ring_in);
    }
}

/* ---- polling ---- */

/* Adds what is new and halves all, as is done for who has no ring; puts the busiest first. Who was
 * recalled and has not answered by now stands in nobody's way any more. */
static void take_census(struct rbuf_polling_set *set)
{
    set->epoch++;
    set->traffic = 0;
    set->leaving = NULL;
    set->heir = NULL;
    set->victim = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        struct rbuf_watch watch = set->watch[i];
        struct rbuf_ring_in *ring = watch.ring;
        uint32_t slot = i;

        ring->silent = fresh(ring) > 0 ? 0 : ring->silent + 1;
        ring->recent = (uint32_t) (recent_of(ring) / 2);
        ring->counted = ring->use;
        ring->beside = 0;
        for (; slot > 0 && set->watch[slot - 1].ring->recent < ring->recent; slot--) {
            put_into_slot(set, slot, set->watch[slot - 1]);
        }
        put_into_slot(set, slot, watch);
    }
}

static void recall_silent(struct rbuf_polling_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        struct rbuf_ring_in *ring = set->watch[i].ring;

        if (ring->silent >= SILENT && ring->state == RBUF_RING_IN_POLLED) {
            recall(ring);
        }
    }
}

void rbuf_polling_set_age(struct rbuf_core *core)
{
    take_census(&core->eager.set);
    recall_silent(&core->eager.set);
    rbuf_ring_out_count(core);
}
