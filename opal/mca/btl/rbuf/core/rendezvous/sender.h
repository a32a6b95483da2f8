/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Staged puts: the sending half of the superpipeline (A. Denis, "A High-Performance Superpipeline
 * Protocol for InfiniBand", Euro-Par 2011, section 4).
 *
 * A put copies its chunks into blocks of the send arena and writes each chunk with one RDMA write
 * into the lane of the receiver's offer. Copying runs ahead of the window by one chunk; a chunk is
 * posted when the one that last used its buffer is acknowledged (or was never used in this
 * message). The put ends when its last chunk is posted: the user's memory is free then.
 *
 * What is missing of its early data (core/rendezvous/early.h) a put writes first; its chunks are
 * those of what is behind them.
 *
 * A copied put does the same on this side and writes into the receiver's registered buffer: no
 * flags, no acknowledgements. It ends when the last chunk has arrived, since the adapter says so.
 * All copied puts of a peer have a lane's worth under way, but for a short chunk of each.
 *
 * Invariants: at most one chunk of a put is being filled; chunks whose window is open take staging
 * as long as there is any and give it back by completions alone, never by what a peer's software
 * does, so that two processes that receive all they can can still send; chunks that wait for their
 * window hold no more than half of the arena and one chunk.
 */
#ifndef RBUF_CORE_SENDER_H
#define RBUF_CORE_SENDER_H

#include "core/state/state.h"
#include "core/rendezvous/put.h"

/* All of it is for core's own files. */

/* Queues a put that is to be copied, and copies what may be copied at once. */
void rbuf_sender_begin(struct rbuf_peer *peer, struct rbuf_put *put);

/* The put has ended, in this event. */
void rbuf_sender_finish(struct rbuf_put *put, enum rbuf_event_kind kind, int status);

/* Copies at most *budget bytes and takes them off it. */
int rbuf_sender_progress(struct rbuf_peer *peer, uint64_t *budget);
bool rbuf_sender_idle(const struct rbuf_peer *peer);
struct rbuf_peer *rbuf_sender_chunk_completed(struct rbuf_core *core, struct rbuf_work *work,
                                              int status);
void rbuf_sender_fail(struct rbuf_peer *peer, int status);
void rbuf_sender_close(struct rbuf_core *core);

#endif
