/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager rings: small messages by one RDMA write each (Liu, Wu and Panda, "High Performance
 * RDMA-Based MPI Implementation over InfiniBand", 2004, sections 3.2 and 4).
 *
 * A ring is a run of slots in the receiver's memory, each tied for good to one slot in the sender's
 * (the paper's persistent buffer association), used in turn. A message stands at the end of its
 * slot (the bottom-fill of the paper's footnote):
 *
 *     | free ... | payload, from a multiple of 8 bytes on | up to 7 bytes | header | word |
 *
 * `word` names the use and the payload's size (core/eager/ring_word.h). The use counts the slots
 * of this memory that were ever taken, so its value never comes again and nothing is cleared
 * between two uses; the receiver waits for the one word at the end of the slot that is next.
 * Payload never lies where a word is looked for, but for long messages, which see to that
 * themselves.
 *
 * Writer of a word: the sender's adapter, with the other bytes of one write. On adapters that place
 * a write in order it comes last. On others it holds a checksum of all bytes of the message, and as
 * long as that does not agree with what the receiver reads the message has not come. Nothing is
 * known of the order of several writes: a message is one, or each of its writes ends with a word
 * (core/eager/ring_long.h), and it waits for its turn. Reader: the receiver, with acquire, before
 * header and payload.
 *
 * A slot is written again only after its credit came back (core/link/credit.h), which also tells
 * that the adapter is done with the sender's slot: writes are unsignalled and nothing waits for
 * them. When the ring is full the message goes over send/receive; the sequence numbers that all
 * messages of the control channel carry put the two in one order again (core/inbox.c).
 *
 * What is longer than a slot takes several (core/eager/ring_long.h).
 *
 *     ring_out.c     the sender's half; ring_out.h: a message of it
 *     ring_long.c    a message over several slots; ring_long.h: where it stands
 *     ring_in.c      the receiver's half
 *     polling_set.c  which peers have a ring to us
 */
#ifndef RBUF_CORE_RING_H
#define RBUF_CORE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/state/state.h"

/* Bytes by which the bases of the rings are to differ, modulo a page, one from the next: the words
 * that are polled would else fall into the same few sets of the cache. */
#define RBUF_RING_STAGGER 64u
#define RBUF_RING_STEPS   64u

/* Largest payload of a slot, bytes. */
static inline uint32_t rbuf_ring_room(const struct rbuf_ring_options *options)
{
    return options->slot_bytes - (uint32_t) sizeof(struct rbuf_ring_trailer);
}

/* Bytes that a payload occupies in a slot: it begins at a multiple of 8. */
static inline uint32_t rbuf_ring_padded(uint32_t bytes)
{
    return (bytes + 7u) & ~7u;
}

/* Bytes that are written of a slot. */
static inline uint32_t rbuf_ring_length(uint32_t bytes)
{
    return (uint32_t) sizeof(struct rbuf_ring_trailer) + rbuf_ring_padded(bytes);
}

/* Most rings that a process sends by. As many are leased as are taken in the whole job, but the
 * receivers decide which: where there is no slack, who changes partners is declined by some until
 * others let go. */
static inline uint32_t rbuf_rings_out_most(const struct rbuf_ring_options *options)
{
    return 2 * options->set;
}

/* Answers RBUF_EVENT_RING_MEMORY; NULL: none can be had, core goes on with what it has. */
void rbuf_ring_memory_give(struct rbuf_core *core, struct rbuf_ring_memory *memory);

/* For core's own files: spare memory, or NULL and it is asked for if that makes sense. */
struct rbuf_ring_memory *rbuf_ring_memory_take(struct rbuf_core *core);
void rbuf_ring_memory_return(struct rbuf_core *core, struct rbuf_ring_memory *memory);

/* ---- the sender's half ---- */

/* True if a message of `bytes` goes by the ring, were there a free slot. */
static inline bool rbuf_ring_out_takes(const struct rbuf_ring_out *out, uint32_t bytes)
{
    return out->state == RBUF_RING_OUT_OPEN && bytes <= out->room;
}

void rbuf_ring_out_invited(struct rbuf_peer *peer, const struct rbuf_ring_offer *offer);
void rbuf_ring_out_recalled(struct rbuf_peer *peer);
void rbuf_ring_out_handed_back(struct rbuf_peer *peer); /* a RETURN has left the adapter */
void rbuf_ring_out_supplied(struct rbuf_core *core);    /* there may be memory now */
void rbuf_ring_out_count(struct rbuf_core *core);       /* at an epoch of the polling set */
void rbuf_ring_out_fail(struct rbuf_peer *peer);
void rbuf_ring_out_remove(struct rbuf_peer *peer);

/* ---- the receiver's half ---- */

static inline bool rbuf_ring_in_polled(const struct rbuf_ring_in *ring)
{
    return ring->state == RBUF_RING_IN_POLLED || ring->state == RBUF_RING_IN_RECALLED;
}

#endif
