/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What must always hold of eager rings, whatever peers do (tests/inspect/eager.h): those that are
 * polled, those by which we send, and their memory.
 */
#include "inspect/eager.h"

#include "core/eager/polling_set.h"
#include "core/eager/ring_long.h"

/* All that `ring` says of the slots agrees with where its word is looked for. */
static const char *slots_fault(const struct rbuf_ring_in *ring, const struct rbuf_watch *watch,
                               const struct rbuf_ring_options *options)
{
    const unsigned char *slot_end =
        ring->memory->base + (ring->use % options->slots + 1) * options->slot_bytes;

    if ((const unsigned char *) (const void *) (watch->word + 1) != slot_end) {
        return "the word that is looked at is that of the use that is next";
    }
    if (ring->tail > ring->use) {
        return "no slot is free that was not used";
    }
    if (ring->tail % options->slots != ring->tail_slot) {
        return "the tail's slot is that of its use";
    }
    if (options->slots != 64 && ring->freed >> options->slots != 0) {
        return "a slot that is free is one of the ring's";
    }
    return (ring->freed >> ring->tail_slot & 1) == 0 ? NULL : "the tail moves as far as it can";
}

static const char *watch_fault(const struct rbuf_core *core, const struct rbuf_watch *watch)
{
    const struct rbuf_ring_in *ring = watch->ring;

    if (!rbuf_ring_in_polled(ring)) {
        return "a ring in the set is polled";
    }
    if (ring->watch != watch) {
        return "a ring knows its place in the set";
    }
    if (ring->peer->eager.ring_in != ring) {
        return "a ring is its peer's";
    }
    return slots_fault(ring, watch, &core->options.ring);
}

static const char *set_fault(const struct rbuf_core *core)
{
    const struct rbuf_polling_set *set = &core->eager.set;
    const char *fault = set->count <= set->limit ? NULL : "the polling set is bounded";

    for (uint32_t i = 0; fault == NULL && i < set->count; i++) {
        fault = watch_fault(core, &set->watch[i]);
    }
    return fault;
}

/* Of messages over several slots: they lie here as they lie there, and have room. */
static const char *long_fault(const struct rbuf_ring_out *out,
                              const struct rbuf_ring_options *options)
{
    const uint32_t slots =
        out->offer.slots - 1 + rbuf_ring_long_slots(out->longest, out->slot_bytes);

    if (out->slot_bytes != out->offer.slot_bytes || out->longest > out->offer.longest) {
        return "a long message lies here as it lies there, and is one that the peer takes";
    }
    return (size_t) slots * out->slot_bytes <= rbuf_ring_memory_bytes(options)
               ? NULL
               : "a long message has room behind the last slot";
}

static const char *out_fault(const struct rbuf_peer *peer)
{
    const struct rbuf_ring_out *out = &peer->eager.ring_out;
    const struct rbuf_ring_options *options = &peer->core->options.ring;
    const size_t ours = (size_t) options->slots * options->slot_bytes;

    if (out->state != RBUF_RING_OUT_OPEN) {
        return NULL;
    }
    if (out->memory == NULL || out->offer.slots == 0) {
        return "an open ring has slots";
    }
    if (out->local_end != out->memory->base + (out->use % out->offer.slots + 1) * out->slot_bytes) {
        return "the next message goes into the slot of its use";
    }
    if (out->local_end <= out->memory->base || out->local_end > out->memory->base + ours) {
        return "a slot of ours is in our memory";
    }
    if (out->room + sizeof(struct rbuf_ring_trailer) > out->offer.slot_bytes) {
        return "a message is no longer than the peer's slot";
    }
    if (out->remote_end <= out->offer.base ||
        out->remote_end - out->offer.base > (uint64_t) out->offer.slots * out->offer.slot_bytes) {
        return "what is written is in what was offered";
    }
    return out->longest > out->room ? long_fault(out, options) : NULL;
}

/* Every ring's memory is spare, or serves one ring, here or there. */
static const char *memory_fault(const struct rbuf_core *core, unsigned memories)
{
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
    if (count + out != memories) {
        return "no memory of rings is lost";
    }
    return out == core->eager.rings.out && out <= rbuf_rings_out_most(&core->options.ring)
               ? NULL
               : "rings to send by are counted right";
}

const char *inspect_rings_fault(const struct rbuf_core *core, unsigned memories)
{
    const char *fault = set_fault(core);

    for (uint32_t i = 0; fault == NULL && i < core->peer_count; i++) {
        fault = core->peers[i] != NULL ? out_fault(core->peers[i]) : NULL;
    }
    return fault != NULL ? fault : memory_fault(core, memories);
}
