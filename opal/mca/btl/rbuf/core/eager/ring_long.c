/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The sender's half of long messages (core/eager/ring_long.h): where they are built, the parts in
 * which they leave, and their trailer.
 */
#include "core/eager/ring_long.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/eager/channel.h"
#include "core/eager/ring_word.h"
#include "core/link/credit.h"

/* Where the message that is begun, of `slots` slots, ends here and at the peer. */
static unsigned char *end_here(const struct rbuf_ring_out *out, uint32_t slots)
{
    return out->local_end + (size_t) (slots - 1) * out->slot_bytes;
}

static uint64_t end_there(const struct rbuf_ring_out *out, uint32_t slots)
{
    return out->remote_end + (uint64_t) (slots - 1) * out->slot_bytes;
}

/* Bytes that the message that is begun occupies. */
static uint32_t length_of(const struct rbuf_ring_out *out, uint32_t bytes)
{
    return rbuf_ring_padded(bytes) + out->trailer;
}

/* What of the message stands in its first slot, bytes; the last of them are its first word. */
static uint32_t in_first_slot(const struct rbuf_ring_out *out, uint32_t bytes)
{
    const uint32_t slots = rbuf_ring_long_slots(bytes, out->slot_bytes);

    return length_of(out, bytes) - (slots - 1) * out->slot_bytes;
}

static bool has_credits(struct rbuf_peer *peer, uint32_t slots)
{
    if (rbuf_credit_left(&peer->credit[RBUF_FLOW_RING]) >= slots) {
        return true;
    }
    return rbuf_credit_look(peer, RBUF_FLOW_RING) &&
           rbuf_credit_left(&peer->credit[RBUF_FLOW_RING]) >= slots;
}

/* True if the network has nothing else of ours to carry, as far as the newest header of the peer
 * tells: but for one message such as this, which it may have taken after that left (two that send
 * to each other at the same time). In a stream of messages there is always something on its way,
 * and a write more for each only costs. */
static bool may_be_idle(const struct rbuf_peer *peer, uint32_t slots)
{
    const struct rbuf_credit *credit = &peer->credit[RBUF_FLOW_RING];
    const struct rbuf_credit_counts *counts = &peer->counts;
    const uint16_t taken = counts->last_received[RBUF_COUNTED] != RBUF_COUNTED_NOT
                               ? counts->last_received[RBUF_FLOW_RING]
                               : (uint16_t) credit->taken;

    return (uint16_t) (credit->sent - taken) <= slots;
}

/* Bytes of the trailer: the longer one if the message may leave in parts, or if with the other it
 * would not reach into its first slot, where its word is looked for. */
static uint32_t trailer_for(const struct rbuf_peer *peer, uint32_t bytes, uint32_t slots)
{
    const uint32_t whole = (uint32_t) sizeof(struct rbuf_ring_long_trailer);
    const uint32_t reach = (slots - 1) * peer->ring_out.slot_bytes + RBUF_RING_WORD_BYTES;

    return may_be_idle(peer, slots) || rbuf_ring_padded(bytes) + whole < reach
               ? RBUF_RING_LONG_EXTRA
               : whole;
}

void *rbuf_ring_long_begin(struct rbuf_peer *peer, uint32_t bytes)
{
    struct rbuf_ring_out *out = &peer->ring_out;
    uint32_t slots;

    if (out->state != RBUF_RING_OUT_OPEN || bytes <= out->room || bytes > out->longest) {
        return NULL;
    }
    slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    if (!has_credits(peer, slots)) {
        peer->core->stats.ring_full++;
        return NULL;
    }
    out->trailer = trailer_for(peer, bytes, slots);
    out->written = 0;
    out->displaced = 0;
    out->words = 0;
    return end_here(out, slots) - length_of(out, bytes);
}

static bool is_in_parts(const struct rbuf_ring_out *out)
{
    return out->trailer == RBUF_RING_LONG_EXTRA;
}

/* Puts a word where the message's slot `number` ends, and aside what it stands for. */
static void put_word(struct rbuf_ring_out *out, uint32_t bytes, uint32_t number)
{
    const uint32_t slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    const uint64_t word = rbuf_ring_word(out->proof, out->use + number, bytes);
    unsigned char *place = end_here(out, number + 1) - RBUF_RING_WORD_BYTES;

    memcpy(end_here(out, slots) - out->trailer + out->displaced++ * sizeof(word), place,
           sizeof(word));
    memcpy(place, &word, sizeof(word));
    out->words |= 1ull << number;
}

/* Writes the message's bytes from what has left on up to `until`. */
static enum rbuf_fab_status write_until(struct rbuf_peer *peer, uint32_t bytes, uint32_t until)
{
    struct rbuf_ring_out *out = &peer->ring_out;
    const uint32_t slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    const uint32_t length = length_of(out, bytes);

    return rbuf_fab_post_write(peer->queue[RBUF_CONTROL], &out->request,
                               end_here(out, slots) - length + out->written, until - out->written,
                               end_there(out, slots) - length + out->written, false);
}

/* Slots of the message that end within its first `ready` bytes, but for its last one. */
static uint32_t slots_within(const struct rbuf_ring_out *out, uint32_t bytes, uint32_t ready)
{
    const uint32_t first = in_first_slot(out, bytes);
    const uint32_t slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    const uint32_t within = ready < first ? 0 : 1 + (ready - first) / out->slot_bytes;

    return within < slots - 1 ? within : slots - 1;
}

uint32_t rbuf_ring_long_part(const struct rbuf_peer *peer, uint32_t bytes, uint32_t wanted)
{
    const struct rbuf_ring_out *out = &peer->ring_out;
    const uint32_t first = in_first_slot(out, bytes);
    const uint32_t beyond =
        wanted <= first ? 0 : (wanted - first + out->slot_bytes / 2) / out->slot_bytes;
    const uint32_t end = first + beyond * out->slot_bytes;

    return end < bytes ? end : bytes;
}

void rbuf_ring_long_write_part(struct rbuf_peer *peer, uint32_t bytes, uint32_t ready)
{
    struct rbuf_ring_out *out = &peer->ring_out;
    const uint32_t within = slots_within(out, bytes, ready < bytes ? ready : bytes);
    uint32_t until;

    if (out->state != RBUF_RING_OUT_OPEN || within == 0 || !is_in_parts(out) ||
        !rbuf_fab_is_roomy(peer->queue[RBUF_CONTROL])) {
        return;
    }
    until = in_first_slot(out, bytes) + (within - 1) * out->slot_bytes;
    if (until <= out->written ||
        out->displaced + (out->written == 0) + (within > 1) > RBUF_RING_PARTS) {
        return;
    }
    if (out->written == 0) {
        put_word(out, bytes, 0);
    }
    if (within > 1) {
        put_word(out, bytes, within - 1);
    }
    if (write_until(peer, bytes, until) == RBUF_FAB_OK) {
        out->written = until;
    } else {
        rbuf_peer_break(peer, -ECONNRESET); /* there was room */
    }
}

/* Everything of the message but its payload is put where it belongs. */
static void seal(struct rbuf_peer *peer, enum rbuf_message_kind kind, uint8_t tag, uint32_t bytes,
                 uint64_t argument)
{
    struct rbuf_ring_out *out = &peer->ring_out;
    const uint32_t slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    struct rbuf_ring_trailer *last = (struct rbuf_ring_trailer *) (void *) end_here(out, slots) - 1;
    uint64_t word = rbuf_ring_word(out->proof, out->use + slots - 1, bytes);
    uint8_t wire_kind = (uint8_t) kind;

    if (out->written == 0) {
        put_word(out, bytes, 0);
    }
    if (is_in_parts(out)) {
        memcpy((unsigned char *) last - sizeof(out->words), &out->words, sizeof(out->words));
        wire_kind |= RBUF_MESSAGE_IN_PARTS;
    }
    rbuf_channel_fill(peer, &last->header, wire_kind, tag, argument);
    if (out->proof == RBUF_PROOF_CHECKSUM) {
        const uint32_t length = length_of(out, bytes);

        word |= rbuf_checksum_of_use(
            rbuf_checksum(end_here(out, slots) - length, length - sizeof(last->word)), out->use);
    }
    atomic_store_explicit(&last->word, word, memory_order_relaxed);
}

/* The rest was posted, if the status says so. */
static bool took_slots(struct rbuf_peer *peer, uint32_t bytes, enum rbuf_fab_status status)
{
    struct rbuf_ring_out *out = &peer->ring_out;
    const uint32_t slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    uint64_t slot;

    if (!rbuf_peer_posted(peer, status)) {
        assert(status == RBUF_FAB_DEAD ||
               out->written == 0); /* who writes parts leaves room for the rest */
        return false;
    }
    out->use += slots;
    slot = out->use % out->offer.slots;
    out->local_end = out->memory->base + (slot + 1) * out->slot_bytes;
    out->remote_end = out->offer.base + (slot + 1) * out->slot_bytes;
    rbuf_ring_out_posted(peer, slots, bytes);
    peer->core->stats.ring_long++;
    return true;
}

/* The ring may have gone since the message was begun. */
static bool is_gone(const struct rbuf_peer *peer)
{
    return peer->ring_out.state != RBUF_RING_OUT_OPEN || rbuf_peer_is_lost(peer);
}

bool rbuf_ring_long_end(struct rbuf_peer *peer, enum rbuf_message_kind kind, uint8_t tag,
                        uint32_t bytes, uint64_t argument)
{
    if (is_gone(peer)) {
        return false;
    }
    seal(peer, kind, tag, bytes, argument);
    return took_slots(peer, bytes, write_until(peer, bytes, length_of(&peer->ring_out, bytes)));
}

/* The payload but for the word in it comes from `data`, whose first byte is the `lead`-th of the
 * payload; the rest from `begin` on, where the message stands here. */
static unsigned list_pieces(const struct rbuf_ring_out *out, uint32_t bytes,
                            const struct rbuf_fab_piece *data, const unsigned char *begin,
                            struct rbuf_fab_piece *pieces)
{
    const uint32_t lead = bytes - data->bytes;
    const uint32_t behind = in_first_slot(out, bytes); /* the word */
    const uint32_t word = behind - RBUF_RING_WORD_BYTES;
    const unsigned char *source = (const unsigned char *) data->address - lead;
    const uint32_t lkey = out->memory->lkey;
    uint32_t done = lead;
    unsigned count = 0;

    if (word > lead) {
        pieces[count++] = (struct rbuf_fab_piece){begin, lead, lkey};
        pieces[count++] = (struct rbuf_fab_piece){source + lead, word - lead, data->lkey};
        pieces[count++] = (struct rbuf_fab_piece){begin + word, behind - word, lkey};
        done = behind;
    } else {
        done = behind > lead ? behind : lead;
        pieces[count++] = (struct rbuf_fab_piece){begin, done, lkey};
    }
    pieces[count++] = (struct rbuf_fab_piece){source + done, bytes - done, data->lkey};
    pieces[count++] = (struct rbuf_fab_piece){begin + bytes, length_of(out, bytes) - bytes, lkey};
    return count;
}

bool rbuf_ring_long_gather(struct rbuf_peer *peer, enum rbuf_message_kind kind, uint8_t tag,
                           uint32_t bytes, uint64_t argument, const struct rbuf_fab_piece *data,
                           struct rbuf_work *work)
{
    struct rbuf_ring_out *out = &peer->ring_out;
    const uint32_t slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    const uint32_t length = length_of(out, bytes);
    const uint32_t lead = bytes - data->bytes;
    const uint32_t behind = in_first_slot(out, bytes);
    const uint32_t word = behind - RBUF_RING_WORD_BYTES;
    const uint32_t from = word > lead ? word : lead;
    unsigned char *begin = end_here(out, slots) - length;
    struct rbuf_fab_piece pieces[RBUF_FAB_PIECES];
    unsigned count;

    if (is_gone(peer) || behind >= bytes || out->proof == RBUF_PROOF_CHECKSUM) {
        return false;
    }
    if (from < behind) { /* what is displaced */
        memcpy(begin + from, (const unsigned char *) data->address + (from - lead), behind - from);
    }
    seal(peer, kind, tag, bytes, argument);
    count = list_pieces(out, bytes, data, begin, pieces);
    return took_slots(peer, bytes,
                      rbuf_fab_gather(peer->queue[RBUF_CONTROL], pieces, count,
                                      end_there(out, slots) - length, out->offer.rkey, work));
}
