/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the foe does with eager rings (see core_fuzz.h): messages by the ring that the victim leased
 * it, words in any slot of it, offers of rings of its own, and the steps of the hand-back when it
 * likes.
 */
#include "core_fuzz.h"

#include "core/eager/ring_long.h"
#include "inspect/eager.h"

/* Through the foe's own half of the ring, so that both sides stay in step: any kind, any content.
 */
void foe_ring_message(const struct record *record)
{
    const uint32_t room = inspect_slot_room(dealings.victim);
    enum rbuf_message_kind kind = RBUF_MESSAGE_USER;
    uint32_t bytes = record->amount % (room + 1);
    uint64_t argument = record->which & NAME_GRANT ? record->value : 0;
    struct rbuf_offer offer = foe_offer(record);
    void *payload;

    if (record->which & CHANGE_KIND) {
        kind = (enum rbuf_message_kind)(record->spare >> 8 & 0xff);
    }
    if (dealings.victim->state != RBUF_PEER_CONNECTED) {
        return;
    }
    if (kind == RBUF_MESSAGE_RTR && room >= sizeof(offer)) {
        bytes = sizeof(offer);
    }
    payload = rbuf_ring_out_begin(dealings.victim, bytes);
    if (payload == NULL) {
        return;
    }
    memset(payload, (int) record->spare, bytes);
    if (kind == RBUF_MESSAGE_RTR && bytes == sizeof(offer)) {
        memcpy(payload, &offer, sizeof(offer));
    }
    (void) rbuf_ring_out_end(dealings.victim, kind, (uint8_t) record->spare, bytes, argument);
}

enum word_change {
    CHANGE_USE = 4,
    CHANGE_SIZE = 8,
    CHANGE_PLACE = 32, /* anywhere in the ring: no trailer stands where it should */
    IN_TURN = 64       /* the number that the victim waits for, whatever the foe's core sent */
};

/* Writes the first bytes of the scratch memory so that they end there, in the ring that the victim
 * leases to the foe. */
static void write_until(uint64_t end, uint32_t length, bool inlined)
{
    const struct world_node *victim = &dealings.world->nodes[VICTIM];
    uint32_t rkey = 0;

    for (unsigned i = 0; i < victim->ring_memory_count; i++) {
        if (inspect_ring_writer(dealings.core, victim->ring_memory[i]) == dealings.foe) {
            rkey = victim->ring_memory[i]->rkey;
        }
    }
    if (inlined) {
        (void) rbuf_fab_write_inline(foe_queue(RBUF_CONTROL), dealings.scratch, length,
                                     end - length, rkey, NULL);
    } else {
        (void) rbuf_fab_write(foe_queue(RBUF_CONTROL), dealings.scratch, dealings.scratch_key,
                              length, end - length, rkey, NULL);
    }
}

/* The same over several slots, with either trailer; its first word, or what the words stand for,
 * may be anything, and so may which slots it says that they end. */
static void long_word(const struct record *record)
{
    const struct rbuf_ring_options *options = &dealings.core->options.ring;
    const uint32_t room = rbuf_ring_room(options);
    const uint32_t bytes = room + 1 + record->amount % (rbuf_ring_longest(options) - room);
    const uint32_t slots = rbuf_ring_long_slots(bytes, options->slot_bytes);
    const uint32_t whole =
        rbuf_ring_padded(bytes) + (uint32_t) sizeof(struct rbuf_ring_long_trailer);
    const bool in_parts = (record->spare & 2) != 0 ||
                          whole < (slots - 1) * options->slot_bytes + RBUF_RING_WORD_BYTES;
    const uint32_t length = in_parts ? rbuf_ring_padded(bytes) + RBUF_RING_LONG_EXTRA : whole;
    struct rbuf_ring_trailer *trailer;
    uint64_t end = (uintptr_t) inspect_slot_end(dealings.foe, 0);
    uint64_t word = inspect_next_use(dealings.foe) << RBUF_RING_SIZE_BITS | bytes;

    if (length > SCRATCH_BYTES) {
        return;
    }
    end += (uint64_t) (slots - 1) * options->slot_bytes;
    memset(dealings.scratch, (int) record->spare, SCRATCH_BYTES);
    trailer = (struct rbuf_ring_trailer *) (void *) (dealings.scratch + length) - 1;
    foe_fill_header(&trailer->header, record);
    if (in_parts) {
        struct rbuf_ring_parts_trailer *parts =
            (struct rbuf_ring_parts_trailer *) (void *) (dealings.scratch + length) - 1;

        parts->words = record->spare & 1 ? 1 : record->value;
        trailer->header.kind |= RBUF_MESSAGE_IN_PARTS;
    }
    if (record->which & IN_TURN && !(record->which & CHANGE_SEQUENCE)) {
        trailer->header.sequence = dealings.foe->sequence_in;
    }
    atomic_store(&trailer->word, word + ((uint64_t) (slots - 1) << RBUF_RING_SIZE_BITS));
    if (record->which & CHANGE_USE) {
        atomic_store(&trailer->word, record->value);
    }
    if (record->which & CHANGE_SIZE) {
        word = (word & ~0xffffull) | (uint16_t) (record->value >> 32);
    }
    memcpy(dealings.scratch + length - (size_t) (slots - 1) * options->slot_bytes - sizeof(word),
           &word, sizeof(word));
    write_until(end, length, false);
}

/* Writes a message into the ring that the victim leases to the foe: the slot that is due or one of
 * the next, its word right or not. What the foe's core knows of its ring is not changed: it may
 * write there again, or never. */
void foe_ring_word(const struct record *record)
{
    const struct rbuf_ring_options *options = &dealings.core->options.ring;
    struct rbuf_ring_trailer *trailer;
    uint64_t end, use;
    uint32_t bytes, length;

    if (!inspect_is_polled(dealings.foe)) {
        return;
    }
    if ((record->spare >> 24 & 1) != 0 && rbuf_ring_longest(options) > rbuf_ring_room(options)) {
        long_word(record);
        return;
    }
    end = (uintptr_t) inspect_slot_end(dealings.foe, record->spare >> 16 & 3);
    use = inspect_next_use(dealings.foe) + (record->spare >> 16 & 3);
    bytes = record->amount % (rbuf_ring_room(options) + 1);
    length = ((bytes + 7u) & ~7u) + (uint32_t) sizeof(*trailer);
    memset(dealings.scratch, (int) record->spare, SCRATCH_BYTES);
    trailer = (struct rbuf_ring_trailer *) (void *) (dealings.scratch + length) - 1;
    foe_fill_header(&trailer->header, record);
    if (record->which & IN_TURN && !(record->which & CHANGE_SEQUENCE)) {
        trailer->header.sequence = dealings.foe->sequence_in;
    }
    if (record->which & CHANGE_USE) {
        use += record->value;
    }
    if (record->which & CHANGE_SIZE) {
        bytes = (uint16_t) (record->value >> 32);
    }
    if (record->which & CHANGE_PLACE) {
        end -= record->value % (options->slot_bytes - length + 1);
    }
    atomic_store(&trailer->word, use << RBUF_RING_SIZE_BITS | bytes);
    write_until(end, length, true);
}

static void send_own(const struct record *record, enum rbuf_message_kind kind, const void *payload,
                     uint32_t bytes)
{
    struct rbuf_message_header *header = (void *) dealings.scratch;
    struct record plain = *record;

    plain.which &= CHANGE_SEQUENCE;
    foe_fill_header(header, &plain);
    header->kind = (uint8_t) kind;
    header->tag = RBUF_LEASE_RING;
    memcpy(header + 1, payload, bytes);
    foe_send_scratch(record->which >> 7, (uint32_t) sizeof(*header) + bytes);
}

/* Offers a ring in the scratch memory, or the one that the foe's core has leased; up to one field
 * changed. */
void foe_ring_offer(const struct record *record)
{
    uint32_t slots = 2u + record->amount % 15;
    struct rbuf_ring_offer offer = {.base = (uintptr_t) dealings.scratch,
                                    .first_use = slots * (1 + (record->value & 0xff)),
                                    .rkey = dealings.scratch_key,
                                    .slots = slots,
                                    .slot_bytes = 128u << (record->amount >> 8) % 3};

    if (record->which & 4) {
        offer = inspect_last_offer(dealings.foe);
    }
    switch (record->spare % 8) {
    case 0:
        offer.base += record->value;
        break;
    case 1:
        offer.first_use = record->value;
        break;
    case 2:
        offer.rkey ^= (uint32_t) record->value;
        break;
    case 3:
        offer.slots = (uint32_t) record->value;
        break;
    case 4:
        offer.slot_bytes = (uint32_t) record->value;
        break;
    case 5:
        offer.longest = (uint32_t) record->value;
        break;
    case 6:
        offer.longest = slots / 2 * offer.slot_bytes / 2;
        break;
    default:
        break;
    }
    send_own(record, RBUF_MESSAGE_LEASE, &offer, sizeof(offer));
}

/* RECALL or RETURN, without regard to what state the two are in. */
void foe_ring_step(const struct record *record)
{
    send_own(record, record->which & 1 ? RBUF_MESSAGE_RECALL : RBUF_MESSAGE_RETURN, "", 0);
}
