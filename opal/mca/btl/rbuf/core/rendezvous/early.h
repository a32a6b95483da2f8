/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data: what hides the rendezvous, which is a round trip of dead wire otherwise.
 *
 * A receiver leases a peer that sends it RTSs a window of a few slots in its receive staging. The
 * sender writes the first bytes of a message into a free slot right behind the RTS, which says so
 * (rbuf_rts_argument()). They stay there until the message's receive is found, however late and in
 * whatever order that is.
 *
 * Identity. The sender always knows which early data are a put's (rbuf_early_take()). The receiver
 * knows which ones are a receive's only while it delivers the RTS: then the grant claims them at
 * once, and its offer says so. Any other receive asks, if early data are unclaimed, and the sender
 * answers with EARLY before it does anything else. A claim that was wrong (threads may match one
 * message while another is delivered) is corrected by EARLY, too: the receiver starts the grant
 * anew with what is named there. Nothing is lost by that, since claimed early data stay until it is
 * known that the claim was right: the sender has gone on behind them, or says that it has finished.
 *
 * Slots. Slot s is used with the sequence numbers s, s + RBUF_EARLY_SLOTS, ... of the window. The
 * receiver reports in the mailbox which use of each slot it has released last; the sender writes a
 * slot again when the newest use is released, or when it has dropped that itself, because nobody
 * will take it. A wrong claim of dropped data meets other flags, and is corrected.
 *
 *     sender, a slot        FREE -> WRITING -> WRITTEN -> TAKEN -> FREE
 *                                        \________\-> DROPPED -> FREE
 *     of packed data        FREE -> PACKED -> FREE
 *     receiver, a slot      FREE -> UNCLAIMED <-> CLAIMED -> FREE
 *     of packed data        FREE -> CLAIMED -> LAST -> FREE
 *
 * Packed data takes the same path, but for its identity, which Open MPI itself gives to each
 * fragment: FRAGMENT has Open MPI's header and says which bytes of the slot are the payload. It
 * goes by the queue pair that wrote these, and so comes behind them. So does an EARLY without a
 * grant, by which the sender gives up what is left there.
 *
 * Giving back: RECALL makes the sender stop and drop what is not taken; when all that it wrote is
 * known to have arrived it says RETURN. The memory is free when no grant has a claim on it either.
 *
 * On adapters that do not place a write in order blocks have checksums, or chunks are announced one
 * by one, by immediates that name the window and the sequence number. These take receive buffers of
 * a process that may compute for long, so early data take no more than half of the credits. Either
 * way a slot is not written again before all earlier writes to it are known to have been placed.
 *
 * Invariants: a slot is written by one use at a time; flags never repeat, since they have the
 * highest bit set and a range for each window and sequence number.
 */
#ifndef RBUF_CORE_EARLY_H
#define RBUF_CORE_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/state/state.h"

/* ---- of the sender ---- */

/* The peer leases a window, wants it back. */
void rbuf_early_out_leased(struct rbuf_peer *peer, const struct rbuf_early_window *window);
void rbuf_early_out_recalled(struct rbuf_peer *peer);

/* Sends the RTS of a message of which `bytes` bytes from `source` on are to be put, as
 * rbuf_am_send() does, and early data with it if a slot is free: its first chunk now, so that the
 * wire has something to carry while the caller finds its way to the next progress, the rest then.
 * Who sends one RTS after the other meanwhile writes one chunk with each, of the first messages.
 * That progress reads the memory or nobody does, before the put: a message may end without one. */
int rbuf_early_send(struct rbuf_peer *peer, struct rbuf_am *am, const void *source, uint64_t bytes);

/*
 * Of packed data: the same; `source` stands for the message. With a slot `*data` is set, else NULL,
 * and the user packs into it, block by block: rbuf_early_begin() gives it the next chunk, NULL if
 * there can be none now, and rbuf_early_end() sends it with so many blocks filled, if any.
 * A chunk that is not filled is the last. What cannot be sent is lost: false. Then the user names
 * what is there in FRAGMENTs, the last of which frees the slot, or closes it behind those.
 */
int rbuf_early_send_packed(struct rbuf_peer *peer, struct rbuf_am *am, const void *source,
                           struct rbuf_early_data **data);
struct rbuf_tx_chunk *rbuf_early_begin(struct rbuf_peer *peer, struct rbuf_early_data *data);
void *rbuf_early_block(const struct rbuf_peer *peer, const struct rbuf_tx_chunk *chunk, uint32_t i);
uint32_t rbuf_early_block_payload(const struct rbuf_peer *peer); /* bytes */
bool rbuf_early_end(struct rbuf_peer *peer, struct rbuf_early_data *data,
                    struct rbuf_tx_chunk *chunk, uint32_t blocks);
void rbuf_early_close(struct rbuf_peer *peer, const struct rbuf_early_data *data);

/* Sends the RTS of such a message without early data, as the peer will have it put in place. */
int rbuf_early_send_none(struct rbuf_peer *peer, struct rbuf_am *am, const void *source,
                         uint64_t bytes);

/* The early data of the put that reads `source`, which are then TAKEN; NULL: it has none.
 * `claimed`: the sequence number of those that the receiver has claimed for it; 0: it has not. */
struct rbuf_early_data *rbuf_early_take(struct rbuf_peer *peer, const void *source,
                                        uint32_t claimed);

/* Something goes in place from `source`, or in fragments: no put takes early data of it, even if
 * others would. No put will take these. Not of packed ones. */
void rbuf_early_forget(struct rbuf_peer *peer, const void *source);

/* True if the peer has leased us a window: there may be something to forget. */
static inline bool rbuf_early_may_begin(const struct rbuf_peer *peer)
{
    return peer->rendezvous.early_out != NULL;
}
void rbuf_early_drop(struct rbuf_peer *peer, struct rbuf_early_data *data);

/* Names to the receiver which early data are those of the put with that grant; NULL: none are. */
void rbuf_early_name(struct rbuf_peer *peer, uint64_t grant_id, const struct rbuf_early_data *data);

/* Writes what is missing of the first `most` bytes, as far as it goes; true if nothing is. */
bool rbuf_early_write(struct rbuf_peer *peer, struct rbuf_early_data *data, uint64_t most,
                      uint64_t *budget);

/* Writes what is WRITING, now or never. Returns the number of messages. */
int rbuf_early_out_progress(struct rbuf_peer *peer, uint64_t *budget);

void rbuf_early_out_remove(struct rbuf_peer *peer);

/* ---- of the receiver ---- */

/* Blocks that a window takes. */
static inline uint32_t rbuf_early_window_blocks(const struct rbuf_early_options *options)
{
    return options->slot_blocks * RBUF_EARLY_SLOTS;
}

/* How much of a message of `bytes` is early data that are cut by `schedule`: all of it, or whole
 * chunks, as far as a slot of so many blocks has room. */
static inline uint64_t rbuf_early_bytes(const struct rbuf_schedule *schedule, uint32_t slot_blocks,
                                        uint64_t bytes)
{
    const uint64_t slot = (uint64_t) slot_blocks * rbuf_block_payload(schedule);

    return bytes <= slot ? bytes
                         : (uint64_t) rbuf_schedule_prefix(schedule, slot_blocks, NULL) *
                               rbuf_block_payload(schedule);
}

/* An RTS has come, with that argument. False: it must not be. Leases the peer a window if that is
 * its second one and there is room, or asks another peer for its window. */
bool rbuf_early_in_rts(struct rbuf_peer *peer, uint64_t argument);

/* The peer has given its window back. */
void rbuf_early_in_returned(struct rbuf_peer *peer);

/* True if some of the peer's early data are unclaimed. */
static inline bool rbuf_early_in_unclaimed(const struct rbuf_early_in *in)
{
    return in != NULL && in->unclaimed > 0;
}

/* The slot that holds the data of `seq`; NULL: none does any more, or there is no window. */
static inline struct rbuf_early_slot *rbuf_early_in_find(struct rbuf_early_in *in, uint32_t seq)
{
    struct rbuf_early_slot *slot = in != NULL ? &in->slot[seq % RBUF_EARLY_SLOTS] : NULL;

    return slot != NULL && slot->seq == seq && slot->state != RBUF_EARLY_SLOT_FREE ? slot : NULL;
}

/* Claims them, gives the claim up, releases them for good. */
void rbuf_early_in_claim(struct rbuf_peer *peer, struct rbuf_early_slot *slot);
void rbuf_early_in_unclaim(struct rbuf_peer *peer, uint32_t seq);
void rbuf_early_in_release(struct rbuf_peer *peer, uint32_t seq);

/* Reports releases to the peer, if enough are due; returns the number of writes. */
int rbuf_early_in_report(struct rbuf_peer *peer);
bool rbuf_early_in_owed(const struct rbuf_peer *peer);

/* A FRAGMENT of so many bytes stands at `message`: true if its payload is in a slot, from `*block`
 * of the receive arena on. Its delivery is over, and perhaps the slot's use. No other fragment
 * comes of these data: true if that can be. */
bool rbuf_early_in_fragment(struct rbuf_peer *peer, const void *message, uint32_t bytes,
                            uint32_t *block);
void rbuf_early_in_fragment_over(struct rbuf_peer *peer, const struct rbuf_fragment *fragment);
bool rbuf_early_in_closed(struct rbuf_peer *peer, uint32_t seq);

/* The block where the data begin, and its flag. */
uint32_t rbuf_early_in_block(const struct rbuf_peer *peer, uint32_t seq);
uint64_t rbuf_early_in_flag(const struct rbuf_peer *peer, uint32_t seq);

/* RBUF_ARRIVAL_IMMEDIATE: a chunk was announced; how many were, of these data. */
void rbuf_early_in_immediate(struct rbuf_core *core, uint32_t immediate);
uint32_t rbuf_early_in_arrived(const struct rbuf_peer *peer, uint32_t seq);

#endif
