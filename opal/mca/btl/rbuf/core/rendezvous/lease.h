/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which peers are leased a window for early data (core/rendezvous/early.h), where it lies in the
 * receive staging, and when it is asked back. What stands in its slots is
 * core/rendezvous/early_in.c's.
 *
 *     a window              LEASED -> RECALLED -> RETURNED -> free
 *
 * A peer gets one with its second RTS. Where all are out, the one that was not used for longest is
 * recalled. It is free when the peer has returned it and no grant has a claim on a slot of it, or
 * when the peer is removed.
 *
 * Invariant: the numbers of windows that are out differ, and so do the words by which their chunks
 * are announced, from those of windows before.
 */
#ifndef RBUF_CORE_LEASE_H
#define RBUF_CORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/state/state.h"

/* A sequence number from which on a window is asked back, before its numbers come again. */
#define RBUF_LEASE_RETIRED_SEQ (1u << 31)

/* How many windows may be leased at a time; 0: there are no early data. */
static inline uint32_t rbuf_lease_most(const struct rbuf_core *core)
{
    return core->rendezvous.windows.most;
}

/* The receive arena was opened, or has grown: counts the windows that there may be. */
void rbuf_lease_grown(struct rbuf_core *core);

/* A peer without a window has sent an RTS. If that is its second, leases it one where there is
 * room, or asks another peer for its window. */
void rbuf_lease_want(struct rbuf_peer *peer);

/* Asks the peer for its window, which is LEASED. */
void rbuf_lease_ask_back(struct rbuf_peer *peer);

/* Frees the peer's window if it is back and no grant reads from it. */
void rbuf_lease_free_if_unused(struct rbuf_peer *peer);

/* Frees the window, which nobody writes into any more; the peer's grants are closed. */
void rbuf_lease_remove(struct rbuf_peer *peer);

/* By what early data of the peer are cut: as messages of a slot's length, with an opening, since no
 * rendezvous hides the copy of the first chunk; and where a chunk is a whole message otherwise,
 * with one that a slot has room for. */
struct rbuf_schedule rbuf_lease_schedule(const struct rbuf_peer *peer);

#endif
