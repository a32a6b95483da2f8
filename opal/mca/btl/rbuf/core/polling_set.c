/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/polling_set.h"

#include <errno.h>
#include <stdlib.h>

#include "core/channel.h"
#include "core/core.h"

#define SILENT      8u /* censuses without a message after which a member is recalled */
#define MUCH_WARMER 2u /* times the traffic of whom it takes the place of */

int rbuf_polling_set_open(struct rbuf_core *core, uint32_t limit)
{
    struct rbuf_polling_set *set = &core->set;

    *set = (struct rbuf_polling_set){.limit = limit};
    TAILQ_INIT(&core->rings.waiting);
    SLIST_INIT(&core->rings.spare);
    if (limit == 0) {
        return 0;
    }
    set->watch = calloc(limit, sizeof(*set->watch));
    set->rings = calloc(limit, sizeof(*set->rings));
    if (set->watch == NULL || set->rings == NULL) {
        rbuf_polling_set_close(core);
        return -ENOMEM;
    }
    return 0;
}

void rbuf_polling_set_close(struct rbuf_core *core)
{
    free(core->set.watch);
    free(core->set.rings);
    core->set.watch = NULL;
    core->set.rings = NULL;
}

/* ---- places ---- */

static void put_in_place(struct rbuf_polling_set *set, uint32_t place, struct rbuf_watch watch)
{
    set->watch[place] = watch;
    watch.ring->watch = &set->watch[place];
}

static void leave_place(struct rbuf_polling_set *set, const struct rbuf_ring_in *ring)
{
    set->count--;
    for (uint32_t i = (uint32_t) (ring->watch - set->watch); i < set->count; i++) {
        put_in_place(set, i, set->watch[i + 1]);
    }
}

static struct rbuf_ring_in *free_ring(struct rbuf_polling_set *set)
{
    for (uint32_t i = 0; i < set->limit; i++) {
        if (set->rings[i].state == RBUF_RING_IN_FREE) {
            return &set->rings[i];
        }
    }
    return NULL;
}

/* Nothing of the ring is in use: its memory may serve another one. */
static void dissolve(struct rbuf_ring_in *ring)
{
    struct rbuf_core *core = ring->peer->core;

    rbuf_ring_memory_return(core, ring->memory);
    ring->peer->ring_in = NULL;
    ring->state = RBUF_RING_IN_FREE;
    if (core->set.leaving == ring) {
        core->set.leaving = NULL;
    }
}

/* ---- coming ---- */

/* Words of an earlier use, as a sender's slots perhaps, must not be taken for messages. */
static void clear_words(const struct rbuf_ring_options *options, struct rbuf_ring_memory *memory)
{
    for (uint32_t i = 1; i <= options->slots; i++) {
        uint64_t *word =
            (uint64_t *) (void *) (memory->base + (size_t) i * options->slot_bytes - sizeof(*word));

        *word = 0;
    }
}

static void admit(struct rbuf_peer *peer, struct rbuf_ring_in *ring,
                  struct rbuf_ring_memory *memory)
{
    struct rbuf_core *core = peer->core;
    const struct rbuf_ring_options *options = &core->options.ring;
    uint64_t first_use = (memory->next_use / options->slots + 1) * options->slots;
    struct rbuf_ring_offer offer = {.base = (uintptr_t) memory->base,
                                    .first_use = first_use,
                                    .rkey = memory->rkey,
                                    .slots = options->slots,
                                    .slot_bytes = options->slot_bytes};

    clear_words(options, memory);
    *ring = (struct rbuf_ring_in){.state = RBUF_RING_IN_POLLED,
                                  .peer = peer,
                                  .memory = memory,
                                  .slots = options->slots,
                                  .slot_bytes = options->slot_bytes,
                                  .heat = peer->heat,
                                  .admitted = core->set.census,
                                  .counted = first_use,
                                  .tail = first_use};
    peer->ring_in = ring;
    put_in_place(
        &core->set, core->set.count++,
        (struct rbuf_watch){.word = (const _Atomic uint64_t *) (const void *) (memory->base +
                                                                               options->slot_bytes -
                                                                               sizeof(uint64_t)),
                            .expected = first_use << RBUF_RING_SIZE_BITS,
                            .ring = ring});
    core->stats.ring_admitted++;
    rbuf_channel_send_own(peer, RBUF_MESSAGE_RING, &offer, sizeof(offer));
}

/* Messages since the last census count in full. */
static uint64_t warmth(const struct rbuf_ring_in *ring)
{
    return ring->heat + (rbuf_watch_use(ring->watch) - ring->counted);
}

static void recall(struct rbuf_ring_in *ring)
{
    ring->state = RBUF_RING_IN_RECALLED;
    ring->peer->core->stats.ring_recalled++;
    rbuf_channel_send_own(ring->peer, RBUF_MESSAGE_RING_RECALL, NULL, 0);
}

/* The set is full: makes room for the peer if it is much warmer than the coldest member. */
static void challenge(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_polling_set *set = &core->set;
    struct rbuf_ring_in *coldest = NULL;

    if (set->leaving != NULL) {
        return;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        struct rbuf_ring_in *ring = set->watch[i].ring;

        if (ring->state == RBUF_RING_IN_POLLED && ring->admitted + 1 < set->census &&
            (coldest == NULL || warmth(ring) < warmth(coldest))) {
            coldest = ring;
        }
    }
    if (coldest != NULL &&
        peer->heat > MUCH_WARMER * warmth(coldest) + core->options.ring.threshold) {
        set->leaving = coldest;
        recall(coldest);
    }
}

void rbuf_polling_set_heard(struct rbuf_peer *peer, uint32_t bytes)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_polling_set *set = &core->set;
    uint32_t censuses = set->census - peer->heat_census;
    struct rbuf_ring_memory *memory;
    struct rbuf_ring_in *ring;

    if (set->limit == 0 || peer->ring_in != NULL || bytes > rbuf_ring_room(&core->options.ring)) {
        return;
    }
    set->traffic++;
    peer->heat = (censuses < 32 ? peer->heat >> censuses : 0) + 1;
    peer->heat_census = set->census;
    if (peer->heat < core->options.ring.threshold || peer->ring_declined ||
        peer->state != RBUF_PEER_CONNECTED) {
        return;
    }
    ring = free_ring(set);
    if (ring == NULL) {
        challenge(peer);
        return;
    }
    memory = rbuf_ring_memory_take(core);
    if (memory != NULL) {
        admit(peer, ring, memory);
    }
}

/* ---- going ---- */

void rbuf_polling_set_back(struct rbuf_peer *peer)
{
    struct rbuf_ring_in *ring = peer->ring_in;

    if (ring == NULL || !rbuf_ring_in_polled(ring)) {
        peer->core->stats.messages_refused++;
        return;
    }
    /* It has no memory for its side of a ring, and would have none the next time. */
    peer->ring_declined = ring->state == RBUF_RING_IN_POLLED;
    ring->state = RBUF_RING_IN_DRAINING;
    ring->memory->next_use = rbuf_watch_use(ring->watch);
    leave_place(&peer->core->set, ring);
    peer->heat = 0;
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
    struct rbuf_ring_in *ring = peer->ring_in;

    if (ring == NULL || !rbuf_ring_in_polled(ring)) {
        return;
    }
    (void) rbuf_ring_in_take(ring); /* what is there was sent before, and counts */
    ring->memory->next_use = rbuf_watch_use(ring->watch);
    leave_place(&peer->core->set, ring);
    ring->state = RBUF_RING_IN_LOST;
}

void rbuf_polling_set_remove(struct rbuf_peer *peer)
{
    rbuf_polling_set_fail(peer);
    if (peer->ring_in != NULL) {
        dissolve(peer->ring_in);
    }
}

/* ---- polling ---- */

/* Halves what was counted, adds what is new, and puts the warmest first. */
static void take_census(struct rbuf_polling_set *set)
{
    set->census++;
    set->traffic = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        struct rbuf_watch watch = set->watch[i];
        struct rbuf_ring_in *ring = watch.ring;
        uint64_t messages = rbuf_watch_use(&watch) - ring->counted;
        uint32_t place = i;

        ring->silent = messages > 0 ? 0 : ring->silent + 1;
        ring->heat = ring->heat / 2 + (uint32_t) messages;
        ring->counted += messages;
        for (; place > 0 && set->watch[place - 1].ring->heat < ring->heat; place--) {
            put_in_place(set, place, set->watch[place - 1]);
        }
        put_in_place(set, place, watch);
    }
}

/* One at a time, like those that are challenged. */
static void recall_silent(struct rbuf_polling_set *set)
{
    for (uint32_t i = set->count; i-- > 0 && set->leaving == NULL;) {
        struct rbuf_ring_in *ring = set->watch[i].ring;

        if (ring->silent >= SILENT && ring->state == RBUF_RING_IN_POLLED) {
            set->leaving = ring;
            recall(ring);
        }
    }
}

void rbuf_polling_set_census(struct rbuf_core *core)
{
    take_census(&core->set);
    recall_silent(&core->set);
}
