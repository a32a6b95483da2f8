/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Receiving by a ring: messages are taken out of the slots in their turn, and slots are freed.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_RING_IN_H
#define RBUF_CORE_RING_IN_H

#include "core/eager/ring.h"

/* The ring by which messages of the peer come; NULL: it is not in the polling set. */
static inline struct rbuf_ring_in *rbuf_ring_in_of(const struct rbuf_peer *peer)
{
    return peer->eager.ring_in;
}

/* Takes the messages that have arrived and whose turn it is; returns their number. */
int rbuf_ring_in_take(struct rbuf_ring_in *ring);

/* The message in the slot was dealt with; likewise a long one with `bytes` of payload, which begins
 * in it. */
void rbuf_ring_in_free(struct rbuf_ring_in *ring, uint32_t slot);
void rbuf_ring_in_free_long(struct rbuf_ring_in *ring, uint32_t slot, uint32_t bytes);

#endif
