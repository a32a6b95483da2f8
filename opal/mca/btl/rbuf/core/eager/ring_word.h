/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The word at the end of a message in a ring, which says that the message is there, and how long it
 * is. It has one of two forms, as the receiver's offer says:
 *
 *     plain     | use, 47 bits                       | payload bytes, 17 |
 *     checked   | tag, 7 | payload bytes, 17 |       checksum, 40        |
 *
 * A plain word is trusted: the adapter places it last. A checked word proves its message: the
 * checksum covers all bytes that were written in front of it, and the use.
 *
 * The tag is the use modulo 127, and 1 more, so a word that was cleared has none. A slot's word is
 * written or cleared in every round of the ring, and a round has at most 64 uses, so what is left
 * of the round before has another tag: a tag that is right is of the message that is awaited.
 *
 * Of a long message (core/eager/ring_long.h) the words inside have a checksum of 0, and its last
 * word has that of the whole message.
 */
#ifndef RBUF_CORE_RING_WORD_H
#define RBUF_CORE_RING_WORD_H

#include <assert.h>
#include <stdint.h>

#include "core/base/checksum.h"
#include "core/base/wire.h"

#define RBUF_RING_TAGS      127u
#define RBUF_RING_TAG_SHIFT (RBUF_CHECKSUM_BITS + RBUF_RING_SIZE_BITS)

static_assert(RBUF_RING_SLOTS_MAX < RBUF_RING_TAGS, "tags differ from one round to the next");
static_assert((uint64_t) RBUF_RING_TAGS << RBUF_RING_TAG_SHIFT >> RBUF_RING_TAG_SHIFT ==
                  RBUF_RING_TAGS,
              "a tag fits above the size");

/* The word of a use with a size and a checksum of 0. */
static inline uint64_t rbuf_ring_word_of_use(enum rbuf_proof proof, uint64_t use)
{
    return proof == RBUF_PROOF_ORDER ? use << RBUF_RING_SIZE_BITS
                                     : (use % RBUF_RING_TAGS + 1) << RBUF_RING_TAG_SHIFT;
}

/* How many values a word of one use may have. */
static inline uint64_t rbuf_ring_word_span(enum rbuf_proof proof)
{
    return 1ull << (proof == RBUF_PROOF_ORDER ? RBUF_RING_SIZE_BITS : RBUF_RING_TAG_SHIFT);
}

/* The word of a use and a size, in bytes, with a checksum of 0. */
static inline uint64_t rbuf_ring_word(enum rbuf_proof proof, uint64_t use, uint32_t bytes)
{
    return rbuf_ring_word_of_use(proof, use) |
           (proof == RBUF_PROOF_ORDER ? bytes : (uint64_t) bytes << RBUF_CHECKSUM_BITS);
}

/* The payload's bytes, as a word with a checksum says. */
static inline uint32_t rbuf_ring_word_bytes(uint64_t word)
{
    return (uint32_t) (word >> RBUF_CHECKSUM_BITS) & ((1u << RBUF_RING_SIZE_BITS) - 1);
}

#endif
