/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests ask of core/rendezvous (core/state/rendezvous.h) that neither counters nor core's own
 * functions tell. No function here changes core, but for those of the last part, which say why.
 *
 * Threads: the test's, which has no other.
 */
#ifndef RBUF_INSPECT_RENDEZVOUS_H
#define RBUF_INSPECT_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rendezvous/grant.h"
#include "core/rendezvous/put.h"
#include "core/state/state.h"

/* ---- windows for early data that peers have of ours ---- */

/* The peer has one, in whatever state. */
bool inspect_has_window(const struct rbuf_peer *peer);

/* It has one, and was not asked to give it back. */
bool inspect_may_use_window(const struct rbuf_peer *peer);

/* How many peers have one. */
uint32_t inspect_windows_out(const struct rbuf_core *core);

/* The number of the newest early data of that slot of the peer's window, which is there. */
uint32_t inspect_slot_seq(const struct rbuf_peer *peer, uint32_t slot);

/* Early data of the peer stand here, and no grant has claimed them. */
bool inspect_has_unclaimed(const struct rbuf_peer *peer);

/* The early data of the peer with that number are in their slot still. */
bool inspect_holds_early(const struct rbuf_peer *peer, uint32_t seq);

/* How many slots of the peer's window hold something. */
uint32_t inspect_slots_held(const struct rbuf_peer *peer);

/* The immediate that announces a chunk of early data with that number; the peer has a window. */
uint32_t inspect_early_immediate(const struct rbuf_peer *peer, uint32_t seq);

/* ---- windows that peers have leased us ---- */

/* The number of the early data of the newest RTS to the peer, which has leased us a window; 0: that
 * RTS has none. */
uint32_t inspect_newest_early(const struct rbuf_peer *peer);

/* There are early data that the next progress is to write. */
bool inspect_writes_early(const struct rbuf_peer *peer);

/* We have given the window back that the peer had leased us, and have no other. */
bool inspect_gave_window_back(const struct rbuf_peer *peer);

/* Early data are under way to the peer, or wait for their put, or for the window to be given back.
 */
bool inspect_early_under_way(const struct rbuf_peer *peer);

/* Of the window that `receiver`, a peer here, has of ours and that `sender`, we as a peer over
 * there, uses: a slot is not free, though what was in it was not dropped. */
bool inspect_slot_leaked(const struct rbuf_peer *receiver, const struct rbuf_peer *sender);

/* ---- puts ---- */

/* Puts to the peer that have begun, of either way. */
uint32_t inspect_puts_begun(const struct rbuf_peer *peer);

/* The put number `which` (0: the oldest) of those that wait for an RTR of the peer; NULL: there are
 * no more than that. */
const struct rbuf_put *inspect_ungranted(const struct rbuf_peer *peer, unsigned which);

/* The put waits for an RTR. */
bool inspect_is_ungranted(const struct rbuf_put *put);

/* The number of the early data that the put has taken; 0: none. */
uint32_t inspect_early_of_put(const struct rbuf_put *put);

/* RTRs of the peer that are kept for puts to come. */
uint32_t inspect_unexpected_rtrs(const struct rbuf_peer *peer);

/* ---- grants ---- */

/* Bytes of the messages that are registered in place of staging, or are to be. */
uint64_t inspect_direct_bytes(const struct rbuf_core *core);

/* Acknowledgement words of the peer's that its grants have. */
unsigned inspect_words_taken(const struct rbuf_peer *peer);

/* The peer has said which early data are the grant's. */
bool inspect_was_named(const struct rbuf_grant *grant);

/* Chunks that immediates have announced to the grant. */
uint64_t inspect_chunks_announced(const struct rbuf_grant *grant);

/* The same of all grants that receive, and of the early data that the immediate names. */
uint64_t inspect_announced(const struct rbuf_core *core, uint32_t immediate);

/* Where the peer is to write the block `ahead` blocks behind the one that the grant, which is
 * STAGED, takes next, in the same buffer; and the flag of the one that it takes next. */
unsigned char *inspect_block_of(const struct rbuf_grant *grant, uint32_t ahead);
uint64_t inspect_flag_of(const struct rbuf_grant *grant);

/* ---- receive staging ---- */

/* Blocks that a peer writes, from the first to the last: true if they are of one buffer of a lane,
 * or of one slot, and nothing in them is to be taken still. What a grant has claimed of early data,
 * and not been told, counts as its own if `claims_are_right`. */
bool inspect_may_be_written(const struct rbuf_core *core, uint32_t first, uint32_t last,
                            bool claims_are_right);

/* That memory has bytes of a lane or a window of another peer than this one. */
bool inspect_is_of_others(const struct rbuf_core *core, const struct rbuf_peer *peer,
                          uint64_t address, uint32_t bytes);

/* ---- invariants ---- */

/* NULL, or what does not hold of grants, lanes, acknowledgement words, windows and early data. */
const char *inspect_rendezvous_fault(const struct rbuf_core *core);

/* ---- states that peers and programs do not bring about, or not soon enough ---- */

/* Begins the put into the lane of its offer, which is STAGED, behind its first chunk, which is
 * filled and core's from then on. The paper's protocol does so; core has early data instead. False:
 * the put has ended, as its peer has failed. */
bool inspect_begin_filled(struct rbuf_peer *peer, struct rbuf_put *put,
                          struct rbuf_tx_chunk *filled);

/* The next window of the peer, which has none, has numbers above `seq`: as after so many early
 * data. Up to 2^31 of them take too long. */
void inspect_number_windows(struct rbuf_peer *peer, uint32_t seq);

/* The peer's account of that slot as after `uses` more early data, all of which it has dropped.
 * Tens of thousands take too long. The receiver's has to be told, too (rbuf_early_in_rts()). */
void inspect_drop_uses(struct rbuf_peer *peer, uint32_t slot, uint32_t uses);

/* Each place in the table of grants was used so often that it has one name left: 2^32 grants take
 * too long. Returns the number of places. */
uint32_t inspect_age_grants(struct rbuf_core *core);

#endif
