/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The receiver's half of eager rings (core/eager/ring.h, ring_long.h): takes messages out of
 * slots in turn, and gives the slots back in turn, whatever the order in which the user is done.
 *
 * What stands in a slot is the peer's word: each size is checked before it is used.
 *
 * In a ring with checksums nothing is believed of a message before its checksum is right: header
 * and payload may be of an earlier use, in part. The acquire of the word then orders nothing; what
 * the checksum read, and found right, is what is delivered, since no byte of these writes is still
 * to come.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/eager/ring_in.h"
#include "core/state/state.h"
#include "core/base/fill.h"
#include "core/eager/incoming.h"
#include "core/eager/polling_set.h"
#include "core/eager/ring_long.h"
#include "core/eager/ring_word.h"
#include "core/link/credit.h"

/* Every use before `tail` is free: the peer gets a credit for the one at it. */
static void advance_tail(struct rbuf_ring_in *ring)
{
    ring->tail++;
    ring->full++;
    ring->tail_slot = ring->tail_slot + 1 == ring->slots ? 0 : ring->tail_slot + 1;
    rbuf_credit_consumed(ring->peer, RBUF_FLOW_RING);
}

static void note_free(struct rbuf_ring_in *ring, uint32_t slot)
{
    assert((ring->freed >> slot & 1) == 0);
    ring->freed |= 1ull << slot;
}

/* Frees what was noted, from the tail on. */
static void free_noted(struct rbuf_ring_in *ring)
{
    while ((ring->freed >> ring->tail_slot & 1) != 0) {
        ring->freed &= ~(1ull << ring->tail_slot);
        advance_tail(ring);
    }
}

static void finish_free(struct rbuf_ring_in *ring)
{
    if (ring->state == RBUF_RING_IN_DRAINING) {
        rbuf_polling_set_drained(ring);
    }
}

static void free_slot(struct rbuf_ring_in *ring, uint32_t slot)
{
    if (slot == ring->tail_slot && ring->freed == 0) { /* in order, as nearly always */
        advance_tail(ring);
    } else {
        note_free(ring, slot);
        free_noted(ring);
    }
    finish_free(ring);
}

/* Fills the slot, whose word still says how much of it was written: at least until the peer,
 * against the rules, writes there again. No more than the slot is filled whatever it says. */
static void refill(const struct rbuf_ring_in *ring, uint32_t slot)
{
    unsigned char *end = ring->memory->base + (size_t) (slot + 1) * ring->slot_bytes;
    const uint64_t word = *((const uint64_t *) (const void *) end - 1);
    const uint32_t written = rbuf_ring_length(rbuf_ring_word_bytes(word));
    const uint32_t length = written < ring->slot_bytes ? written : ring->slot_bytes;

    rbuf_fill(end - length, length, ring->peer->core->fill);
}

void rbuf_ring_in_free(struct rbuf_ring_in *ring, uint32_t slot)
{
    if (ring->proof == RBUF_PROOF_CHECKSUM) {
        refill(ring, slot);
    }
    free_slot(ring, slot);
}

/* Clears words that may be payload. */
static void clear_words(const struct rbuf_ring_in *ring, uint32_t slot, uint32_t slots)
{
    unsigned char *end = ring->memory->base + (size_t) slot * ring->slot_bytes;

    for (uint32_t i = 1; i < slots; i++) {
        end += ring->slot_bytes;
        memset(end - RBUF_RING_WORD_BYTES, 0, RBUF_RING_WORD_BYTES);
    }
}

void rbuf_ring_in_free_long(struct rbuf_ring_in *ring, uint32_t slot, uint32_t bytes)
{
    const uint32_t slots = rbuf_ring_long_slots(bytes, ring->slot_bytes);

    if (ring->proof == RBUF_PROOF_CHECKSUM) {
        rbuf_fill(ring->memory->base + (size_t) slot * ring->slot_bytes,
                  (size_t) slots * ring->slot_bytes, ring->peer->core->fill);
    } else {
        clear_words(ring, slot, slots);
    }
    for (uint32_t i = 0; i < slots; i++) {
        note_free(ring, (slot + i) % ring->slots);
    }
    free_noted(ring);
    finish_free(ring);
}

/* A call of its own, lest it take registers of the usual path. */
static __attribute__((noinline)) void expect_next(const struct rbuf_ring_in *ring,
                                                  struct rbuf_watch *watch)
{
    watch->expected = rbuf_ring_word_of_use(ring->proof, ring->use);
}

/* The slot behind the one with the next message is looked at from now on. */
static void advance(struct rbuf_ring_in *ring, struct rbuf_watch *watch)
{
    const unsigned char *word = (const unsigned char *) (const void *) watch->word;

    if (++ring->slot == ring->slots) {
        ring->slot = 0;
        word -= (size_t) ring->slots * ring->slot_bytes;
    }
    watch->word = (const _Atomic uint64_t *) (const void *) (word + ring->slot_bytes);
    ring->use++;
    if (ring->proof == RBUF_PROOF_ORDER) {
        watch->expected += 1ull << RBUF_RING_SIZE_BITS;
    } else {
        expect_next(ring, watch);
    }
}

/* The same of a long message. The epoch counts messages, not slots. */
static void advance_by(struct rbuf_ring_in *ring, struct rbuf_watch *watch, uint32_t slots)
{
    ring->slot = (ring->slot + slots) % ring->slots;
    ring->counted += slots - 1;
    watch->word =
        (const _Atomic uint64_t *) (const void *) (ring->memory->base +
                                                   (size_t) (ring->slot + 1) * ring->slot_bytes) -
        1;
    ring->use += slots;
    watch->expected = rbuf_ring_word_of_use(ring->proof, ring->use);
}

/* Hands on the message in the slot, which ends with `trailer`. True: the slot stays with who has
 * it.
 */
static bool hand_on(struct rbuf_ring_in *ring, const struct rbuf_ring_trailer *trailer,
                    uint32_t slot, uint32_t bytes)
{
    struct rbuf_peer *peer = ring->peer;
    uint32_t padded = (bytes + 7u) & ~7u;
    struct rbuf_delivery delivery = {.origin = RBUF_ORIGIN_RING,
                                     .data = (unsigned char *) (uintptr_t) trailer - padded,
                                     .bytes = bytes,
                                     .slot = (uint8_t) slot};

    rbuf_credit_received(peer, trailer->header.credit);
    return rbuf_incoming_take(peer, &trailer->header, delivery);
}

/* The trailer whose word is looked at. */
static const struct rbuf_ring_trailer *watched(const struct rbuf_watch *watch)
{
    return (const struct rbuf_ring_trailer *) (const void *) (watch->word + 1) - 1;
}

/* True, and counted so, if it is the turn of the message with that header; else what comes first is
 * in a completion queue. */
static bool its_turn(struct rbuf_peer *peer, const struct rbuf_message_header *header)
{
    if (header->sequence != peer->sequence_in) {
        peer->core->stats.ring_waits++;
        return false;
    }
    peer->sequence_in++;
    return true;
}

/* The checksum of the message that begins at `begin` and ends with this trailer: of all bytes that
 * were written but for the word, and of its use. */
static uint64_t sum_until(const struct rbuf_ring_in *ring, const struct rbuf_ring_trailer *trailer,
                          const unsigned char *begin)
{
    const unsigned char *end = (const unsigned char *) &trailer->word;

    return rbuf_checksum_of_use(rbuf_checksum(begin, (size_t) (end - begin)), ring->use);
}

/* The next message's word is there, and other bytes of it are not. That ends when they have come,
 * at the latest when the adapter gives up; what is still wrong then is an error of the network or
 * of memory. */
static void note_incomplete(struct rbuf_ring_in *ring)
{
    struct rbuf_core *core = ring->peer->core;

    core->stats.ring_incomplete += ring->proof == RBUF_PROOF_CHECKSUM;
    if (ring->incomplete_use != ring->use) {
        ring->incomplete_use = ring->use;
        ring->incomplete_ns = core->now_ns;
    } else if (ring->proof == RBUF_PROOF_CHECKSUM && core->options.check_timeout_ns != 0 &&
               core->now_ns - ring->incomplete_ns > core->options.check_timeout_ns) {
        rbuf_peer_break(ring->peer, -EBADMSG);
    }
}

/* A long message in the ring, from the slot on that is watched. */
struct arriving {
    unsigned char *first; /* word, where its first slot ends */
    struct rbuf_ring_trailer *last;
    uint32_t bytes;            /* of payload */
    uint64_t words;            /* the slots that end with a word, of those that can */
    const uint64_t *displaced; /* what these stand for; its trailer begins here */
};

static struct arriving look_at_long(const struct rbuf_ring_in *ring, uint32_t bytes)
{
    const uint32_t slots = rbuf_ring_long_slots(bytes, ring->slot_bytes);
    unsigned char *first = (unsigned char *) (uintptr_t) ring->watch->word;
    unsigned char *end = first + RBUF_RING_WORD_BYTES + (size_t) (slots - 1) * ring->slot_bytes;

    return (struct arriving){
        .first = first, .last = (struct rbuf_ring_trailer *) (void *) end - 1, .bytes = bytes};
}

/* Reads the trailer, which has come. Words that the message cannot have are passed over. */
static void read_trailer(struct arriving *message, uint32_t slots)
{
    const struct rbuf_ring_trailer *last = message->last;

    if ((last->header.kind & RBUF_MESSAGE_IN_PARTS) != 0) {
        const struct rbuf_ring_parts_trailer *parts =
            (const struct rbuf_ring_parts_trailer *) (const void *) (last + 1) - 1;

        message->words = parts->words & ((1ull << (slots - 1)) - 1);
        message->displaced = parts->displaced;
    } else {
        message->words = 1; /* that of the first slot */
        message->displaced =
            &((const struct rbuf_ring_long_trailer *) (const void *) (last + 1) - 1)->displaced;
    }
}

/* The word where the message's slot `number` ends, without a checksum. */
static uint64_t word_of(const struct rbuf_ring_in *ring, const struct arriving *message,
                        uint32_t number)
{
    return rbuf_ring_word(ring->proof, ring->use + number, message->bytes);
}

/* True if the last word of the message is there, which brings its checksum into `*sum`, if it has
 * one. */
static bool last_is_there(const struct rbuf_ring_in *ring, const struct arriving *message,
                          uint32_t slots, uint64_t *sum)
{
    const uint64_t word = atomic_load_explicit(&message->last->word, memory_order_acquire);

    *sum = word - word_of(ring, message, slots - 1);
    return ring->proof == RBUF_PROOF_ORDER ? *sum == 0 : *sum < 1ull << RBUF_CHECKSUM_BITS;
}

/* True if the words inside of the message are there, as far as its trailer has come. */
static bool words_are_there(const struct rbuf_ring_in *ring, const struct arriving *message)
{
    for (uint64_t left = message->words; left != 0; left &= left - 1) {
        const uint32_t number = (uint32_t) __builtin_ctzll(left);
        const _Atomic uint64_t *word =
            (const void *) (message->first + (size_t) number * ring->slot_bytes);

        if (atomic_load_explicit(word, memory_order_acquire) != word_of(ring, message, number)) {
            return false;
        }
    }
    return true;
}

/* True if all parts of the message are there. Each acquire pairs with the adapter placing the end
 * of one write of the peer after all else of that write; the trailer, which the last write brings,
 * tells where the others end. With a checksum the trailer may not be there yet: what is read of it
 * stays within the memory of the ring, and the checksum decides. */
static bool has_arrived(struct rbuf_ring_in *ring, struct arriving *message, uint32_t slots)
{
    uint64_t sum;

    if (!last_is_there(ring, message, slots, &sum)) {
        return false;
    }
    read_trailer(message, slots);
    if (ring->proof == RBUF_PROOF_ORDER) {
        return words_are_there(ring, message);
    }
    if (sum !=
        sum_until(ring, message->last,
                  (const unsigned char *) message->displaced - rbuf_ring_padded(message->bytes))) {
        note_incomplete(ring);
        return false;
    }
    read_trailer(message, slots); /* what was read before may have been there before the message */
    return words_are_there(ring, message);
}

/* Puts the payload back for which words stand. */
static void restore(const struct rbuf_ring_in *ring, const struct arriving *message)
{
    uint64_t left = message->words;

    for (uint32_t i = 0; i < RBUF_RING_PARTS && left != 0; i++, left &= left - 1) {
        memcpy(message->first + (size_t) __builtin_ctzll(left) * ring->slot_bytes,
               &message->displaced[i], RBUF_RING_WORD_BYTES);
    }
    message->last->header.kind &= (uint8_t) ~RBUF_MESSAGE_IN_PARTS;
}

/* Takes the next message, which takes several slots, and whose first word has come. */
static bool take_long(struct rbuf_ring_in *ring, uint32_t bytes)
{
    const uint32_t slots = rbuf_ring_long_slots(bytes, ring->slot_bytes);
    struct rbuf_peer *peer = ring->peer;
    struct rbuf_watch *watch = ring->watch;
    struct arriving message = look_at_long(ring, bytes);
    const struct rbuf_message_header *header = &message.last->header;
    struct rbuf_delivery delivery = {
        .origin = RBUF_ORIGIN_RING_LONG, .bytes = bytes, .slot = (uint8_t) ring->slot};

    if (ring->use + slots > ring->full) {
        return false; /* without the credits for it: some of these slots are with the user */
    }
    if (!has_arrived(ring, &message, slots) || !its_turn(peer, header)) {
        return false;
    }
    delivery.data = (unsigned char *) (uintptr_t) message.displaced - rbuf_ring_padded(bytes);
    restore(ring, &message);
    advance_by(ring, watch, slots);
    rbuf_credit_received(peer, header->credit);
    if (!rbuf_incoming_take(peer, header, delivery)) {
        rbuf_ring_in_free_long(ring, delivery.slot, bytes);
    }
    return true;
}

/* The same of any whose word says that it is longer than a slot; what is not valid is passed over.
 */
static __attribute__((noinline)) bool take_beyond_slot(struct rbuf_ring_in *ring, uint32_t bytes)
{
    const struct rbuf_ring_trailer *trailer = watched(ring->watch);
    const uint32_t slot = ring->slot;

    if (bytes <= ring->longest) {
        return take_long(ring, bytes);
    }
    if (ring->proof == RBUF_PROOF_CHECKSUM) { /* no message that it proves can be so long */
        note_incomplete(ring);
        return false;
    }
    if (!its_turn(ring->peer, &trailer->header)) {
        return false;
    }
    advance(ring, ring->watch);
    rbuf_credit_received(ring->peer, trailer->header.credit);
    ring->peer->core->stats.messages_refused++;
    rbuf_ring_in_free(ring, slot);
    return true;
}

/* The same of one whose word has a checksum, and is `rest` beyond what is expected without size and
 * checksum. */
static __attribute__((noinline)) bool take_checked(struct rbuf_ring_in *ring, uint64_t rest)
{
    const struct rbuf_ring_trailer *trailer = watched(ring->watch);
    const uint32_t bytes = (uint32_t) (rest >> RBUF_CHECKSUM_BITS);
    const uint64_t sum = rest & ((1ull << RBUF_CHECKSUM_BITS) - 1);
    const uint32_t slot = ring->slot;

    if (bytes > ring->slot_bytes - sizeof(*trailer)) {
        return take_beyond_slot(ring, bytes);
    }
    if (sum !=
        sum_until(ring, trailer, (const unsigned char *) trailer - rbuf_ring_padded(bytes))) {
        note_incomplete(ring);
        return false;
    }
    if (!its_turn(ring->peer, &trailer->header)) {
        return false;
    }
    advance(ring, ring->watch);
    if (!hand_on(ring, trailer, slot, bytes)) {
        rbuf_ring_in_free(ring, slot);
    }
    return true;
}

/* Takes the next message; false if it has not arrived, or it is not its turn. While all slots are
 * with the user none can have come: where the next word will be, a long message may have payload.
 */
static bool take_one(struct rbuf_ring_in *ring)
{
    struct rbuf_watch *watch = ring->watch;
    /* Pairs with the adapter placing the end of the peer's write after all else of it. */
    uint64_t word = atomic_load_explicit(watch->word, memory_order_acquire);
    uint32_t bytes = (uint32_t) (word - watch->expected);
    uint32_t slot = ring->slot;
    const struct rbuf_ring_trailer *trailer = watched(watch);

    if (!rbuf_watch_hit(watch, word) || ring->use >= ring->full) {
        return false;
    }
    if (ring->proof == RBUF_PROOF_CHECKSUM) {
        return take_checked(ring, word - watch->expected);
    }
    if (bytes > ring->slot_bytes - sizeof(*trailer)) {
        return take_beyond_slot(ring, bytes);
    }
    if (!its_turn(ring->peer, &trailer->header)) {
        return false;
    }
    advance(ring, watch);
    if (!hand_on(ring, trailer, slot, bytes)) {
        free_slot(ring, slot);
    }
    return true;
}

int rbuf_ring_in_take(struct rbuf_ring_in *ring)
{
    struct rbuf_core *core = ring->peer->core;
    uint32_t taken = 0;

    /* A message may end the ring: by its peer's failure, say, when it is answered. */
    while (taken < RBUF_RING_SLOTS_MAX && rbuf_ring_in_polled(ring) && take_one(ring)) {
        taken++;
    }
    core->stats.ring_received += taken;
    core->eager.set.traffic += taken;
    return (int) taken;
}
