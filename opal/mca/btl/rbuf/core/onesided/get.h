/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Copied gets: from registered memory of the peer into memory that is not registered. The
 * superpipeline the other way round (core/rendezvous/sender.h): chunks are read into blocks of the
 * send arena and copied to their place as they arrive, while those behind them are on the wire.
 * What nothing hides is the copy of the last one, so chunks shrink towards the end
 * (core/base/cut.h).
 *
 *     WAITING -> ASKING -> LANDING -> DONE
 *
 * Invariants: the gets of a peer have no more bytes of staging than a lane, but for a short chunk
 * of each (core/stage/copies.h), and no more reads than the adapter has under way at a time; chunks
 * give staging back when they have arrived and are copied, whatever the peer's software does;
 * behind a get that waits for staging none takes any.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_GET_H
#define RBUF_CORE_GET_H

#include "core/state/state.h"

/* What a copied get waits for. */
#define RBUF_GET_STATES(STATE)                                                                     \
    STATE(RBUF_GET_, WAITING) /* the end of one of those that have begun */                        \
    STATE(RBUF_GET_, ASKING)  /* that chunk `next` may be read */                                  \
    STATE(RBUF_GET_, LANDING) /* the last chunks: to arrive, and to be copied */                   \
    STATE(RBUF_GET_, DONE)    /* nothing: its user owns it */

enum rbuf_get_state { RBUF_GET_STATES(RBUF_STATE) };

/* The user sets everything down to `rkey`, and owns it again with its RBUF_EVENT_GET. */
struct rbuf_get {
    unsigned char *target;
    uint64_t remote; /* registered at the peer */
    uint64_t bytes;  /* > 0 */
    uint32_t rkey;

    enum rbuf_get_state state; /* core's, like everything below */
    struct rbuf_peer *peer;
    struct rbuf_chunk next; /* to be read */
    struct rbuf_copy copy;
    struct rbuf_tx_chunk_list landed; /* of those, to be copied, in order */
    TAILQ_ENTRY(rbuf_get) link;
    struct rbuf_event_place ended;
};

/* Starts a get; it ends in RBUF_EVENT_GET when the data is at its place, or with a status. */
void rbuf_get_start(struct rbuf_peer *peer, struct rbuf_get *get);

/* ---- for core's own files ---- */

/* Copies at most *budget bytes and takes them off it. */
void rbuf_get_open(struct rbuf_peer *peer);
bool rbuf_get_idle(const struct rbuf_peer *peer);
int rbuf_get_progress(struct rbuf_peer *peer, uint64_t *budget);
void rbuf_get_fail(struct rbuf_peer *peer, int status);

#endif
