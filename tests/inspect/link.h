/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/link (core/state/link.h) that neither counters nor core's own functions
 * tell. No function here changes core, but for those of the last part, which say why.
 *
 * Threads: the test's, which has no other.
 */
#ifndef RBUF_INSPECT_LINK_H
#define RBUF_INSPECT_LINK_H

#include <stdint.h>

#include "core/state/state.h"

/* Messages of the flow that the peer is known to have taken off, since the beginning. */
uint64_t inspect_taken(const struct rbuf_peer *peer, enum rbuf_flow flow);

/* Messages of the flow that were posted to the peer, and are not known to be taken off. */
uint64_t inspect_under_way(const struct rbuf_peer *peer, enum rbuf_flow flow);

/* NULL, or what does not hold of the peer's credits. */
const char *inspect_credits_fault(const struct rbuf_peer *peer);

/* ---- states that peers and programs do not bring about soon enough ---- */

/* As after so many messages of the flow to the peer, which it has taken off all. That many, up to
 * 2^32, take too long. What the peer knows, and its mailbox here, is not changed. */
void inspect_count_sent(struct rbuf_peer *peer, enum rbuf_flow flow, uint64_t messages);

/* As after so many messages of the flow from the peer, for which it got all credits; likewise. */
void inspect_count_received(struct rbuf_peer *peer, enum rbuf_flow flow, uint64_t messages);

#endif
