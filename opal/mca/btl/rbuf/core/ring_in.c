/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include <assert.h>

#include "core/core.h"
#include "core/inbox.h"
#include "core/polling_set.h"
#include "core/ring.h"

static uint32_t slot_of(const struct rbuf_ring_in *ring, const void *within)
{
    return (uint32_t) ((size_t) ((const unsigned char *) within - ring->memory->base) /
                       ring->peer->core->options.ring.slot_bytes);
}

/* Every use before `tail` is free; frees the slots behind it that were waiting for theirs. */
static void free_slot(struct rbuf_ring_in *ring, uint32_t slot)
{
    struct rbuf_peer *peer = ring->peer;
    uint32_t slots = peer->core->options.ring.slots;

    assert((ring->freed >> slot & 1) == 0);
    if (slot == ring->tail_slot && ring->freed == 0) { /* in order, as nearly always */
        ring->tail++;
        ring->tail_slot = slot + 1 == slots ? 0 : slot + 1;
        rbuf_credit_consumed(peer, RBUF_FLOW_RING);
        return;
    }
    ring->freed |= 1ull << slot;
    while ((ring->freed >> ring->tail_slot & 1) != 0) {
        ring->freed &= ~(1ull << ring->tail_slot);
        ring->tail++;
        ring->tail_slot = ring->tail_slot + 1 == slots ? 0 : ring->tail_slot + 1;
        rbuf_credit_consumed(peer, RBUF_FLOW_RING);
    }
}

void rbuf_ring_in_free(struct rbuf_ring_in *ring, const void *payload)
{
    free_slot(ring, slot_of(ring, payload));
    if (ring->state == RBUF_RING_IN_DRAINING) {
        rbuf_polling_set_drained(ring);
    }
}

/* The next slot is looked at from now on. */
static void advance(const struct rbuf_ring_in *ring, struct rbuf_watch *watch, uint32_t slot_bytes)
{
    const unsigned char *word = (const unsigned char *) (const void *) watch->word;

    word =
        word == ring->last ? ring->memory->base + slot_bytes - sizeof(uint64_t) : word + slot_bytes;
    watch->word = (const _Atomic uint64_t *) (const void *) word;
    watch->expected += 1ull << RBUF_RING_SIZE_BITS;
}

/* Hands the message in the slot at `trailer` on, if it is well-formed; else its slot is free. */
static void hand_on(struct rbuf_ring_in *ring, const struct rbuf_ring_trailer *trailer,
                    uint32_t bytes, uint32_t slot_bytes)
{
    struct rbuf_peer *peer = ring->peer;
    uint32_t padded = (bytes + 7u) & ~7u;
    struct rbuf_delivery place = {.origin = RBUF_ORIGIN_RING,
                                  .data = (unsigned char *) (uintptr_t) trailer - padded,
                                  .bytes = bytes,
                                  .channel = RBUF_CONTROL};

    if (padded > slot_bytes - sizeof(*trailer)) {
        peer->core->stats.messages_refused++;
    } else if (rbuf_inbox_take(peer, &trailer->header, &place)) {
        return;
    }
    rbuf_ring_in_free(ring, trailer);
}

/* Takes the next message; false if it has not arrived, or it is not its turn. */
static bool take_one(struct rbuf_ring_in *ring)
{
    struct rbuf_peer *peer = ring->peer;
    struct rbuf_core *core = peer->core;
    struct rbuf_watch *watch = &core->set.watch[ring->place];
    uint32_t slot_bytes = core->options.ring.slot_bytes;
    /* Pairs with the adapter placing the end of the peer's write after all else of it. */
    uint64_t word = atomic_load_explicit(watch->word, memory_order_acquire);
    uint32_t bytes = (uint32_t) (word - watch->expected);
    const struct rbuf_ring_trailer *trailer =
        (const struct rbuf_ring_trailer *) (const void *) (watch->word + 1) - 1;

    if (!rbuf_watch_hit(watch, word)) {
        return false;
    }
    if (trailer->header.sequence != peer->sequence_in) {
        core->stats.ring_waits++; /* what comes first is in a completion queue */
        return false;
    }
    peer->sequence_in++;
    advance(ring, watch, slot_bytes);
    hand_on(ring, trailer, bytes, slot_bytes);
    return true;
}

int rbuf_ring_in_take(struct rbuf_ring_in *ring)
{
    struct rbuf_core *core = ring->peer->core;
    uint32_t slots = core->options.ring.slots;
    uint32_t taken = 0;

    /* A message may end the ring: by its peer's failure, say, when it is answered. */
    while (taken < slots && rbuf_ring_in_polled(ring) && take_one(ring)) {
        taken++;
    }
    core->stats.ring_received += taken;
    core->set.traffic += taken;
    return (int) taken;
}
