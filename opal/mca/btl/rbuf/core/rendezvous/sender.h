/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The sending half of the superpipeline (A. Denis, "A High-Performance Superpipeline Protocol for
 * InfiniBand", Euro-Par 2011, section 4): the loop that moves puts on, wherever they go
 * (core/rendezvous/put.h).
 *
 * A put copies its chunks into blocks of the send arena and writes each with one RDMA write.
 * Copying runs ahead of the window by one chunk. What is missing of its early data
 * (core/rendezvous/early.h) a put writes first; its chunks are those of what is behind them.
 *
 * Invariants: at most one chunk of a put is being filled; chunks whose window is open take staging
 * as long as there is any and give it back by completions alone, never by what a peer's software
 * does, so that two processes that receive all they can can still send; chunks that wait for their
 * window hold no more than half of the arena and one chunk.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_SENDER_H
#define RBUF_CORE_SENDER_H

#include "core/state/state.h"
#include "core/rendezvous/put.h"

/* All of it is for core's own files. */

/* Queues a put that is EARLY or FILLING, and copies what may be copied at once. */
void rbuf_sender_begin(struct rbuf_peer *peer, struct rbuf_put *put);

/* The put has ended, in this event. */
void rbuf_sender_finish(struct rbuf_put *put, enum rbuf_event_kind kind, int status);

/* Copies at most *budget bytes and takes them off it. */
int rbuf_sender_progress(struct rbuf_peer *peer, uint64_t *budget);
bool rbuf_sender_idle(const struct rbuf_peer *peer);
bool rbuf_sender_has_puts(const struct rbuf_peer *peer); /* begun, or waiting for an RTR */

/* The put is the peer's to progress, or no more. */
void rbuf_sender_add(struct rbuf_peer *peer, struct rbuf_put *put);
void rbuf_sender_remove(struct rbuf_peer *peer, struct rbuf_put *put);

void rbuf_sender_open(struct rbuf_peer *peer);

/* Ends the puts that have begun, and those that wait for an RTR. */
void rbuf_sender_fail(struct rbuf_peer *peer, int status);

#endif
