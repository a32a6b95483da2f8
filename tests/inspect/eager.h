/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/eager (core/state/eager.h) that neither counters nor core's own functions
 * tell. No function here changes core, but for that of the last part, which says why.
 *
 *     eager.c        questions
 *     eager_rings.c  what must always hold of rings
 *
 * Threads: the test's, which has no other.
 */
#ifndef RBUF_INSPECT_EAGER_H
#define RBUF_INSPECT_EAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/state/state.h"

/* ---- the polling set ---- */

/* How many rings are polled. */
uint32_t inspect_polled(const struct rbuf_core *core);

/* The peer whose ring is polled as number `place`, from 0 on; NULL: there are no more than that. */
const struct rbuf_peer *inspect_polled_at(const struct rbuf_core *core, uint32_t place);

/* The peer is in the set. */
bool inspect_is_polled(const struct rbuf_peer *peer);

/* How often the polling set has halved its counts and put its members in order. */
uint32_t inspect_epochs(const struct rbuf_core *core);

/* ---- the ring by which messages of a peer come (rbuf_ring_in_of()) ---- */

/* Every slot that had a message is free again; true also without a ring. */
bool inspect_ring_is_idle(const struct rbuf_peer *peer);

/* The use of the peer's next message: it grows by the slots of each message that is taken. */
uint64_t inspect_next_use(const struct rbuf_peer *peer);

/* Where the slot ends whose use is `ahead` uses behind that. */
unsigned char *inspect_slot_end(const struct rbuf_peer *peer, uint32_t ahead);

/* The word of the peer's next message stands in its slot, as far as its use tells. */
bool inspect_next_is_there(const struct rbuf_peer *peer);

/* No slot, and nothing behind the last one, ends with what could be the word of a use to come. */
bool inspect_ring_is_clean(const struct rbuf_peer *peer);

/* Messages that the polling set counts for the peer since the last epoch. */
uint64_t inspect_ring_traffic(const struct rbuf_peer *peer);

/* The peer that has a ring in that memory, also one that it has handed back and that is not free
 * yet; NULL: nobody. */
const struct rbuf_peer *inspect_ring_writer(const struct rbuf_core *core,
                                            const struct rbuf_ring_memory *memory);

/* ---- the ring by which we send to a peer (rbuf_ring_out_carries()) ---- */

/* How many there are, those among them that are being handed back. */
uint32_t inspect_rings_out(const struct rbuf_core *core);

/* Payload that fits into one slot of the ring, which is open, bytes; 0: it is not. */
uint32_t inspect_slot_room(const struct rbuf_peer *peer);

/* The offer that came last from the peer, as it was on the wire; zeroed: none did. */
struct rbuf_ring_offer inspect_last_offer(const struct rbuf_peer *peer);

/* ---- messages to a peer that wait for a credit or for room ---- */

/* The kind (enum rbuf_message_kind) of message number `place`, from 0 on, of those that wait for
 * the channel; 0: there are no more than that. */
unsigned inspect_waiting_kind(const struct rbuf_peer *peer, enum rbuf_channel_id channel,
                              unsigned place);

/* An EARLY waits behind the RTS of what it names, and nothing overtakes the two. */
bool inspect_waits_behind_rts(const struct rbuf_peer *peer);

/* ---- invariants ---- */

/* NULL, or what does not hold of rings, which have so many pieces of memory in all. */
const char *inspect_rings_fault(const struct rbuf_core *core, unsigned memories);

/* ---- states that core does not come to by itself ---- */

/* The next message to the peer has the number behind the next. A foe has used that up past its
 * core, on the core's queue pair, which no program can do. */
void inspect_skip_number(struct rbuf_peer *peer);

#endif
