/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Eager rings: small messages by one RDMA write each (Liu, Wu and Panda, "High Performance
 * RDMA-Based MPI Implementation over InfiniBand", 2004, sections 3.2 and 4).
 *
 * A ring is a run of slots in the receiver's memory, each tied for good to one slot in the sender's
 * (the paper's persistent buffer association), used in turn. A message stands at the end of its
 * slot (the bottom-fill of the paper's footnote):
 *
 *     | free ... | payload, from a multiple of 8 bytes on | up to 7 bytes | header | word |
 *
 * `word` names the use and the payload's size (core/eager/ring_word.h). The use counts the slots
 * of this memory that were ever taken, so its value never comes again and nothing is cleared
 * between two uses; the receiver waits for the one word at the end of the slot that is next.
 * Payload never lies where a word is looked for, but for long messages, which see to that
 * themselves.
 *
 * Writer of a word: the sender's adapter, with the other bytes of one write. On adapters that place
 * a write in order it comes last. On others it holds a checksum of all bytes of the message, and as
 * long as that does not agree with what the receiver reads the message has not come. Nothing is
 * known of the order of several writes: a message is one, or each of its writes ends with a word
 * (core/eager/ring_long.h), and it waits for its turn. Reader: the receiver, with acquire, before
 * header and payload.
 *
 * A slot is written again only after its credit came back (core/link/credit.h), which also tells
 * that the adapter is done with the sender's slot: writes are unsignalled and nothing waits for
 * them. When the ring is full the message goes over send/receive; the sequence numbers that all
 * messages of the control channel carry put the two in one order again (core/inbox.c).
 *
 * What is longer than a slot takes several (core/eager/ring_long.h).
 *
 *     ring_out.c     the sender's half; ring_out.h: a message of it
 *     ring_long.c    a message over several slots; ring_long.h: where it stands
 *     ring_in.c      the receiver's half
 *     polling_set.c  which peers have a ring to us
 */
#ifndef RBUF_CORE_RING_H
#define RBUF_CORE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/base/wire.h"
#include "fabric.h"

struct rbuf_core;
struct rbuf_peer;
struct rbuf_watch;

/* Bytes by which the bases of the rings are to differ, modulo a page, one from the next: the words
 * that are polled would else fall into the same few sets of the cache. */
#define RBUF_RING_STAGGER 64u
#define RBUF_RING_STEPS   64u

/* Registered memory for one ring, on either side; glue's, leased until rbuf_core_close(). */
struct rbuf_ring_memory {
    unsigned char *base; /* rbuf_ring_memory_bytes() of the options, aligned to 64, zeroed */
    uint32_t lkey;
    uint32_t rkey;
    uint64_t next_use; /* core's */
    SLIST_ENTRY(rbuf_ring_memory) link;
};

SLIST_HEAD(rbuf_ring_memory_list, rbuf_ring_memory);
TAILQ_HEAD(rbuf_ring_out_list, rbuf_peer);

/* What this side wants; slots 0: no rings. */
struct rbuf_ring_options {
    uint32_t slots;      /* 2 to RBUF_RING_SLOTS_MAX */
    uint32_t slot_bytes; /* a multiple of 64 */
    uint32_t set;        /* most peers in the polling set, and half of most rings to send by */
    uint32_t threshold;  /* small messages before a peer is invited */
    uint32_t longest;    /* payload of the longest message over several slots, bytes; 0: none */
};

enum rbuf_ring_supply { /* of ring memory */
                        RBUF_RING_SUPPLY_ASK,
                        RBUF_RING_SUPPLY_ASKED, /* RBUF_EVENT_RING_MEMORY is out */
                        RBUF_RING_SUPPLY_ENDED  /* there is no more */
};

/* Largest payload of a slot, bytes. */
static inline uint32_t rbuf_ring_room(const struct rbuf_ring_options *options)
{
    return options->slot_bytes - (uint32_t) sizeof(struct rbuf_ring_trailer);
}

/* Bytes that a payload occupies in a slot: it begins at a multiple of 8. */
static inline uint32_t rbuf_ring_padded(uint32_t bytes)
{
    return (bytes + 7u) & ~7u;
}

/* Bytes that are written of a slot. */
static inline uint32_t rbuf_ring_length(uint32_t bytes)
{
    return (uint32_t) sizeof(struct rbuf_ring_trailer) + rbuf_ring_padded(bytes);
}

/* Most rings that a process sends by. As many are leased as are taken in the whole job, but the
 * receivers decide which: where there is no slack, who changes partners is declined by some until
 * others let go. */
static inline uint32_t rbuf_rings_out_most(const struct rbuf_ring_options *options)
{
    return 2 * options->set;
}

struct rbuf_rings {
    struct rbuf_ring_memory_list spare;
    enum rbuf_ring_supply supply;
    uint32_t out;                      /* rings that we send by */
    struct rbuf_ring_out_list open;    /* to these peers; the others are being handed back */
    struct rbuf_ring_out_list waiting; /* peers that have invited us, without memory here */
    uint64_t counted;                  /* messages that we had sent at the last count of `open` */
};

/* Answers RBUF_EVENT_RING_MEMORY; NULL: none can be had, core goes on with what it has. */
void rbuf_ring_memory_give(struct rbuf_core *core, struct rbuf_ring_memory *memory);

/* For core's own files: spare memory, or NULL and it is asked for if that makes sense. */
struct rbuf_ring_memory *rbuf_ring_memory_take(struct rbuf_core *core);
void rbuf_ring_memory_return(struct rbuf_core *core, struct rbuf_ring_memory *memory);

/* ---- the sender's half ---- */

enum rbuf_ring_out_state {
    RBUF_RING_OUT_NONE,
    RBUF_RING_OUT_WAITING, /* invited; there is no memory for slots of ours yet */
    RBUF_RING_OUT_OPEN,
    RBUF_RING_OUT_CLOSING,  /* handed back; the adapter may still read our slots */
    RBUF_RING_OUT_REINVITED /* CLOSING, and there is a new offer already */
};

struct rbuf_ring_out {
    enum rbuf_ring_out_state state;
    uint32_t returns;         /* RETURNs of ours that are not known to have left */
    uint32_t room;            /* largest payload of one slot, bytes */
    uint32_t longest;         /* of several; no more than `room`: none goes so */
    uint32_t trailer;         /* of the long message that was begun, bytes */
    uint32_t written;         /* of its bytes, those that have left */
    uint32_t displaced;       /* words in place of its payload */
    uint64_t words;           /* the slots that end with them, a bit each, from its first on */
    uint32_t slot_bytes;      /* distance of our slots */
    uint32_t slot;            /* of the next message */
    enum rbuf_proof proof;    /* the form of its words, as the peer wants them */
    uint64_t use;             /* of the next message */
    unsigned char *local_end; /* of its slot here */
    uint64_t remote_end;      /* of its slot at the peer */
    struct rbuf_fab_request request;
    struct rbuf_ring_memory *memory;
    struct rbuf_ring_offer offer; /* what the peer gave us */
    uint64_t counted;             /* `use` at the last count */
    uint32_t silent;              /* counts in a row that found no message */
    TAILQ_ENTRY(rbuf_peer) link;  /* OPEN, WAITING: on that list */
};

/* True if a message of `bytes` goes by the ring, were there a free slot. */
static inline bool rbuf_ring_out_takes(const struct rbuf_ring_out *out, uint32_t bytes)
{
    return out->state == RBUF_RING_OUT_OPEN && bytes <= out->room;
}

void rbuf_ring_out_invited(struct rbuf_peer *peer, const struct rbuf_ring_offer *offer);
void rbuf_ring_out_recalled(struct rbuf_peer *peer);
void rbuf_ring_out_handed_back(struct rbuf_peer *peer); /* a RETURN has left the adapter */
void rbuf_ring_out_supplied(struct rbuf_core *core);    /* there may be memory now */
void rbuf_ring_out_count(struct rbuf_core *core);       /* at an epoch of the polling set */
void rbuf_ring_out_fail(struct rbuf_peer *peer);
void rbuf_ring_out_remove(struct rbuf_peer *peer);

/* ---- the receiver's half ---- */

enum rbuf_ring_in_state {
    RBUF_RING_IN_FREE,
    RBUF_RING_IN_POLLED,
    RBUF_RING_IN_RECALLED, /* polled still: the peer has not handed it back */
    RBUF_RING_IN_DRAINING, /* handed back; messages in it are with the user */
    RBUF_RING_IN_LOST      /* its peer is lost, and may have writes on their way still */
};

struct rbuf_ring_in {
    enum rbuf_ring_in_state state;
    struct rbuf_peer *peer;
    struct rbuf_ring_memory *memory;
    struct rbuf_watch *watch; /* its place in the polling set */
    uint32_t slot_bytes;
    uint32_t longest;      /* payload of one message, bytes */
    enum rbuf_proof proof; /* the form of its words */
    uint32_t slots;
    uint32_t slot;           /* of the next message */
    uint64_t use;            /* likewise */
    uint64_t incomplete_use; /* whose word was seen and whose checksum was not right */
    uint64_t incomplete_ns;  /* since when */
    uint32_t tail_slot;      /* of the use `tail` */
    uint32_t silent;         /* epochs in a row that found nothing new */
    uint32_t recent;         /* recent traffic, as of the last epoch */
    uint32_t admitted;       /* number of the epoch before it came in */
    uint32_t beside;         /* messages over send/receive since the last epoch */
    uint64_t counted; /* use at the last epoch; what long messages took beyond one is added */
    uint64_t tail;    /* every use before has freed its slot, and the peer gets its credit */
    uint64_t full;    /* tail + slots: no slot is free for that use */
    uint64_t freed;   /* slots freed out of order, a bit each */
};

static inline bool rbuf_ring_in_polled(const struct rbuf_ring_in *ring)
{
    return ring->state == RBUF_RING_IN_POLLED || ring->state == RBUF_RING_IN_RECALLED;
}

#endif
