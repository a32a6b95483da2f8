/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/eager (tests/inspect/eager.h): the polling set, rings from peers and to
 * them, messages that wait. What must always hold of rings is in eager_rings.c.
 */
#include "inspect/eager.h"

#include "core/eager/channel.h"
#include "core/eager/polling_set.h"
#include "core/eager/ring_in.h"
#include "core/eager/ring_long.h"

/* ---- the polling set ---- */

uint32_t inspect_polled(const struct rbuf_core *core)
{
    return core->eager.set.count;
}

const struct rbuf_peer *inspect_polled_at(const struct rbuf_core *core, uint32_t place)
{
    return place < core->eager.set.count ? core->eager.set.watch[place].ring->peer : NULL;
}

bool inspect_is_polled(const struct rbuf_peer *peer)
{
    return peer->eager.ring_in != NULL && rbuf_ring_in_polled(peer->eager.ring_in);
}

uint32_t inspect_epochs(const struct rbuf_core *core)
{
    return core->eager.set.epoch;
}

/* ---- the ring by which messages of a peer come ---- */

bool inspect_ring_is_idle(const struct rbuf_peer *peer)
{
    const struct rbuf_ring_in *ring = peer->eager.ring_in;

    return ring == NULL || (ring->tail == ring->use && ring->freed == 0);
}

uint64_t inspect_next_use(const struct rbuf_peer *peer)
{
    return peer->eager.ring_in->use;
}

unsigned char *inspect_slot_end(const struct rbuf_peer *peer, uint32_t ahead)
{
    const struct rbuf_ring_in *ring = peer->eager.ring_in;

    return ring->memory->base + ((ring->use + ahead) % ring->slots + 1) * ring->slot_bytes;
}

bool inspect_next_is_there(const struct rbuf_peer *peer)
{
    const struct rbuf_watch *watch = peer->eager.ring_in->watch;

    return rbuf_watch_hit(watch, atomic_load(watch->word));
}

bool inspect_ring_is_clean(const struct rbuf_peer *peer)
{
    const struct rbuf_ring_in *ring = peer->eager.ring_in;
    const size_t bytes = rbuf_ring_memory_bytes(&peer->core->options.ring);

    for (size_t end = ring->slot_bytes; end <= bytes; end += ring->slot_bytes) {
        if (*((const uint64_t *) (const void *) (ring->memory->base + end) - 1) >=
            ring->watch->expected) {
            return false;
        }
    }
    return true;
}

uint64_t inspect_ring_traffic(const struct rbuf_peer *peer)
{
    const struct rbuf_ring_in *ring = peer->eager.ring_in;

    return ring->use - ring->counted + ring->beside;
}

const struct rbuf_peer *inspect_ring_writer(const struct rbuf_core *core,
                                            const struct rbuf_ring_memory *memory)
{
    for (uint32_t i = 0; i < core->eager.set.limit; i++) {
        const struct rbuf_ring_in *ring = &core->eager.set.rings[i];

        if (ring->state != RBUF_RING_IN_FREE && ring->memory == memory) {
            return ring->peer;
        }
    }
    return NULL;
}

/* ---- the ring by which we send to a peer ---- */

uint32_t inspect_rings_out(const struct rbuf_core *core)
{
    return core->eager.rings.out;
}

uint32_t inspect_slot_room(const struct rbuf_peer *peer)
{
    return peer->eager.ring_out.state == RBUF_RING_OUT_OPEN ? peer->eager.ring_out.room : 0;
}

struct rbuf_ring_offer inspect_last_offer(const struct rbuf_peer *peer)
{
    return peer->eager.ring_out.offer;
}

/* ---- messages to a peer that wait ---- */

unsigned inspect_waiting_kind(const struct rbuf_peer *peer, enum rbuf_channel_id channel,
                              unsigned place)
{
    const struct rbuf_am *am = TAILQ_FIRST(&peer->eager.queued[channel]);

    while (am != NULL && place-- > 0) {
        am = TAILQ_NEXT(am, link);
    }
    return am != NULL ? am->kind : 0;
}

bool inspect_waits_behind_rts(const struct rbuf_peer *peer)
{
    return peer->eager.behind_rts != NULL;
}

/* ---- states that core does not come to by itself ---- */

void inspect_skip_number(struct rbuf_peer *peer)
{
    peer->eager.sequence_out++;
}
