/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core puts on the wire: message headers, offers and mailboxes.
 *
 * Host byte order throughout: peers of another byte order are unreachable, the connection exchange
 * sees to it. Every structure here changes RBUF_WIRE_VERSION when it changes.
 */
#ifndef RBUF_CORE_WIRE_H
#define RBUF_CORE_WIRE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/base/schedule.h"

#define RBUF_WIRE_VERSION 16u
#define RBUF_ACK_SLOTS    64u /* staged messages a peer that may wait for acknowledgements at once */

/* The two send/receive channels of a peer, each on its own queue pair and receive queue. */
enum rbuf_channel_id {
    RBUF_CONTROL, /* eager messages and everything small; nothing large is ever ahead of them */
    RBUF_BULK, /* chunks, in-place transfers, large fragments, long eager messages without a ring */
    RBUF_CHANNELS
};

/* What there is a limited number of places for at the receiver, each with credits of its own. */
enum rbuf_flow {
    RBUF_FLOW_CONTROL = RBUF_CONTROL, /* receive buffers of the control channel */
    RBUF_FLOW_BULK = RBUF_BULK,       /* of the bulk channel */
    RBUF_FLOW_RING,                   /* slots of an eager ring */
    RBUF_FLOWS
};

/* The counts in a header: one of each flow, and whether they are counts at all. */
enum { RBUF_COUNTED = RBUF_FLOWS, RBUF_COUNTS };

/* What stands there, beside counts, tells whether writes of one word of the sender's mailbox are
 * placed there in order. */
enum rbuf_counted { RBUF_COUNTED_NOT, RBUF_COUNTED_IN_ORDER, RBUF_COUNTED_UNORDERED };

/*
 * kind      `argument` of the header
 * USER      id of the grant that must be placed before this is delivered; 0: deliver at once
 * ANSWER    likewise
 * RTS       rbuf_rts_argument(), or RBUF_RTS_PLAIN
 * RTR       id of the grant
 * EARLY     id of the grant that the payload answers; 0: no more fragments come of these early data
 * others    0
 */
enum rbuf_message_kind {
    RBUF_MESSAGE_USER = 1, /* an active message of Open MPI */
    RBUF_MESSAGE_LONG,     /* one that found no room in a ring, by the bulk channel */
    RBUF_MESSAGE_RTS,      /* one that announces a message */
    RBUF_MESSAGE_FRAGMENT, /* one whose payload is early data: a struct rbuf_fragment before it */
    RBUF_MESSAGE_ANSWER,   /* one of Open MPI that lets data move, or says that they have */
    RBUF_MESSAGE_LAST_USERS = RBUF_MESSAGE_ANSWER, /* those behind are core's own */
    RBUF_MESSAGE_RTR,                              /* an offer that replaces a deferred one */
    RBUF_MESSAGE_EARLY,  /* the sequence number of a put's early data; 0: it has none */
    RBUF_MESSAGE_LEASE,  /* a struct rbuf_ring_offer or rbuf_early_window, as `tag` says */
    RBUF_MESSAGE_RECALL, /* give it back; enum rbuf_lease in `tag` */
    RBUF_MESSAGE_RETURN, /* nothing comes by it any more; likewise */
    RBUF_MESSAGE_KINDS
};

/* What says that all bytes of one write are there, when its last word is seen. */
enum rbuf_proof {
    RBUF_PROOF_ORDER,   /* the adapter places them in order */
    RBUF_PROOF_CHECKSUM /* a checksum in that word; the bytes may come in any order */
};

/* Beside the kind of a long message in a ring. */
#define RBUF_MESSAGE_IN_PARTS 0x80u

/* What a receiver leases a sender of its memory. */
enum rbuf_lease {
    RBUF_LEASE_RING, /* small messages may come by this ring */
    RBUF_LEASE_EARLY /* early data may come into these slots */
};

/* In front of every message of the send/receive channels, and behind those of a ring. */
struct rbuf_message_header {
    uint64_t argument; /* as the kind has it */
    uint32_t peer;     /* index of the sender in the receiver's table */
    uint8_t kind;      /* enum rbuf_message_kind */
    uint8_t tag;       /* of an active message; enum rbuf_lease */
    uint16_t sequence; /* place among all messages of the control channel and the ring; wraps */
    uint16_t credit[RBUF_COUNTS]; /* messages taken off each flow so far, modulo 2^16 */
};

static_assert(sizeof(struct rbuf_message_header) == 24, "the wire header has no padding");

#define RBUF_RING_SLOTS_MAX      64u
#define RBUF_RING_SLOT_BYTES_MIN 128u
#define RBUF_RING_SLOT_BYTES_MAX 32768u
#define RBUF_RING_SIZE_BITS      17      /* of a word that has the size */
#define RBUF_RING_BYTES_MAX      131064u /* of payload; padded it still fits into those bits */

/* The end of a message in a ring, and of its slot. */
struct rbuf_ring_trailer {
    struct rbuf_message_header header;
    _Atomic uint64_t word; /* core/eager/ring_word.h */
};

static_assert(sizeof(struct rbuf_ring_trailer) == 32, "the trailer has no padding");

/* The end of a long message, over several slots, that left in one write
 * (core/eager/ring_long.h). */
struct rbuf_ring_long_trailer {
    uint64_t displaced; /* what the word at the end of its first slot stands for */
    struct rbuf_ring_trailer last;
};

static_assert(sizeof(struct rbuf_ring_long_trailer) == 40, "the trailer has no padding");

#define RBUF_RING_PARTS 8u /* most words inside of a long message */

/* Of one that may have left in parts: its kind has RBUF_MESSAGE_IN_PARTS set. */
struct rbuf_ring_parts_trailer {
    uint64_t displaced[RBUF_RING_PARTS]; /* what the words inside stand for, first slot first */
    uint64_t words;                      /* the slots that end with such a word, a bit each */
    struct rbuf_ring_trailer last;
};

static_assert(sizeof(struct rbuf_ring_parts_trailer) == 104, "the trailer has no padding");

/* A ring that the receiver leases to a sender. */
struct rbuf_ring_offer {
    uint64_t base;      /* address of the first slot */
    uint64_t first_use; /* of the first message, which goes to the first slot */
    uint32_t rkey;
    uint32_t slots;
    uint32_t slot_bytes;
    uint32_t longest; /* payload, bytes; more than a slot takes: over several
                         (core/eager/ring_long.h) */
    uint32_t proof;   /* enum rbuf_proof: the form of its words */
    uint32_t reserved;
};

#define RBUF_EARLY_SLOTS     4u  /* a power of two */
#define RBUF_EARLY_PEERS_MAX 64u /* that have a window of one receiver */

/* Slots that the receiver leases to a sender for early data (core/rendezvous/early.h). */
struct rbuf_early_window {
    uint64_t base;  /* address of slot 0 */
    uint64_t flag;  /* of the first block of sequence number 0; each has slot_blocks of them */
    uint32_t first; /* sequence numbers of this window are larger; a multiple of RBUF_EARLY_SLOTS */
    uint32_t rkey;
    uint32_t slot_blocks;
    uint32_t immediate;            /* rbuf_immediate_of_window(); 0: chunks are found by flags */
    struct rbuf_schedule schedule; /* of early data */
    uint32_t arrival;              /* enum rbuf_arrival */
    uint32_t reserved;
};

static_assert(sizeof(struct rbuf_early_window) == 56, "the window has no padding");

/* Of an RTS whose sender has early data for none of its like, and wants no window. */
#define RBUF_RTS_PLAIN UINT64_MAX

/* What an RTS says of its early data: none, or their sequence number and bytes. */
static inline uint64_t rbuf_rts_argument(uint32_t seq, uint32_t bytes)
{
    return (uint64_t) seq << 32 | bytes;
}

static inline uint32_t rbuf_rts_seq(uint64_t argument)
{
    return (uint32_t) (argument >> 32);
}

static inline uint32_t rbuf_rts_bytes(uint64_t argument)
{
    return (uint32_t) argument;
}

#define RBUF_FRAGMENT_BLOCKS 15u /* with Open MPI's header as many segments as it takes */

/* In front of the payload of a FRAGMENT: which blocks of early data go on where it ends. */
struct rbuf_fragment {
    uint32_t seq;
    uint16_t first; /* block */
    uint8_t blocks;
    uint8_t last;                         /* 1: the slot is free then */
    uint32_t bytes[RBUF_FRAGMENT_BLOCKS]; /* in each block, from its beginning on */
    uint32_t reserved;
};

static_assert(sizeof(struct rbuf_fragment) == 72, "a fragment's header keeps the alignment");

enum rbuf_offer_mode {
    RBUF_OFFER_DEFERRED = 1, /* no staging is free now: an RTR follows */
    RBUF_OFFER_STAGED,       /* write chunks into the lane */
    RBUF_OFFER_DIRECT,       /* write into the registered user buffer */
    RBUF_OFFER_WINDOW        /* the same of one-sided code, which reads there, too: no grant's */
};

/* What announces a chunk that is not looked for by flags: the grant's index, and how often it was
 * given out, modulo 2^12, so that what comes late from a lost peer finds no later grant. */
#define RBUF_IMMEDIATE_INDEX_BITS 20u

static inline uint32_t rbuf_immediate(uint64_t grant_id)
{
    return (uint32_t) grant_id | (uint32_t) (grant_id >> 32) << RBUF_IMMEDIATE_INDEX_BITS;
}

/* The same of a chunk of early data: this bit, which no grant's index has, the window and how often
 * windows were leased, and the sequence number, modulo 2^12. */
#define RBUF_IMMEDIATE_EARLY       (1u << (RBUF_IMMEDIATE_INDEX_BITS - 1))
#define RBUF_IMMEDIATE_WINDOW_BITS 6u

static_assert(RBUF_EARLY_PEERS_MAX <= 1u << RBUF_IMMEDIATE_WINDOW_BITS,
              "every window has a number of its own");
static_assert((1ull << (32 - RBUF_IMMEDIATE_INDEX_BITS)) % RBUF_EARLY_SLOTS == 0,
              "the bits of a sequence number tell its slot");

static inline uint32_t rbuf_immediate_of_window(uint32_t number, uint64_t leased)
{
    return RBUF_IMMEDIATE_EARLY | number |
           ((uint32_t) leased << RBUF_IMMEDIATE_WINDOW_BITS & (RBUF_IMMEDIATE_EARLY - 1));
}

static inline uint32_t rbuf_immediate_of_early(uint32_t of_window, uint32_t seq)
{
    return of_window | seq << RBUF_IMMEDIATE_INDEX_BITS;
}

enum rbuf_arrival {
    RBUF_ARRIVAL_BLOCK,     /* each block is taken when its flag is seen */
    RBUF_ARRIVAL_CHUNK,     /* a chunk is taken when its last flag is seen */
    RBUF_ARRIVAL_IMMEDIATE, /* a chunk is taken when its write-with-immediate completes */
    /* As the first two, but that each block is taken when its checksum is right, too. */
    RBUF_ARRIVAL_BLOCK_CHECKED,
    RBUF_ARRIVAL_CHUNK_CHECKED
};

#define RBUF_ARRIVALS (RBUF_ARRIVAL_CHUNK_CHECKED + 1u)

/* What says that a block is there whose flag is seen. */
static inline enum rbuf_proof rbuf_arrival_proof(enum rbuf_arrival arrival)
{
    return arrival == RBUF_ARRIVAL_BLOCK_CHECKED || arrival == RBUF_ARRIVAL_CHUNK_CHECKED
               ? RBUF_PROOF_CHECKSUM
               : RBUF_PROOF_ORDER;
}

/* The same way without relying on order. */
static inline enum rbuf_arrival rbuf_arrival_checked(enum rbuf_arrival arrival)
{
    return arrival == RBUF_ARRIVAL_BLOCK   ? RBUF_ARRIVAL_BLOCK_CHECKED
           : arrival == RBUF_ARRIVAL_CHUNK ? RBUF_ARRIVAL_CHUNK_CHECKED
                                           : arrival;
}

static_assert(sizeof(struct rbuf_schedule) == 16, "the schedule has no padding");

/* How a receiver wants `bytes` bytes for `base`; travels inside registration handles. */
struct rbuf_offer {
    uint64_t id;    /* names the grant; never 0 for STAGED and DEFERRED */
    uint64_t base;  /* user address at the receiver */
    uint64_t bytes; /* exactly this many are put */
    uint64_t lane;  /* STAGED: address of staging buffer 0, if any is wanted */
    uint64_t flag;  /* STAGED: of the first block behind early data; block k carries flag + k */
    uint64_t acks;  /* STAGED: what the acknowledgement word counted before this message */
    uint32_t rkey;  /* of the lane, or of the user buffer */
    uint32_t stride_blocks; /* distance of the lane's buffers, blocks */
    struct rbuf_schedule schedule;
    uint8_t mode;    /* enum rbuf_offer_mode */
    uint8_t arrival; /* enum rbuf_arrival */
    uint8_t slot;    /* which acknowledgement word, if the message has more chunks than buffers */
    uint8_t ask;     /* 1: say which early data are this put's, before anything else */
    uint32_t early;  /* sequence number of those that it has claimed, whose bytes come first; 0: of
                        none */
};

/*
 * Words that one peer writes and we read, in registered memory of ours, one mailbox a peer.
 *
 * Writer: the peer, by RDMA writes of 8 aligned bytes, each a cumulative count that only grows (so
 * late and merged writes are harmless; that none overtakes another of the same word,
 * core/link/words.h sees to). Reader: core, with acquire, which pairs with the adapter's placing
 * of whatever the peer wrote or read before.
 */
struct rbuf_mailbox {
    _Atomic uint64_t credit[RBUF_FLOWS];  /* messages of ours that it took off each flow */
    _Atomic uint64_t ack[RBUF_ACK_SLOTS]; /* chunks of ours that it copied out */
    _Atomic uint64_t early; /* early data of ours that it released: rbuf_early_report() */
    _Atomic uint64_t reserved[4];
};

/* The word `early`: of each slot the use that was released last, modulo 2^16. */
#define RBUF_EARLY_REPORT_BITS (64u / RBUF_EARLY_SLOTS)

static inline uint64_t rbuf_early_report(uint64_t word, uint32_t seq)
{
    const uint64_t mask = (1ull << RBUF_EARLY_REPORT_BITS) - 1;
    const uint32_t shift = seq % RBUF_EARLY_SLOTS * RBUF_EARLY_REPORT_BITS;

    return (word & ~(mask << shift)) | (seq / RBUF_EARLY_SLOTS & mask) << shift;
}

static_assert(sizeof(struct rbuf_mailbox) % 64 == 0, "mailboxes do not share cache lines");

#endif
