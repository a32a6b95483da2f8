/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What must hold of eager rings whatever the foe does (see core_fuzz.h).
 */
#include "core_fuzz.h"

#include "core/eager/ring_long.h"

/* All that `ring` says of the slots agrees with where its word is looked for. */
static void watch_ring(const struct rbuf_core *core, const struct rbuf_watch *watch)
{
    const struct rbuf_ring_options *options = &core->options.ring;
    const struct rbuf_ring_in *ring = watch->ring;
    uint64_t use = watch->ring->use;
    const unsigned char *slot_end =
        ring->memory->base + (use % options->slots + 1) * options->slot_bytes;

    fuzz_require(rbuf_ring_in_polled(ring), "a ring in the set is polled");
    fuzz_require(ring->watch == watch, "a ring knows its place in the set");
    fuzz_require(ring->peer->eager.ring_in == ring, "a ring is its peer's");
    fuzz_require((const unsigned char *) (const void *) (watch->word + 1) == slot_end,
                 "the word that is looked at is that of the use that is next");
    fuzz_require(ring->tail <= use, "no slot is free that was not used");
    fuzz_require(ring->tail % options->slots == ring->tail_slot,
                 "the tail's slot is that of its use");
    fuzz_require(options->slots == 64 || ring->freed >> options->slots == 0,
                 "a slot that is free is one of the ring's");
    fuzz_require((ring->freed >> ring->tail_slot & 1) == 0, "the tail moves as far as it can");
}

static void watch_out(const struct rbuf_peer *peer)
{
    const struct rbuf_ring_out *out = &peer->eager.ring_out;
    const struct rbuf_ring_options *options = &peer->core->options.ring;
    const size_t ours = (size_t) options->slots * options->slot_bytes;

    if (out->state != RBUF_RING_OUT_OPEN) {
        return;
    }
    fuzz_require(out->memory != NULL && out->offer.slots > 0, "an open ring has slots");
    fuzz_require(out->local_end ==
                     out->memory->base + (out->use % out->offer.slots + 1) * out->slot_bytes,
                 "the next message goes into the slot of its use");
    fuzz_require(out->local_end > out->memory->base && out->local_end <= out->memory->base + ours,
                 "a slot of ours is in our memory");
    fuzz_require(out->room + sizeof(struct rbuf_ring_trailer) <= out->offer.slot_bytes,
                 "a message is no longer than the peer's slot");
    fuzz_require(out->remote_end > out->offer.base &&
                     out->remote_end - out->offer.base <=
                         (uint64_t) out->offer.slots * out->offer.slot_bytes,
                 "what is written is in what was offered");
    if (out->longest > out->room) {
        const uint32_t slots =
            out->offer.slots - 1 + rbuf_ring_long_slots(out->longest, out->slot_bytes);

        fuzz_require(out->slot_bytes == out->offer.slot_bytes && out->longest <= out->offer.longest,
                     "a long message lies here as it lies there, and is one that the peer takes");
        fuzz_require((size_t) slots * out->slot_bytes <= rbuf_ring_memory_bytes(options),
                     "a long message has room behind the last slot");
    }
}

/* Every ring's memory is spare, or serves one ring, here or there. */
static void watch_memory(const struct world_node *node)
{
    const struct rbuf_core *core = &node->core;
    const struct rbuf_ring_memory *memory;
    unsigned count = 0, out = 0;

    SLIST_FOREACH(memory, &core->eager.rings.spare, link)
    {
        count++;
    }
    for (uint32_t i = 0; i < core->eager.set.limit; i++) {
        count += core->eager.set.rings[i].state != RBUF_RING_IN_FREE;
    }
    for (uint32_t i = 0; i < core->peer_count; i++) {
        out += core->peers[i] != NULL && core->peers[i]->eager.ring_out.memory != NULL;
    }
    fuzz_require(count + out == node->ring_memory_count, "no memory of rings is lost");
    fuzz_require(out == core->eager.rings.out && out <= rbuf_rings_out_most(&core->options.ring),
                 "rings to send by are counted right");
}

void watch_rings(const struct world_node *node)
{
    const struct rbuf_core *core = &node->core;

    fuzz_require(core->eager.set.count <= core->eager.set.limit, "the polling set is bounded");
    for (uint32_t i = 0; i < core->eager.set.count; i++) {
        watch_ring(core, &core->eager.set.watch[i]);
    }
    for (uint32_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i] != NULL) {
            watch_out(core->peers[i]);
        }
    }
    watch_memory(node);
}
