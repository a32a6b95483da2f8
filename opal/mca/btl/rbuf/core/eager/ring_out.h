/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Sending by a ring: where a message goes, and that it goes. The first is inline, as it is asked
 * for every small message.
 */
#ifndef RBUF_CORE_RING_OUT_H
#define RBUF_CORE_RING_OUT_H

#include "core/state/state.h"
#include "core/link/credit.h"
#include "core/eager/ring.h"

/* Where a payload of `bytes` for the peer is to be written, or NULL: it cannot go by the ring now.
 * Nothing is kept: without rbuf_ring_out_end() nothing happens. */
static inline void *rbuf_ring_out_begin(struct rbuf_peer *peer, uint32_t bytes)
{
    const struct rbuf_ring_out *out = &peer->eager.ring_out;

    if (!rbuf_ring_out_takes(out, bytes) || !rbuf_credit_available(peer, RBUF_FLOW_RING)) {
        return NULL;
    }
    return out->local_end - sizeof(struct rbuf_ring_trailer) - rbuf_ring_padded(bytes);
}

/* Posts the message that was begun; false, and nothing has happened, if the queue pair has no room.
 */
bool rbuf_ring_out_end(struct rbuf_peer *peer, enum rbuf_message_kind kind, uint8_t tag,
                       uint32_t bytes, uint64_t argument);

/* The same of a user's message, which it counts: what a small message takes, so it is a function of
 * its own. */
bool rbuf_ring_out_end_user(struct rbuf_peer *peer, uint8_t tag, uint32_t bytes, uint64_t argument);

/* The same, not counted, with the last bytes of the payload gathered from `data`; only those before
 * them stand where begin said. `work` comes back when the data has been fetched. False also of a
 * ring with checksums, which only a copy can make. */
bool rbuf_ring_out_gather(struct rbuf_peer *peer, uint8_t tag, uint32_t bytes, uint64_t argument,
                          const struct rbuf_fab_piece *data, struct rbuf_work *work);

/* True if messages of `bytes` go to the peer by its ring, while that has room. */
static inline bool rbuf_ring_out_carries(const struct rbuf_peer *peer, size_t bytes)
{
    const struct rbuf_ring_out *out = &peer->eager.ring_out;

    return out->state == RBUF_RING_OUT_OPEN && bytes <= out->longest;
}

/* A message of `bytes` has left that takes so many slots. */
static inline void rbuf_ring_out_posted(struct rbuf_peer *peer, uint32_t slots, uint32_t bytes)
{
    rbuf_credit_use(peer, RBUF_FLOW_RING, slots);
    peer->eager.sequence_out++;
    rbuf_credit_advertised(peer);
    peer->core->stats.ring_sent++;
    peer->core->stats.ring_bytes += bytes;
}

#endif
