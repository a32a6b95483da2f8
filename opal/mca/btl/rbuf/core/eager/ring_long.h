/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Long messages of a ring: those that take several slots in a row. Where they stand there, and how
 * long they may be.
 *
 *        slot i                    slot i + 1                   slot i + n - 1
 *     | free ... | payload | word |  payload  [ | word ] ... | payload | displaced, words, last |
 *
 * A long message ends where its last slot ends, with a trailer whose word is of that slot's use. It
 * covers the ends of the slots before. At the first of them, where the receiver looks, stands a
 * word too, in place of 8 bytes of the payload, which are `displaced` into the trailer: it says
 * that a message has begun that is longer than a slot.
 *
 * A message may leave in several writes, parts, each from behind the one before to the end of a
 * slot. That an adapter places the bytes of a write in order says nothing of those of several
 * writes (ibv_query_qp_data_in_order(3)). So each part ends with a word of its own: the last with
 * the trailer's, the others with one in place of payload, as the first. The trailer tells which
 * slots end so, and the receiver takes the message when it has seen all of these words. Where the
 * bytes of a write come in any order, it also waits until the checksum in the last word, which is
 * of the whole message as it stands in the ring, is right. A message
 * that is to leave in one write has a shorter trailer, as in a stream each byte costs.
 *
 * Invariants:
 * - The number of slots is that with the longer trailer, whichever the message has.
 * - A message that begins in one of the last slots goes on behind the ring: its memory has span - 1
 *   slots more than the ring, and no message begins there. The first slots of the ring, whose uses
 *   the message takes, stay as they are.
 * - Payload at the end of a slot, which might be like a word, does not outlive its message: the
 *   receiver clears the ends that a message covered before the slots' credits go back. And as long
 *   as no slot of the ring is free it looks at none.
 */
#ifndef RBUF_CORE_RING_LONG_H
#define RBUF_CORE_RING_LONG_H

#include "core/state/state.h"
#include "core/eager/ring.h"

#define RBUF_RING_WORD_BYTES 8u
/* The longer trailer. */
#define RBUF_RING_LONG_EXTRA ((uint32_t) sizeof(struct rbuf_ring_parts_trailer))

/* Slots that a long message takes. */
static inline uint32_t rbuf_ring_long_slots(uint32_t payload, uint32_t slot_bytes)
{
    return (rbuf_ring_padded(payload) + RBUF_RING_LONG_EXTRA + slot_bytes - 1) / slot_bytes;
}

/* The longest payload that takes `span` slots, bytes. */
static inline uint32_t rbuf_ring_long_most(uint32_t span, uint32_t slot_bytes)
{
    const uint32_t most = span * slot_bytes - RBUF_RING_LONG_EXTRA;

    return most < RBUF_RING_BYTES_MAX ? most : RBUF_RING_BYTES_MAX;
}

/* Most slots of one message in the rings that we lease: half of them, so that a ring whose credits
 * are on their way back still takes one. 1: no message is long. */
static inline uint32_t rbuf_ring_span(const struct rbuf_ring_options *options)
{
    const uint32_t most = options->slots / 2;
    uint32_t span;

    if (options->longest <= rbuf_ring_room(options)) {
        return 1;
    }
    span = rbuf_ring_long_slots(options->longest, options->slot_bytes);
    return span < most ? span : most;
}

/* Largest payload that goes by the rings that we lease, bytes. */
static inline uint32_t rbuf_ring_longest(const struct rbuf_ring_options *options)
{
    const uint32_t span = rbuf_ring_span(options);
    const uint32_t most = rbuf_ring_long_most(span, options->slot_bytes);

    if (span == 1) {
        return rbuf_ring_room(options);
    }
    return most < options->longest ? most : options->longest;
}

/* What struct rbuf_ring_memory has, bytes. */
static inline size_t rbuf_ring_memory_bytes(const struct rbuf_ring_options *options)
{
    return (size_t) (options->slots + rbuf_ring_span(options) - 1) * options->slot_bytes;
}

/*
 * Sending. The payload goes to where begin says, from its first byte on, and may leave in chunks
 * while the rest is being put there: the network carries the one while the processor copies the
 * other. The lock is held from begin to end.
 */

/* Where a payload of `bytes` for the peer is to be written, or NULL: it cannot go so now. Nothing
 * is kept: without lead and end nothing happens. */
void *rbuf_ring_long_begin(struct rbuf_peer *peer, uint32_t bytes);

/* Where a part may end that is to end behind `wanted` bytes of the payload: the nearest end of a
 * slot, in bytes of the payload; or all of it, where that ends before. */
uint32_t rbuf_ring_long_part(const struct rbuf_peer *peer, uint32_t wanted);

/* The first `ready` bytes of the payload stand there, and no more of it changes them: they are
 * sent, as far as a slot ends, if the network may be idle, the queue pair has room for the rest
 * too, and the trailer for one more word. Once this was called, end must be. */
void rbuf_ring_long_write_part(struct rbuf_peer *peer, uint32_t ready);

/* Posts what has not left of the message, a user's; false: the peer is lost, or nothing had left
 * and the queue pair has no room; what was written has to be written anew to take another path. */
bool rbuf_ring_long_end(struct rbuf_peer *peer, uint8_t tag, uint64_t argument);

/* The same with the last bytes of the payload gathered from `data`, as rbuf_ring_out_gather(), in
 * one write. The caller counts the message. */
bool rbuf_ring_long_gather(struct rbuf_peer *peer, uint8_t tag, uint64_t argument,
                           const struct rbuf_fab_piece *data, struct rbuf_work *work);

#endif
