/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the foe does (see core_fuzz.h): requests that any peer could post on its queue pairs to the
 * victim, well-formed but for what the input changes.
 */
#include "core_fuzz.h"

#include "inspect/eager.h"
#include "inspect/link.h"
#include "inspect/rendezvous.h"

static struct world_link *foe_link(void)
{
    return &dealings.world->nodes[FOE].links[VICTIM];
}

struct rbuf_fab_queue *foe_queue(unsigned channel)
{
    return &foe_link()->end[channel % RBUF_CHANNELS].queue;
}

/* Of the next message to the victim, as the foe's core has it. */
static uint16_t next_number(void)
{
    struct rbuf_message_header header;

    rbuf_channel_fill(dealings.victim, &header, RBUF_MESSAGE_USER, 0, 0);
    return header.sequence;
}

/* Posts what stands at the front of the scratch memory; nothing happens if there is no room. A
 * number that is in turn is used up, so that what the foe's core sends later is in turn, too. The
 * processes of a job trust each other so far that a header says whose it is, and that all write to
 * one staging memory: a foe that passes for the honest node is not resisted, and not tried. */
void foe_send_scratch(unsigned channel, uint32_t bytes)
{
    struct rbuf_message_header *header = (void *) dealings.scratch;
    const struct rbuf_peer *honest = dealings.world->nodes[VICTIM].links[HONEST].peer;
    struct rbuf_fab_piece piece = {dealings.scratch, bytes, dealings.scratch_key};

    if (header->peer == honest->index) {
        header->peer = UINT32_MAX - header->peer;
    }
    if (rbuf_fab_send(foe_queue(channel), &piece, 1, true, NULL) == RBUF_FAB_OK &&
        channel % RBUF_CHANNELS == RBUF_CONTROL && header->sequence == next_number()) {
        inspect_skip_number(dealings.victim);
    }
}

/* The id of one of the victim's grants, or what the input says. */
static uint64_t some_grant(const struct record *record)
{
    const struct item_grant *item = &dealings.granted[record->value % ITEMS];

    return item->grant != NULL ? item->offer.id : record->value;
}

void foe_fill_header(struct rbuf_message_header *header, const struct record *record)
{
    rbuf_channel_fill(dealings.victim, header, RBUF_MESSAGE_USER, (uint8_t) record->spare, 0);
    if (record->which & CHANGE_KIND) {
        header->kind = (uint8_t) (record->spare >> 8);
    }
    if (record->which & CHANGE_SEQUENCE) {
        header->sequence += (uint16_t) (record->value >> 48);
    }
    if (record->which & CHANGE_PEER) {
        header->peer = (uint32_t) record->value;
    }
    for (int flow = 0; flow < RBUF_COUNTS && record->which & CHANGE_CREDIT; flow++) {
        header->credit[flow] += (uint16_t) (record->value >> 16 * flow);
    }
    if (record->which & NAME_GRANT) {
        header->argument = some_grant(record);
    }
    if (record->which & CHANGE_ARGUMENT) {
        header->argument ^= record->value;
    }
}

void foe_message(const struct record *record, const uint8_t **data, size_t *left)
{
    uint32_t most = MESSAGE_BYTES + 16 - sizeof(struct rbuf_message_header);
    uint32_t bytes = record->amount % (most + 1); /* a little more than a buffer takes, too */
    struct rbuf_message_header *header = (void *) dealings.scratch;
    struct record next;

    memset(dealings.scratch, (int) record->spare, sizeof(*header) + bytes);
    foe_fill_header(header, record);
    bytes += sizeof(*header);
    if (record->which & RAW) {
        uint16_t sequence = header->sequence;

        for (uint32_t at = 0; at < bytes && record_take(data, left, &next); at += sizeof(next)) {
            memcpy(dealings.scratch + at, &next, sizeof(next));
        }
        header->sequence = sequence;
    }
    foe_send_scratch((record->which & ON_BULK) != 0, bytes);
}

/* Sets one field of an offer's schedule, of those that change_offer() numbers 8 to 12. */
static void change_schedule(struct rbuf_schedule *schedule, unsigned field, uint64_t value)
{
    switch (field) {
    case 8:
        schedule->block_bytes = (uint32_t) value;
        break;
    case 9:
        schedule->growth = (uint32_t) value;
        break;
    case 10:
        schedule->first_blocks = (uint16_t) value;
        schedule->buffer_blocks = (uint16_t) (value >> 16);
        break;
    case 11:
        schedule->buffers = (uint8_t) value;
        break;
    default:
        schedule->taper = (uint8_t) value;
        break;
    }
}

/* Sets one field of an offer. */
static void change_offer(struct rbuf_offer *offer, unsigned field, uint64_t value)
{
    switch (field % 18) {
    case 0:
        offer->id = value;
        break;
    case 1:
        offer->base = value;
        break;
    case 2:
        offer->bytes = value;
        break;
    case 3:
        offer->lane += value;
        break;
    case 4:
        offer->flag = value;
        break;
    case 5:
        offer->acks = value;
        break;
    case 6:
        offer->rkey = (uint32_t) value;
        break;
    case 7:
        offer->stride_blocks = (uint32_t) value;
        break;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
        change_schedule(&offer->schedule, field % 18, value);
        break;
    case 13:
        offer->mode = (uint8_t) value;
        break;
    case 14:
        offer->arrival = (uint8_t) value;
        break;
    case 15:
        offer->slot = (uint8_t) value;
        break;
    case 16:
        offer->ask = (uint8_t) value;
        break;
    default:
        offer->early = (uint32_t) value;
        break;
    }
}

/* One that the foe's core made, or one that fits the scratch memory; up to two fields changed. */
struct rbuf_offer foe_offer(const struct record *record)
{
    const struct item_grant *real = &dealings.offered[record->value % ITEMS];
    struct rbuf_offer offer = real->offer;

    if (real->grant == NULL) {
        offer = (struct rbuf_offer){.id = 1ull << 32 | record->which,
                                    .base = (uintptr_t) dealings.scratch,
                                    .bytes = 1 + record->value % SCRATCH_BYTES,
                                    .lane = (uintptr_t) dealings.scratch,
                                    .flag = 1,
                                    .rkey = dealings.scratch_key,
                                    .stride_blocks = dealings.core->options.schedule.buffer_blocks,
                                    .schedule = dealings.core->options.schedule,
                                    .mode = (uint8_t) (1 + (record->spare >> 28) % 3),
                                    .arrival = (uint8_t) dealings.core->options.arrival};
    }
    if (record->spare & 1) {
        change_offer(&offer, record->spare >> 8, record->value);
    }
    if (record->spare & 2) {
        change_offer(&offer, record->spare >> 12, record->amount);
    }
    return offer;
}

/* An RTR, mostly one that a put of the victim waits for. */
void foe_grant(const struct record *record)
{
    struct rbuf_message_header *header = (void *) dealings.scratch;
    struct record plain = *record;
    struct rbuf_offer offer;
    const struct rbuf_put *put = inspect_ungranted(dealings.foe, record->which % 4);

    offer = foe_offer(record);
    if (put != NULL) {
        uint8_t mode = (uint8_t) (RBUF_OFFER_STAGED + record->which / 4 % 2);

        offer = put->offer;
        offer.mode = mode;
        if (record->spare & 1) {
            change_offer(&offer, record->spare >> 8, record->value);
        }
    }
    plain.which = 0;
    foe_fill_header(header, &plain);
    header->kind = RBUF_MESSAGE_RTR;
    memcpy(header + 1, &offer, sizeof(offer));
    foe_send_scratch(record->which >> 7, sizeof(*header) + sizeof(offer));
}

/* Writes into the victim's staging: the block that is due, with the flag that is due or another, or
 * anything anywhere. */
void foe_block(const struct record *record)
{
    const struct rbuf_arena *arena = &dealings.core->receive_arena;
    struct rbuf_grant *grant = dealings.granted[record->which % ITEMS].grant;
    uint32_t bytes = arena->block_bytes;
    uint64_t remote = (uintptr_t) arena->base + record->value;
    uint32_t blocks = 1;

    memset(dealings.scratch, (int) record->amount, SCRATCH_BYTES);
    if (grant != NULL && grant->state == RBUF_GRANT_STAGED && !(record->which & 128)) {
        uint64_t flag = inspect_flag_of(grant) + record->spare % 4;

        blocks = 1 + (record->amount >> 8) % (SCRATCH_BYTES / bytes);
        remote = (uintptr_t) inspect_block_of(grant, record->spare % 4);
        for (uint32_t i = 0; i < blocks; i++, flag++) {
            memcpy(dealings.scratch + (i + 1) * bytes - RBUF_FLAG_BYTES, &flag, sizeof(flag));
        }
        bytes *= blocks;
    } else {
        bytes = record->amount % SCRATCH_BYTES;
    }
    if (!(record->which & 64)) { /* else its queue pair dies of it */
        uint64_t end = (uintptr_t) arena->base + (uint64_t) arena->blocks * arena->block_bytes;

        if (remote < (uintptr_t) arena->base || remote >= end || bytes > end - remote) {
            return;
        }
    }
    (void) rbuf_fab_write_inline(foe_queue(RBUF_BULK), dealings.scratch, bytes, remote,
                                 arena->extent[0].rkey, NULL);
}

/* Announces a chunk of a grant, or of one that was there before, of early data, or of anything. */
void foe_immediate(const struct record *record)
{
    const struct rbuf_peer *peer = foe_link()->peer;
    const struct item_grant *item = &dealings.granted[record->which % ITEMS];
    uint64_t id = item->offer.id;
    uint32_t immediate = (uint32_t) id | (uint32_t) (id >> 32) << 20;

    if (inspect_has_window(dealings.foe) && record->which & 64) {
        immediate = inspect_early_immediate(
            dealings.foe, inspect_slot_seq(dealings.foe, record->spare % RBUF_EARLY_SLOTS) +
                              (record->spare >> 2 & 4));
    }
    if (record->which & 128 || id == 0) {
        immediate = (uint32_t) record->value;
    }
    (void) rbuf_fab_write_immediate(foe_queue(RBUF_BULK), dealings.scratch, dealings.scratch_key, 0,
                                    peer->their_mailbox, peer->their_mailbox_rkey, immediate, NULL);
}

/* A word of the victim's mailbox, near what it holds or anything; or any bytes of it. */
void foe_mailbox(const struct record *record)
{
    const struct rbuf_peer *peer = dealings.foe;
    const uint64_t *words = (const uint64_t *) (const void *) peer->mailbox;
    uint32_t index = record->which % (sizeof(struct rbuf_mailbox) / sizeof(uint64_t));
    uint64_t value = record->value;
    uint32_t bytes = sizeof(value);
    uint32_t offset = index * (uint32_t) sizeof(value);

    if (record->spare & 1) {
        value += words[index];
    } else if (record->spare & 2 && index < RBUF_FLOWS) {
        value = inspect_taken(peer, (enum rbuf_flow) index) + record->amount;
    }
    if (record->spare & 4) {
        offset = record->amount % sizeof(struct rbuf_mailbox);
        bytes = (record->spare >> 8) % (uint32_t) (sizeof(struct rbuf_mailbox) - offset + 1);
    }
    memset(dealings.scratch, (int) record->value, sizeof(struct rbuf_mailbox));
    memcpy(dealings.scratch, &value, sizeof(value));
    (void) rbuf_fab_write_inline(foe_queue(RBUF_CONTROL), dealings.scratch, bytes,
                                 foe_link()->peer->their_mailbox + offset,
                                 foe_link()->peer->their_mailbox_rkey, NULL);
}
