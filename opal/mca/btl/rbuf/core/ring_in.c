/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include <assert.h>

#include "core/core.h"
#include "core/inbox.h"
#include "core/polling_set.h"
#include "core/ring.h"

/* Every use before `tail` is free: the peer gets a credit for the one at it. */
static void advance_tail(struct rbuf_ring_in *ring)
{
    ring->tail++;
    ring->tail_slot = ring->tail_slot + 1 == ring->slots ? 0 : ring->tail_slot + 1;
    rbuf_credit_consumed(ring->peer, RBUF_FLOW_RING);
}

void rbuf_ring_in_free(struct rbuf_ring_in *ring, uint32_t slot)
{
    assert((ring->freed >> slot & 1) == 0);
    if (slot == ring->tail_slot && ring->freed == 0) { /* in order, as nearly always */
        advance_tail(ring);
    } else {
        ring->freed |= 1ull << slot;
        while ((ring->freed >> ring->tail_slot & 1) != 0) {
            ring->freed &= ~(1ull << ring->tail_slot);
            advance_tail(ring);
        }
    }
    if (ring->state == RBUF_RING_IN_DRAINING) {
        rbuf_polling_set_drained(ring);
    }
}

/* The slot behind the one with the next message is looked at from now on. */
static void advance(struct rbuf_ring_in *ring, struct rbuf_watch *watch)
{
    const unsigned char *word = (const unsigned char *) (const void *) watch->word;

    if (++ring->slot == ring->slots) {
        ring->slot = 0;
        word -= (size_t) ring->slots * ring->slot_bytes;
    }
    watch->word = (const _Atomic uint64_t *) (const void *) (word + ring->slot_bytes);
    watch->expected += 1ull << RBUF_RING_SIZE_BITS;
}

/* Hands on the message in the slot, which ends with `trailer`, if it is well-formed; else the slot
 * is free. */
static void hand_on(struct rbuf_ring_in *ring, const struct rbuf_ring_trailer *trailer,
                    uint32_t slot, uint32_t bytes)
{
    struct rbuf_peer *peer = ring->peer;
    uint32_t padded = (bytes + 7u) & ~7u;
    struct rbuf_delivery place = {.origin = RBUF_ORIGIN_RING,
                                  .data = (unsigned char *) (uintptr_t) trailer - padded,
                                  .bytes = bytes,
                                  .slot = (uint8_t) slot};

    rbuf_credit_heard(&peer->counts, trailer->header.credit);
    if (padded > ring->slot_bytes - sizeof(*trailer)) {
        peer->core->stats.messages_refused++;
    } else if (rbuf_inbox_take(peer, &trailer->header, place)) {
        return;
    }
    rbuf_ring_in_free(ring, slot);
}

/* Takes the next message; false if it has not arrived, or it is not its turn. */
static bool take_one(struct rbuf_ring_in *ring)
{
    struct rbuf_peer *peer = ring->peer;
    struct rbuf_watch *watch = ring->watch;
    /* Pairs with the adapter placing the end of the peer's write after all else of it. */
    uint64_t word = atomic_load_explicit(watch->word, memory_order_acquire);
    uint32_t bytes = (uint32_t) (word - watch->expected);
    uint32_t slot = ring->slot;
    const struct rbuf_ring_trailer *trailer =
        (const struct rbuf_ring_trailer *) (const void *) (watch->word + 1) - 1;

    if (!rbuf_watch_hit(watch, word)) {
        return false;
    }
    if (trailer->header.sequence != peer->sequence_in) {
        peer->core->stats.ring_waits++; /* what comes first is in a completion queue */
        return false;
    }
    peer->sequence_in++;
    advance(ring, watch);
    hand_on(ring, trailer, slot, bytes);
    return true;
}

int rbuf_ring_in_take(struct rbuf_ring_in *ring)
{
    struct rbuf_core *core = ring->peer->core;
    uint32_t taken = 0;

    /* A message may end the ring: by its peer's failure, say, when it is answered. */
    while (taken < ring->slots && rbuf_ring_in_polled(ring) && take_one(ring)) {
        taken++;
    }
    core->stats.ring_received += taken;
    core->set.traffic += taken;
    return (int) taken;
}
