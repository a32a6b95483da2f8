/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A fabric that costs nothing: a write is a copy, a send waits in the queue pair of the other side,
 * everything is complete when it is posted. For counting what core itself spends on a message.
 */
#ifndef RBUF_COST_FABRIC_H
#define RBUF_COST_FABRIC_H

#define COST_SENDS         64u
#define COST_SEND_BYTES    256u
#define NULL_FABRIC_INLINE COST_SEND_BYTES
#define NULL_FABRIC_ROOM   1024u

#include "../null_fabric.h"

/* A queue pair: what was sent to this side and not taken yet. */
struct rbuf_fab_queue {
    struct rbuf_fab_queue *other;
    uint32_t first;
    uint32_t count;
    uint32_t bytes[COST_SENDS];
    _Alignas(16) unsigned char sent[COST_SENDS][COST_SEND_BYTES];
};

static inline void null_fabric_wrote(struct rbuf_fab_queue *queue)
{
    (void) queue;
}

/* One piece, unsignalled: what core sends small messages with. */
static inline enum rbuf_fab_status rbuf_fab_send(struct rbuf_fab_queue *queue,
                                                 const struct rbuf_fab_piece *pieces,
                                                 unsigned count, bool inlined,
                                                 struct rbuf_work *work)
{
    struct rbuf_fab_queue *other = queue->other;
    uint32_t place = (other->first + other->count) % COST_SENDS;

    if (count != 1 || !inlined || work != NULL || other->count == COST_SENDS) {
        return RBUF_FAB_DEAD;
    }
    memcpy(other->sent[place], pieces->address, pieces->bytes);
    other->bytes[place] = pieces->bytes;
    other->count++;
    return RBUF_FAB_OK;
}

#endif
