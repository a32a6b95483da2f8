/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Chunks in the send arena: the staging of one write, from the first byte that is copied into it to
 * the completion of the write; or of one read of a copied get, from its post to the last byte that
 * is copied out of it.
 */
#ifndef RBUF_CORE_TX_CHUNK_H
#define RBUF_CORE_TX_CHUNK_H

#include "core/state/state.h"

struct rbuf_tx_chunk {
    struct rbuf_work work; /* first: a work that came back is its chunk */
    struct rbuf_peer *peer;
    struct rbuf_put *put; /* that counts it as in flight, if the peer has not failed; NULL: none */
    struct rbuf_early_data *early; /* that it is a chunk of; NULL: it goes to a put's lane */
    struct rbuf_get *get;          /* that it is read for; NULL: none */
    struct rbuf_chunk shape;
    enum rbuf_proof proof; /* of its blocks */
    uint32_t arena_first;
    uint32_t arena_blocks;
    uint32_t filled;                  /* bytes of payload copied, into it or out of it */
    uint32_t filled_blocks;           /* blocks of payload copied */
    STAILQ_ENTRY(rbuf_tx_chunk) link; /* of the free ones, or of those that a get is to copy */
};

/* Copied puts of a peer, and gets, that have begun. Further ones wait in a list: each call of
 * progress looks at all that have begun, and a program may start any number before it waits. */
#define RBUF_COPIED_AT_ONCE 32u

/* Blocks of the arena that `blocks` blocks of the schedule take. */
uint32_t rbuf_tx_chunk_blocks(const struct rbuf_arena *arena, const struct rbuf_schedule *schedule,
                              uint32_t blocks);

/*
 * True if the next chunk of a copied put or get may be under way beside the `under_way` bytes of
 * its peer in that direction. They share as much as one message would have: in the send queue
 * requests leave in their order, and those of the other direction would wait for all that were
 * posted before. `first`: none of that operation is under way; a short chunk goes then, so that
 * short operations do not wait for the end of the long ones before them.
 */
bool rbuf_tx_chunk_may_go(const struct rbuf_core *core, uint64_t under_way, bool first,
                          uint32_t bytes);

/* NULL when there is no staging (or no memory) for the shape now. */
struct rbuf_tx_chunk *rbuf_tx_chunk_take(struct rbuf_peer *peer,
                                         const struct rbuf_schedule *schedule,
                                         const struct rbuf_chunk *shape);
void rbuf_tx_chunk_free(struct rbuf_core *core, struct rbuf_tx_chunk *chunk);

/* Copies payload of the message at `source`, block by block, until the budget is used up: to where
 * it is to be in a lane, the flags left free. Flags with checksums are written at once; that of the
 * message's first block is `flag`. */
void rbuf_tx_chunk_fill(struct rbuf_tx_chunk *chunk, const struct rbuf_schedule *schedule,
                        enum rbuf_proof proof, uint64_t flag, const unsigned char *source,
                        uint64_t *budget);

/* The same of a copied put's chunk, which lies in the arena as in the user's buffer. */
void rbuf_tx_chunk_fill_dense(struct rbuf_tx_chunk *chunk, const unsigned char *source,
                              uint64_t *budget);

/* Writes the flags without checksums into the blocks, the message's first one being `flag`; as
 * often as the post is tried. They reach the receiver
 * with the payload in front of them; the post that follows orders these stores before the adapter's
 * reads. */
void rbuf_tx_chunk_stamp(struct rbuf_tx_chunk *chunk, const struct rbuf_schedule *schedule,
                         uint64_t flag);

/* Writes the chunk to where its first block is at the peer, flags and all, over the bulk channel.
 */
enum rbuf_fab_status rbuf_tx_chunk_write(struct rbuf_tx_chunk *chunk,
                                         const struct rbuf_schedule *schedule, uint64_t first_block,
                                         uint32_t rkey);

/* The same, announced by an immediate, for which it takes a credit. */
enum rbuf_fab_status rbuf_tx_chunk_write_announced(struct rbuf_tx_chunk *chunk,
                                                   const struct rbuf_schedule *schedule,
                                                   uint64_t first_block, uint32_t rkey,
                                                   uint32_t immediate);

#endif
