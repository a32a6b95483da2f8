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

#include "core/schedule.h"

#define RBUF_WIRE_VERSION 9u
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

enum rbuf_message_kind {
    RBUF_MESSAGE_USER = 1,    /* an active message of Open MPI */
    RBUF_MESSAGE_GRANT,       /* an offer that replaces a deferred one */
    RBUF_MESSAGE_RING,        /* a struct rbuf_ring_offer: small messages may come by this ring */
    RBUF_MESSAGE_RING_RECALL, /* hand it back */
    RBUF_MESSAGE_RING_BACK,   /* no message comes by it any more */
    RBUF_MESSAGE_LED,         /* an active message that announces `after` bytes: their head is being
                                 written into the next place of the standing lane */
    RBUF_MESSAGE_STANDING,    /* a struct rbuf_standing_offer: heads may come by this lane */
    RBUF_MESSAGE_STANDING_RECALL, /* hand it back */
    RBUF_MESSAGE_STANDING_BACK,   /* no head comes by it any more but those announced */
    RBUF_MESSAGE_DECLINE,         /* the id of a grant whose head is another message's */
    RBUF_MESSAGE_HERALD, /* an active message: the pieces of set `after` are sent behind it */
    RBUF_MESSAGE_PIECE,  /* payload that is named later; `after` is its rbuf_piece_name() */
    RBUF_MESSAGE_NAMES,  /* one struct rbuf_naming or several: of pieces, in order */
    RBUF_MESSAGE_NAMED,  /* the struct rbuf_naming of `after`, and that piece itself */
    RBUF_MESSAGE_LATE,   /* a set, 32 bits, whose pieces are dropped: name none of them */
    RBUF_MESSAGE_LONG    /* an active message that found no room in a ring, by the bulk channel */
};

/* In front of every message of the send/receive channels, and behind those of a ring. */
struct rbuf_message_header {
    uint64_t after;    /* deliver once this grant is placed; 0 for at once; some kinds' own */
    uint32_t peer;     /* index of the sender in the receiver's table */
    uint8_t kind;      /* enum rbuf_message_kind */
    uint8_t tag;       /* of an active message */
    uint16_t sequence; /* place among all messages of the control channel and the ring; wraps */
    uint16_t credit[RBUF_COUNTS]; /* messages taken off each flow so far, modulo 2^16 */
};

static_assert(sizeof(struct rbuf_message_header) == 24, "the wire header has no padding");

#define RBUF_RING_SLOTS_MAX      64u
#define RBUF_RING_SLOT_BYTES_MIN 128u
#define RBUF_RING_SLOT_BYTES_MAX 32768u
#define RBUF_RING_SIZE_BITS      16     /* of the word; the rest is the use */
#define RBUF_RING_BYTES_MAX      65528u /* of payload; padded it still fits into those bits */

/* The end of a message in a ring, and of its slot. */
struct rbuf_ring_trailer {
    struct rbuf_message_header header;
    _Atomic uint64_t word; /* use << RBUF_RING_SIZE_BITS | payload bytes */
};

static_assert(sizeof(struct rbuf_ring_trailer) == 32, "the trailer has no padding");

#define RBUF_RING_PARTS 8u /* most words inside of a long message */

/* The end of a long message, over several slots (core/ring_long.h). */
struct rbuf_ring_long_trailer {
    uint64_t displaced[RBUF_RING_PARTS]; /* what the words inside stand for, first slot first */
    uint64_t words;                      /* the slots that end with such a word, a bit each */
    struct rbuf_ring_trailer last;
};

static_assert(sizeof(struct rbuf_ring_long_trailer) == 104, "the trailer has no padding");

/* A ring that the receiver lends to a sender. */
struct rbuf_ring_offer {
    uint64_t base;      /* address of the first slot */
    uint64_t first_use; /* of the first message, which goes to the first slot */
    uint32_t rkey;
    uint32_t slots;
    uint32_t slot_bytes;
    uint32_t longest; /* payload, bytes; more than a slot takes: over several (core/ring_long.h) */
};

/* The name of a piece that is sent ahead (core/ahead.h): its set, from 1, and its place there. */
#define RBUF_PIECE_NUMBER_BITS 24u

static inline uint64_t rbuf_piece_name(uint32_t set, uint32_t number)
{
    return (uint64_t) set << RBUF_PIECE_NUMBER_BITS | number;
}

#define RBUF_NAMING_BYTES 40u /* of the user's header */

/* An active message whose payload is a piece: its header, and which piece that is. */
struct rbuf_naming {
    uint64_t name;
    uint64_t before; /* the name before, of whatever set; 0: there is none */
    uint8_t tag;
    uint8_t bytes; /* of the header */
    uint8_t reserved[6];
    unsigned char header[RBUF_NAMING_BYTES];
};

static_assert(sizeof(struct rbuf_naming) == 64, "a naming has no padding");

#define RBUF_STANDING_PLACES    4u
#define RBUF_STANDING_PEERS_MAX 64u /* that have a lane of one receiver */

/* Places that the receiver lends to a sender, for the heads of messages to come (core/standing.h).
 */
struct rbuf_standing_offer {
    uint64_t base;  /* address of place 0 */
    uint64_t flag;  /* of the first block of use `first`; each use has place_blocks of them */
    uint64_t first; /* the use before the first one; uses of other lanes have other numbers */
    uint32_t rkey;
    uint32_t place_blocks;
    struct rbuf_schedule schedule; /* of every message whose head goes there */
    uint32_t immediate;            /* rbuf_immediate_of_lane(); 0: heads are looked for by flags */
    uint32_t reserved;
};

enum rbuf_offer_mode {
    RBUF_OFFER_DEFERRED = 1, /* no staging buffers free: a GRANT message follows */
    RBUF_OFFER_STAGED,       /* write chunks into the lane */
    RBUF_OFFER_DIRECT        /* write into the registered user buffer */
};

/* What announces a chunk that is not looked for by flags: the grant's index, and how often it was
 * given out, modulo 2^12, so that what comes late from a lost peer finds no later grant. */
#define RBUF_IMMEDIATE_INDEX_BITS 20u

static inline uint32_t rbuf_immediate(uint64_t grant_id)
{
    return (uint32_t) grant_id | (uint32_t) (grant_id >> 32) << RBUF_IMMEDIATE_INDEX_BITS;
}

/* The same of a head's chunk: this bit, which no grant's index has, the lane and how often lanes
 * were lent, and the use, modulo 2^12. */
#define RBUF_IMMEDIATE_HEAD      (1u << (RBUF_IMMEDIATE_INDEX_BITS - 1))
#define RBUF_IMMEDIATE_LANE_BITS 6u

static_assert(RBUF_STANDING_PEERS_MAX <= 1u << RBUF_IMMEDIATE_LANE_BITS,
              "every lane has a number of its own");
static_assert((1ull << (32 - RBUF_IMMEDIATE_INDEX_BITS)) % RBUF_STANDING_PLACES == 0,
              "the bits of a use tell its place");

static inline uint32_t rbuf_immediate_of_lane(uint32_t lane, uint64_t lent)
{
    return RBUF_IMMEDIATE_HEAD | lane |
           ((uint32_t) lent << RBUF_IMMEDIATE_LANE_BITS & (RBUF_IMMEDIATE_HEAD - 1));
}

static inline uint32_t rbuf_immediate_of_use(uint32_t of_lane, uint64_t use)
{
    return of_lane | (uint32_t) use << RBUF_IMMEDIATE_INDEX_BITS;
}

enum rbuf_arrival {
    RBUF_ARRIVAL_BLOCK,    /* each block is taken when its flag is seen */
    RBUF_ARRIVAL_CHUNK,    /* a chunk is taken when its last flag is seen */
    RBUF_ARRIVAL_IMMEDIATE /* a chunk is taken when its write-with-immediate completes */
};

static_assert(sizeof(struct rbuf_schedule) == 16, "the schedule has no padding");

/* How a receiver wants `bytes` bytes for `base`; travels inside registration handles. */
struct rbuf_offer {
    uint64_t id;    /* names the grant; never 0 for STAGED and DEFERRED */
    uint64_t base;  /* user address at the receiver */
    uint64_t bytes; /* exactly this many are put */
    uint64_t lane;  /* STAGED: address of staging buffer 0, if any is wanted */
    uint64_t flag;  /* STAGED: flag value of the first block; block k carries flag + k */
    uint64_t acks;  /* STAGED: what the acknowledgement word counted before this message */
    uint64_t head;  /* STAGED: use of the standing lane that has the head; 0: there is none */
    uint64_t uses;  /* of the standing lane that may have begun; 0: no news */
    uint32_t rkey;  /* of the lane, or of the user buffer */
    uint32_t stride_blocks; /* distance of the lane's buffers, blocks */
    struct rbuf_schedule schedule;
    uint8_t mode;    /* enum rbuf_offer_mode */
    uint8_t arrival; /* enum rbuf_arrival */
    uint8_t slot;    /* which acknowledgement word, if the message has more chunks than buffers */
    uint8_t kept;    /* 1: the head was there before anybody asked for it */
    uint8_t reserved[4];
};

/*
 * Words that one peer writes and we read, in registered memory of ours, one mailbox a peer.
 *
 * Writer: the peer, by RDMA writes of 8 aligned bytes, each a cumulative count that only grows (so
 * late and merged writes are harmless; that none overtakes another of the same word, core/words.h
 * sees to). Reader: core, with acquire, which pairs with the adapter's
 * placing of whatever the peer wrote or read before.
 */
struct rbuf_mailbox {
    _Atomic uint64_t credit[RBUF_FLOWS];  /* messages of ours that it took off each flow */
    _Atomic uint64_t ack[RBUF_ACK_SLOTS]; /* chunks of ours that it copied out */
    _Atomic uint64_t reserved[5];
};

static_assert(sizeof(struct rbuf_mailbox) % 64 == 0, "mailboxes do not share cache lines");

#endif
