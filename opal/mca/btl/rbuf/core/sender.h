/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Staged puts: the sending half of the superpipeline (paper 001, section 4).
 *
 * A put copies its chunks into blocks of the send arena and writes each chunk with one RDMA write
 * into the lane of the receiver's offer. Copying runs ahead of the window by one chunk; a chunk is
 * posted when the one that last used its buffer is acknowledged (or was never used in this
 * message). The put ends when its last chunk is posted: the user's memory is free then.
 *
 * If the offer took up the head that the rendezvous led (core/standing.h), the put goes on behind
 * what was written of it.
 *
 * A copied put does the same on this side and writes into the receiver's registered buffer: no
 * flags, no acknowledgements. It ends when the last chunk has arrived, since the adapter says so.
 *
 * Invariants: at most one chunk of a put is being filled; chunks whose window is open take staging
 * as long as there is any and give it back by completions alone, never by what a peer's software
 * does, so that two processes that receive all they can can still send; chunks that wait for their
 * window hold no more than half of the arena and one chunk.
 */
#ifndef RBUF_CORE_SENDER_H
#define RBUF_CORE_SENDER_H

#include "core/core.h"

enum rbuf_put_state {
    RBUF_PUT_UNGRANTED, /* waits for a GRANT */
    RBUF_PUT_FILLING,   /* chunk `next` is being copied */
    RBUF_PUT_FILLED,    /* chunk `next` waits for its window or for room in the send queue */
    RBUF_PUT_LANDING,   /* copied: the last chunks are under way */
    RBUF_PUT_DONE
};

/* The user sets source and offer, and owns it again with RBUF_EVENT_PUT or RBUF_EVENT_DIRECT. */
struct rbuf_put {
    const unsigned char *source; /* offer.bytes bytes */
    struct rbuf_offer offer;     /* STAGED or DEFERRED; after RBUF_EVENT_DIRECT it is DIRECT */

    enum rbuf_put_state state; /* core's, like everything below */
    struct rbuf_peer *peer;
    uint64_t head_chunks;          /* first ones, which go to a place of the standing lane */
    uint64_t head_address;         /* of that place */
    uint64_t head_flag;            /* of its first block */
    struct rbuf_chunk next;        /* shape of the chunk that is filled or to be filled */
    struct rbuf_tx_chunk *filling; /* NULL: no staging yet */
    uint32_t in_flight;            /* copied: chunks under way */
    TAILQ_ENTRY(rbuf_put) link;
};

/* Starts a put; it ends in an event, also if the offer makes no sense (-EPROTO). */
void rbuf_put_start(struct rbuf_peer *peer, struct rbuf_put *put);

/*
 * Starts a put whose offer is DIRECT (base, bytes and rkey count), from memory that is not
 * registered: its chunks are copied into send staging and written from there to their place. It
 * ends in RBUF_EVENT_PUT when all of it has arrived, or with a status.
 */
void rbuf_put_copied(struct rbuf_peer *peer, struct rbuf_put *put);

/* A rendezvous for `length` bytes at `source` is about to be sent: copy the first chunk while it is
 * under way. `source` is read by the next rbuf_core_progress(), or not at all. Replaces an earlier
 * wish for the same peer. With a standing lane the next message to the peer leads the head of what
 * was wished: that is read by the next rbuf_core_progress(), and the wish is fulfilled. */
void rbuf_prestage(struct rbuf_peer *peer, const void *source, uint64_t length);

/* Nobody will ask for what was staged, or is to be, from `source`. */
void rbuf_prestage_cancel(struct rbuf_peer *peer, const void *source);

/* For core's own files. Copies at most *budget bytes and takes them off it. */
int rbuf_sender_progress(struct rbuf_peer *peer, uint64_t *budget);
bool rbuf_sender_idle(const struct rbuf_peer *peer);
struct rbuf_peer *rbuf_sender_chunk_completed(struct rbuf_core *core, struct rbuf_work *work,
                                              int status);
void rbuf_sender_granted(struct rbuf_peer *peer, const struct rbuf_offer *offer);
void rbuf_sender_fail(struct rbuf_peer *peer, int status);
void rbuf_sender_close(struct rbuf_core *core);

#endif
