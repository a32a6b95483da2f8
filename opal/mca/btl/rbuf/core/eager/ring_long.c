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

/* True if the network has nothing else of ours to carry, as far as the newest header of the peer
 * tells: but for one message such as this, which it may have taken after that left (two that send
 * to each other at the same time). In a stream of messages there is always something on its way,
 * and a write more for each only costs. */
static bool may_be_idle(const struct rbuf_peer *peer, uint32_t slots)
{
    return rbuf_credit_under_way(peer, RBUF_FLOW_RING) <= slots;
}

/* Bytes of the trailer: the longer one if the message may leave in parts, or if with the other it
 * would not reach into its first slot, where its word is looked for. */
static uint32_t trailer_for(const struct rbuf_peer *peer, uint32_t bytes, uint32_t slots)
{
    const uint32_t whole = (uint32_t) sizeof(struct rbuf_ring_long_trailer);
    const uint32_t reach = (slots - 1) * peer->eager.ring_out.slot_bytes + RBUF_RING_WORD_BYTES;

    return may_be_idle(peer, slots) || rbuf_ring_padded(bytes) + whole < reach
               ? RBUF_RING_LONG_EXTRA
               : whole;
}

void *rbuf_ring_long_begin(struct rbuf_peer *peer, uint32_t bytes)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    uint32_t slots, trailer, length, first;

    if (out->state != RBUF_RING_OUT_OPEN || bytes <= out->room || bytes > out->longest) {
        return NULL;
    }
    slots = rbuf_ring_long_slots(bytes, out->slot_bytes);
    if (!rbuf_credit_has(peer, RBUF_FLOW_RING, slots)) {
        peer->core->stats.ring_full++;
        return NULL;
    }
    trailer = trailer_for(peer, bytes, slots);
    length = rbuf_ring_padded(bytes) + trailer;
    first = length - (slots - 1) * out->slot_bytes;
    out->begun = (struct rbuf_ring_begun){.data = out->local_end - first,
                                          .remote = out->remote_end - first,
                                          .slots = slots,
                                          .bytes = bytes,
                                          .trailer = trailer,
                                          .length = length,
                                          .first = first};
    return out->begun.data;
}

static bool is_in_parts(const struct rbuf_ring_begun *begun)
{
    return begun->trailer == RBUF_RING_LONG_EXTRA;
}

/* Puts a word where the message's slot `number` ends, and aside what it stands for. */
static void put_word(struct rbuf_ring_out *out, uint32_t number)
{
    struct rbuf_ring_begun *begun = &out->begun;
    const uint64_t word = rbuf_ring_word(out->proof, out->use + number, begun->bytes);
    unsigned char *last =
        begun->data + begun->first + (size_t) number * out->slot_bytes - RBUF_RING_WORD_BYTES;

    memcpy(begun->data + begun->length - begun->trailer + begun->displaced++ * sizeof(word), last,
           sizeof(word));
    memcpy(last, &word, sizeof(word));
    begun->words |= 1ull << number;
}

/* Writes the message's bytes from what has left on up to `until`. */
static enum rbuf_fab_status write_until(struct rbuf_peer *peer, uint32_t until)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    const struct rbuf_ring_begun *begun = &out->begun;

    return rbuf_fab_post_write(peer->queue[RBUF_CONTROL], &out->request,
                               begun->data + begun->written, until - begun->written,
                               begun->remote + begun->written, false);
}

/* Slots of the message that end within its first `ready` bytes, but for its last one. */
static uint32_t slots_within(const struct rbuf_ring_out *out, uint32_t ready)
{
    const struct rbuf_ring_begun *begun = &out->begun;
    const uint32_t within = ready < begun->first ? 0 : 1 + (ready - begun->first) / out->slot_bytes;

    return within < begun->slots - 1 ? within : begun->slots - 1;
}

uint32_t rbuf_ring_long_part(const struct rbuf_peer *peer, uint32_t wanted)
{
    const struct rbuf_ring_out *out = &peer->eager.ring_out;
    const uint32_t first = out->begun.first;
    const uint32_t beyond =
        wanted <= first ? 0 : (wanted - first + out->slot_bytes / 2) / out->slot_bytes;
    const uint32_t end = first + beyond * out->slot_bytes;

    return end < out->begun.bytes ? end : out->begun.bytes;
}

void rbuf_ring_long_write_part(struct rbuf_peer *peer, uint32_t ready)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    struct rbuf_ring_begun *begun = &out->begun;
    const uint32_t within = slots_within(out, ready < begun->bytes ? ready : begun->bytes);
    uint32_t until;

    if (out->state != RBUF_RING_OUT_OPEN || within == 0 || !is_in_parts(begun) ||
        !rbuf_fab_is_roomy(peer->queue[RBUF_CONTROL])) {
        return;
    }
    until = begun->first + (within - 1) * out->slot_bytes;
    if (until <= begun->written ||
        begun->displaced + (begun->written == 0) + (within > 1) > RBUF_RING_PARTS) {
        return;
    }
    if (begun->written == 0) {
        put_word(out, 0);
    }
    if (within > 1) {
        put_word(out, within - 1);
    }
    if (write_until(peer, until) == RBUF_FAB_OK) {
        begun->written = until;
    } else {
        rbuf_peer_break(peer, -ECONNRESET); /* there was room */
    }
}

/* Everything of the message but its payload is put where it belongs. */
static void seal(struct rbuf_peer *peer, uint8_t tag, uint64_t argument)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    struct rbuf_ring_begun *begun = &out->begun;
    struct rbuf_ring_trailer *last =
        (struct rbuf_ring_trailer *) (void *) (begun->data + begun->length) - 1;
    uint64_t word = rbuf_ring_word(out->proof, out->use + begun->slots - 1, begun->bytes);
    uint8_t kind = RBUF_MESSAGE_USER;

    if (begun->written == 0) {
        put_word(out, 0);
    }
    if (is_in_parts(begun)) {
        memcpy((unsigned char *) last - sizeof(begun->words), &begun->words, sizeof(begun->words));
        kind |= RBUF_MESSAGE_IN_PARTS;
    }
    rbuf_channel_fill(peer, &last->header, kind, tag, argument);
    if (out->proof == RBUF_PROOF_CHECKSUM) {
        word |= rbuf_checksum_of_use(rbuf_checksum(begun->data, begun->length - sizeof(last->word)),
                                     out->use);
    }
    atomic_store_explicit(&last->word, word, memory_order_relaxed);
}

/* The rest was posted, if the status says so. */
static bool took_slots(struct rbuf_peer *peer, enum rbuf_fab_status status)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    uint64_t slot;

    if (!rbuf_peer_posted(peer, status)) {
        assert(status == RBUF_FAB_DEAD ||
               out->begun.written == 0); /* who writes parts leaves room for the rest */
        return false;
    }
    out->use += out->begun.slots;
    slot = out->use % out->offer.slots;
    out->local_end = out->memory->base + (slot + 1) * out->slot_bytes;
    out->remote_end = out->offer.base + (slot + 1) * out->slot_bytes;
    rbuf_ring_out_posted(peer, out->begun.slots, out->begun.bytes);
    peer->core->stats.ring_long++;
    return true;
}

/* The ring may have gone since the message was begun. */
static bool is_gone(const struct rbuf_peer *peer)
{
    return peer->eager.ring_out.state != RBUF_RING_OUT_OPEN || rbuf_peer_is_lost(peer);
}

bool rbuf_ring_long_end(struct rbuf_peer *peer, uint8_t tag, uint64_t argument)
{
    if (is_gone(peer)) {
        return false;
    }
    seal(peer, tag, argument);
    if (!took_slots(peer, write_until(peer, peer->eager.ring_out.begun.length))) {
        return false;
    }
    peer->core->stats.messages_sent++;
    return true;
}

/* The payload but for the word in it comes from `data`, whose first byte is the `lead`-th of the
 * payload; the rest from where the message stands here. */
static unsigned list_pieces(const struct rbuf_ring_out *out, const struct rbuf_fab_piece *data,
                            struct rbuf_fab_piece *pieces)
{
    const struct rbuf_ring_begun *begun = &out->begun;
    const unsigned char *begin = begun->data;
    const uint32_t bytes = begun->bytes;
    const uint32_t lead = bytes - data->bytes;
    const uint32_t behind = begun->first; /* the word */
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
    pieces[count++] = (struct rbuf_fab_piece){begin + bytes, begun->length - bytes, lkey};
    return count;
}

bool rbuf_ring_long_gather(struct rbuf_peer *peer, uint8_t tag, uint64_t argument,
                           const struct rbuf_fab_piece *data, struct rbuf_work *work)
{
    struct rbuf_ring_out *out = &peer->eager.ring_out;
    const struct rbuf_ring_begun *begun = &out->begun;
    const uint32_t lead = begun->bytes - data->bytes;
    const uint32_t behind = begun->first;
    const uint32_t word = behind - RBUF_RING_WORD_BYTES;
    const uint32_t from = word > lead ? word : lead;
    struct rbuf_fab_piece pieces[RBUF_FAB_PIECES];
    unsigned count;

    if (is_gone(peer) || behind >= begun->bytes || out->proof == RBUF_PROOF_CHECKSUM) {
        return false;
    }
    if (from < behind) { /* what is displaced */
        memcpy(begun->data + from, (const unsigned char *) data->address + (from - lead),
               behind - from);
    }
    seal(peer, tag, argument);
    count = list_pieces(out, data, pieces);
    return took_slots(peer, rbuf_fab_gather(peer->queue[RBUF_CONTROL], pieces, count, begun->remote,
                                            out->offer.rkey, work));
}
