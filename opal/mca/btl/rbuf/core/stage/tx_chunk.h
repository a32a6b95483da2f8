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
    union { /* whose it is, as who has set the work's `completed` knows; a lane's: nobody's */
        struct rbuf_early_data *early;
        struct rbuf_put *put; /* copied: if the peer has not failed */
        struct rbuf_get *get; /* likewise */
    };
    struct rbuf_chunk shape;
    enum rbuf_proof proof; /* of its blocks */
    unsigned char *data;   /* its staging */
    uint32_t lkey;
    uint32_t arena_first; /* block */
    uint32_t arena_blocks;
    uint32_t filled;                  /* bytes of payload copied, into it or out of it */
    uint32_t filled_blocks;           /* blocks of payload copied */
    STAILQ_ENTRY(rbuf_tx_chunk) link; /* of the free ones, or of those that a get is to copy */
};

/* Blocks of the arena that `blocks` blocks of the schedule take. */
uint32_t rbuf_tx_chunk_blocks(const struct rbuf_arena *arena, const struct rbuf_schedule *schedule,
                              uint32_t blocks);

/* A chunk that is free when its work comes back. NULL when there is no staging (or no memory) for
 * the shape now. */
struct rbuf_tx_chunk *rbuf_tx_chunk_take(struct rbuf_peer *peer,
                                         const struct rbuf_schedule *schedule,
                                         const struct rbuf_chunk *shape);
void rbuf_tx_chunk_free(struct rbuf_core *core, struct rbuf_tx_chunk *chunk);

void rbuf_tx_chunks_open(struct rbuf_core *core);
void rbuf_tx_chunks_close(struct rbuf_core *core); /* none is under way */

/* The chunk whose work came back. */
static inline struct rbuf_tx_chunk *rbuf_tx_chunk_of(struct rbuf_work *work)
{
    return (struct rbuf_tx_chunk *) (void *) work; /* its first member */
}

/* Copies payload of the message at `source`, block by block, until the budget is used up: to where
 * it is to be in a lane, the flags left free. Flags with checksums are written at once; that of the
 * message's first block is `flag`. */
void rbuf_tx_chunk_fill(struct rbuf_tx_chunk *chunk, const struct rbuf_schedule *schedule,
                        enum rbuf_proof proof, uint64_t flag, const unsigned char *source,
                        uint64_t *budget);

/* The same of a copied put's chunk, which lies in the arena as in the user's buffer. */
void rbuf_tx_chunk_fill_dense(struct rbuf_tx_chunk *chunk, const unsigned char *source,
                              uint64_t *budget);

/* Writes the chunk, flags and all, over the bulk channel to `address`, where its first block is at
 * the peer; `flag` is that of the message's first block. The post orders the stores of flags before
 * the adapter's reads. With `immediate` that announces it, for which it takes a credit; else NULL.
 */
enum rbuf_fab_status rbuf_tx_chunk_write(struct rbuf_tx_chunk *chunk,
                                         const struct rbuf_schedule *schedule, uint64_t flag,
                                         uint64_t address, uint32_t rkey,
                                         const uint32_t *immediate);

#endif
