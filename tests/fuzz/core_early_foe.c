/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the foe does with early data (see core_fuzz.h): RTSs that announce them, what names them,
 * fragments of packed data, and windows; near to what is right, or wild.
 */
#include "core_fuzz.h"

#include "inspect/rendezvous.h"

/* A sequence number: one that the victim has of the foe, the next of its slot, or any. */
static uint32_t some_seq(const struct record *record)
{
    const uint32_t value = (uint32_t) record->value;

    if (!inspect_has_window(dealings.foe) || (record->spare >> 24 & 15) == 0) {
        return value;
    }
    return inspect_slot_seq(dealings.foe, value % RBUF_EARLY_SLOTS) +
           (value >> 2) % 3 * RBUF_EARLY_SLOTS;
}

static uint64_t some_grant(const struct record *record)
{
    const struct item_grant *item = &dealings.granted[record->amount % ITEMS];

    return item->grant != NULL ? item->offer.id : record->value;
}

static void send_kind(const struct record *record, enum rbuf_channel_id channel,
                      enum rbuf_message_kind kind, uint8_t tag, uint64_t argument,
                      const void *payload, uint32_t bytes)
{
    struct rbuf_message_header *header = (void *) dealings.scratch;
    const struct record plain = {.value = record->value};

    foe_fill_header(header, &plain);
    header->kind = (uint8_t) kind;
    header->tag = tag;
    header->argument = argument;
    memcpy(header + 1, payload, bytes);
    foe_send_scratch(channel, (uint32_t) sizeof(*header) + bytes);
}

/* Bytes of early data: as many as a slot has, a few, or none, as of packed data. */
static uint32_t some_bytes(const struct record *record)
{
    const struct rbuf_early_options *options = &dealings.core->options.early;
    const uint32_t most =
        options->slot_blocks * rbuf_block_payload(&dealings.core->options.schedule);

    switch (record->spare & 3) {
    case 0:
        return 0;
    case 1:
        return most;
    case 2:
        return 1 + record->amount % most;
    default:
        return record->amount * (record->spare >> 8 & 7);
    }
}

static void send_fragment(const struct record *record)
{
    const uint32_t payload = rbuf_block_payload(&dealings.core->options.schedule);
    struct rbuf_fragment fragment = {.seq = some_seq(record),
                                     .first = (uint16_t) (record->spare >> 8 & 3),
                                     .blocks = (uint8_t) (record->spare >> 10 & 3),
                                     .last = (uint8_t) (record->spare >> 12 & 1)};
    uint32_t bytes = sizeof(fragment);

    for (uint32_t i = 0; i < RBUF_FRAGMENT_BLOCKS; i++) {
        fragment.bytes[i] = 1 + (record->amount + i) % payload;
    }
    switch (record->spare >> 13 & 15) {
    case 0:
        fragment.first = (uint16_t) record->value;
        break;
    case 1:
        fragment.blocks = (uint8_t) record->amount;
        break;
    case 2:
        fragment.bytes[record->amount % RBUF_FRAGMENT_BLOCKS] = (uint32_t) record->value;
        break;
    case 3:
        bytes = record->amount % bytes;
        break;
    default:
        break;
    }
    send_kind(record, (record->spare >> 17 & 15) == 0 ? RBUF_CONTROL : RBUF_BULK,
              RBUF_MESSAGE_FRAGMENT, (uint8_t) record->spare, 0, &fragment, bytes);
}

void foe_early(const struct record *record)
{
    const uint32_t seq = some_seq(record);
    uint64_t argument = rbuf_rts_argument(seq, some_bytes(record));

    switch (record->which % 8) {
    case 0: /* one without */
        argument = 0;
        /* fall through */
    case 1:
    case 2:
    case 3:
        send_kind(record, RBUF_CONTROL, RBUF_MESSAGE_RTS, (uint8_t) record->spare, argument, &seq,
                  record->amount % 2 * (uint32_t) sizeof(seq));
        break;
    case 4:
        send_kind(record, RBUF_CONTROL, RBUF_MESSAGE_EARLY, 0, some_grant(record), &seq,
                  (record->spare & 63) == 0 ? 2 : sizeof(seq));
        break;
    case 5:
        send_kind(record, RBUF_BULK, RBUF_MESSAGE_EARLY, 0, 0, &seq, sizeof(seq));
        break;
    default:
        send_fragment(record);
        break;
    }
}

/* In the scratch memory, up to one field changed. */
static struct rbuf_early_window some_window(const struct record *record)
{
    struct rbuf_early_window window = {.base = (uintptr_t) dealings.scratch,
                                       .flag = 1ull << 63,
                                       .first = record->amount & ~(RBUF_EARLY_SLOTS - 1),
                                       .rkey = dealings.scratch_key,
                                       .slot_blocks = 1 + record->spare % 4,
                                       .schedule = dealings.core->options.schedule};

    window.schedule.first_blocks = 1;
    switch (record->spare >> 24 & 15) {
    case 0:
        window.first = (uint32_t) record->value;
        break;
    case 1:
        window.slot_blocks = (uint32_t) record->value;
        break;
    case 2:
        window.schedule.first_blocks = (uint16_t) record->value;
        break;
    case 3:
        window.schedule.opening_blocks = (uint16_t) record->value;
        break;
    case 4: /* other blocks than those of the window before */
        window.schedule.block_bytes <<= record->spare >> 8 & 7;
        window.schedule.buffer_blocks = 1;
        break;
    case 5:
        window.immediate = (uint32_t) record->value;
        break;
    case 6:
        window.rkey ^= (uint32_t) record->value;
        break;
    case 7:
        window.flag = record->value;
        break;
    default:
        break;
    }
    return window;
}

void foe_lease(const struct record *record)
{
    static const enum rbuf_message_kind kinds[] = {RBUF_MESSAGE_LEASE, RBUF_MESSAGE_LEASE,
                                                   RBUF_MESSAGE_RECALL, RBUF_MESSAGE_RETURN};
    const enum rbuf_message_kind kind = kinds[record->which % 4];
    const struct rbuf_early_window window = some_window(record);
    const uint8_t tag = (record->which >> 2 & 15) == 0 ? record->which >> 6 : RBUF_LEASE_EARLY;

    send_kind(record, RBUF_CONTROL, kind, tag, 0, &window,
              kind == RBUF_MESSAGE_LEASE ? (uint32_t) sizeof(window) - (record->which >> 7) : 0);
}
