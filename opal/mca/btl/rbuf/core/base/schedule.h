/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The chunk schedule: how a staged message is cut.
 *
 * Denis 2011 (core/rendezvous/sender.h), section 4, equation 5: C_i = C0 * q^i, here in whole
 * blocks and in integers only, capped by the staging buffer, and behind one smaller chunk if there
 * is an opening. Both sides compute it from the offer, so chunks carry no header.
 *
 * A block is `block_bytes` long and ends in a 64-bit flag; the rest is payload. Only the first
 * block of a message may hold less than a full payload; it is then right-aligned, so that a chunk
 * is one contiguous range that ends with its last flag; if it is less than half of one it does not
 * count as one of the chunk's. At the other end of the message it would cost: what hurries is
 * there, and blocks that lie across the fabric's packets are seen a packet later.
 *
 * Invariants: a chunk never spans messages; chunk i uses staging buffer i mod `buffers`; the chunks
 * of a length are a pure function of (length, struct rbuf_schedule).
 */
#ifndef RBUF_CORE_SCHEDULE_H
#define RBUF_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define RBUF_FLAG_BYTES    8u
#define RBUF_GROWTH_ONE    (1u << 16) /* q = 1 in 16.16 fixed point */
#define RBUF_GROWTH_MAX    (64u << 16)
#define RBUF_BUFFERS_MAX   16u
#define RBUF_BUFFER_BLOCKS 65535u /* most blocks that a staging buffer can have */

enum rbuf_taper {
    RBUF_TAPER_NONE, /* grow to the end: the receiver sees blocks as they arrive */
    RBUF_TAPER_TAIL  /* never more than half of what is left: the receiver sees whole chunks */
};

/* What both sides must agree on; travels in every offer. */
struct rbuf_schedule {
    uint32_t block_bytes;    /* a power of two, flag included */
    uint32_t growth;         /* q, 16.16 fixed point, at least RBUF_GROWTH_ONE */
    uint16_t first_blocks;   /* C0, at least 1 */
    uint16_t buffer_blocks;  /* largest chunk, at least first_blocks */
    uint8_t buffers;         /* 1..RBUF_BUFFERS_MAX */
    uint8_t taper;           /* enum rbuf_taper */
    uint16_t opening_blocks; /* of one chunk before those, whose copy nothing hides; 0: there is
                                none */
};

/* One chunk, and the state of walking through a message. */
struct rbuf_chunk {
    uint64_t index;       /* 0 for the first */
    uint64_t offset;      /* bytes of the message before this chunk */
    uint64_t first_block; /* blocks of the message before this chunk */
    uint32_t bytes;       /* payload */
    uint32_t blocks;
    uint32_t first_bytes; /* payload of its first block */
    uint64_t next_size;   /* unrounded size of the next chunk, blocks, 48.16 fixed point */
};

/* Payload bytes of a whole block. */
static inline uint32_t rbuf_block_payload(const struct rbuf_schedule *schedule)
{
    return schedule->block_bytes - RBUF_FLAG_BYTES;
}

/* Bytes of the buffers of one message. */
static inline uint64_t rbuf_schedule_lane(const struct rbuf_schedule *schedule)
{
    return (uint64_t) schedule->buffers * schedule->buffer_blocks * schedule->block_bytes;
}

/* True if a schedule received from outside can be walked without overflow or endless loop. */
bool rbuf_schedule_valid(const struct rbuf_schedule *schedule);

/* The first chunk of a message of `length` > 0 bytes. */
void rbuf_schedule_first(const struct rbuf_schedule *schedule, uint64_t length,
                         struct rbuf_chunk *chunk);

/* Steps to the next chunk; false, and `chunk` unchanged, after the last. */
bool rbuf_schedule_next(const struct rbuf_schedule *schedule, uint64_t length,
                        struct rbuf_chunk *chunk);

/* Sizes that a message of `length` bytes needs. */
struct rbuf_extent {
    uint64_t chunks;
    uint64_t blocks;         /* of the whole message: also the number of flag values it uses */
    uint32_t largest_blocks; /* of its largest chunk */
};

void rbuf_schedule_measure(const struct rbuf_schedule *schedule, uint64_t length,
                           struct rbuf_extent *extent);

/* Blocks of the whole chunks at the beginning of a long message that fit into `blocks` blocks one
 * behind the other, the first one at least, as far as there is room. In `*next`, unless it is NULL,
 * the blocks of the chunk that would follow. */
uint32_t rbuf_schedule_prefix(const struct rbuf_schedule *schedule, uint32_t blocks,
                              uint32_t *next);

/* Cuts a message of `length` bytes into chunks of one size, by equation 3 of Denis 2011:
 * sqrt(length * gap_bytes / 2), to the nearest block, one at least and no more than a buffer.
 * `gap_bytes` is what a core copies in the gap between two requests, g * B_copy. */
void rbuf_schedule_pipeline(struct rbuf_schedule *schedule, uint64_t length, uint64_t gap_bytes);

/* By what a message is cut behind early data that are cut by `early` and fill a slot of so many
 * blocks: `schedule`, with a first chunk as large as the one that would follow there. Chunks of one
 * size stay as they are: those of early data may have another one. */
struct rbuf_schedule rbuf_schedule_rest(const struct rbuf_schedule *early, uint32_t slot_blocks,
                                        const struct rbuf_schedule *schedule);

/* Lets no chunk be longer than `blocks`. */
void rbuf_schedule_fit(struct rbuf_schedule *schedule, uint32_t blocks);

/* Lets the buffers of a message fit into `blocks` > 0 blocks together: shortens the longest chunk,
 * and takes fewer buffers where there are more of them than blocks. No chunk is longer than
 * `most_bytes` either, which a request may have, but for one of a block. */
void rbuf_schedule_shrink(struct rbuf_schedule *schedule, uint64_t blocks, uint32_t most_bytes);

/* Bytes from the start of a chunk's first block to its first payload byte. */
static inline uint32_t rbuf_chunk_lead(const struct rbuf_schedule *schedule,
                                       const struct rbuf_chunk *chunk)
{
    return rbuf_block_payload(schedule) - chunk->first_bytes;
}

/* Bytes on the wire: payload and flags, one RDMA write. */
static inline uint32_t rbuf_chunk_wire_bytes(const struct rbuf_schedule *schedule,
                                             const struct rbuf_chunk *chunk)
{
    return chunk->blocks * schedule->block_bytes - rbuf_chunk_lead(schedule, chunk);
}

#endif
