/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core/eager keeps of a peer and of core: messages that wait, the rings to a peer and from it
 * (core/eager/ring.h), and the set of those that are polled (core/eager/polling_set.h). Only files
 * of core/eager change them.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_STATE_EAGER_H
#define RBUF_CORE_STATE_EAGER_H

#include <stdint.h>
#include <sys/queue.h>

#include "core/base/wire.h"
#include "fabric.h"

struct rbuf_am;
struct rbuf_peer;
struct rbuf_ring_in;
struct rbuf_watch;

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
TAILQ_HEAD(rbuf_am_list, rbuf_am);

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

struct rbuf_rings {
    struct rbuf_ring_memory_list spare;
    enum rbuf_ring_supply supply;
    uint32_t out;                      /* rings that we send by */
    struct rbuf_ring_out_list open;    /* to these peers; the others are being handed back */
    struct rbuf_ring_out_list waiting; /* peers that have invited us, without memory here */
    uint64_t counted;                  /* messages that we had sent at the last count of `open` */
};

enum rbuf_ring_out_state {
    RBUF_RING_OUT_NONE,
    RBUF_RING_OUT_WAITING, /* invited; there is no memory for slots of ours yet */
    RBUF_RING_OUT_OPEN,
    RBUF_RING_OUT_CLOSING,  /* handed back; the adapter may still read our slots */
    RBUF_RING_OUT_REINVITED /* CLOSING, and there is a new offer already */
};

/* The long message that was begun. */
struct rbuf_ring_begun {
    unsigned char *data; /* where it stands here */
    uint64_t remote;     /* and at the peer */
    uint32_t slots;
    uint32_t bytes;     /* payload */
    uint32_t trailer;   /* bytes */
    uint32_t length;    /* bytes of both, with padding */
    uint32_t first;     /* of them, those in its first slot; the last of these are its first word */
    uint32_t written;   /* of them, those that have left */
    uint32_t displaced; /* words in place of its payload */
    uint64_t words;     /* the slots that end with them, a bit each, from its first on */
};

struct rbuf_ring_out {
    enum rbuf_ring_out_state state;
    uint32_t returns; /* RETURNs of ours that are not known to have left */
    uint32_t room;    /* largest payload of one slot, bytes */
    uint32_t longest; /* of several; no more than `room`: none goes so */
    struct rbuf_ring_begun begun;
    uint32_t slot_bytes;      /* distance of our slots */
    enum rbuf_proof proof;    /* the form of its words, as the peer wants them */
    uint64_t use;             /* of the next message; its slot is use modulo the number of slots */
    unsigned char *local_end; /* of its slot here */
    uint64_t remote_end;      /* of its slot at the peer */
    unsigned char *last_end;  /* of the last slot here */
    struct rbuf_fab_request request;
    struct rbuf_ring_memory *memory;
    struct rbuf_ring_offer offer; /* what the peer gave us */
    uint64_t counted;             /* `use` at the last count */
    uint32_t silent;              /* counts in a row that found no message */
    TAILQ_ENTRY(rbuf_peer) link;  /* OPEN, WAITING: on that list */
};

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

/* What one poll of a ring reads; side by side in memory. */
struct rbuf_watch {
    const _Atomic uint64_t *word; /* of the slot that is next */
    uint64_t expected;            /* what it will be, with a size (and a checksum) of 0 */
    uint64_t span;                /* by how much less it may differ from that */
    struct rbuf_ring_in *ring;
};

struct rbuf_polling_set {
    struct rbuf_watch *watch; /* `count` of them, the busiest first */
    struct rbuf_ring_in *rings;
    uint32_t limit;
    uint32_t count;
    uint32_t used;                /* of `rings`: members, and who has left but is not done yet */
    uint32_t traffic;             /* small messages since the last epoch */
    uint32_t period;              /* small messages from one epoch to the next */
    uint32_t epoch;               /* how many there were; wraps */
    uint64_t victim;              /* no member that may be challenged is less busy */
    struct rbuf_ring_in *leaving; /* was challenged, since the last epoch; or NULL */
    struct rbuf_peer *heir;       /* by whom: nobody else is to get the place; or NULL */
};

struct rbuf_eager_of_peer {
    struct rbuf_am_list queued[RBUF_CHANNELS]; /* waiting for a credit or for room, in order */
    struct rbuf_am *behind_rts; /* of these, the last EARLY that waits behind an RTS; or NULL */
    uint16_t sequence_out;      /* of the next message on the control channel or the ring; wraps */
    struct rbuf_ring_out ring_out;
    struct rbuf_ring_in *ring_in; /* NULL: not in the polling set */
    uint32_t recent;              /* small messages over send/receive, halved at every epoch */
    uint32_t recent_epoch;        /* the one at which it was halved last */
    uint32_t ring_declines;       /* in a row: it has no memory for a ring */
    uint32_t ring_declined_epoch; /* the one before the last of them */
};

struct rbuf_eager_of_core {
    struct rbuf_rings rings;
    struct rbuf_polling_set set;
};

#endif
