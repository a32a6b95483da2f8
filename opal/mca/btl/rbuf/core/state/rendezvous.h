/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core/rendezvous keeps of a peer and of core: puts, grants, windows for early data, of
 * ours and of the peer (core/rendezvous/early.h), and who has one (core/rendezvous/lease.h). Only
 * files of core/rendezvous change them.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_STATE_RENDEZVOUS_H
#define RBUF_CORE_STATE_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/base/trace.h"
#include "core/base/wire.h"

struct rbuf_grant;
struct rbuf_peer;
struct rbuf_put;
struct rbuf_unexpected_rtr;

TAILQ_HEAD(rbuf_put_list, rbuf_put);
TAILQ_HEAD(rbuf_grant_list, rbuf_grant);
SLIST_HEAD(rbuf_rtr_list, rbuf_unexpected_rtr);

struct rbuf_early_options {
    uint32_t peers;          /* most that have a window; 0: none has */
    uint32_t slot_blocks;    /* of each slot: the most early data of a message; at least 2 */
    uint16_t opening_blocks; /* of the first chunk, if that is less than the schedule's */
};

/* What a slot at the receiver waits for, here. */
#define RBUF_EARLY_STATES(STATE)                                                                   \
    STATE(RBUF_EARLY_, FREE)    /* the next RTS */                                                 \
    STATE(RBUF_EARLY_, WRITING) /* the next progress, which writes what is left */                 \
    STATE(RBUF_EARLY_, WRITTEN) /* the put, which writes what is missing */                        \
    STATE(RBUF_EARLY_, TAKEN)   /* the receiver to release it: its put has taken it */             \
    STATE(RBUF_EARLY_, PACKED)  /* the same: fragments name it */                                  \
    STATE(RBUF_EARLY_, DROPPED) /* what is on its way there: nobody will take it */

enum rbuf_early_state { RBUF_EARLY_STATES(RBUF_STATE) };

struct rbuf_early_data {
    enum rbuf_early_state state;
    uint32_t seq;
    const void *source;     /* the user's memory, or what else stands for the message */
    uint64_t bytes;         /* that are announced */
    uint64_t written;       /* of them */
    uint64_t rts;           /* its RTS, of all to the peer */
    uint32_t later;         /* RTSs of the same source since, without early data */
    uint32_t in_flight;     /* chunks that are posted and not back */
    struct rbuf_chunk next; /* to be written */
};

enum rbuf_early_out_state {
    RBUF_EARLY_OUT_OPEN,
    RBUF_EARLY_OUT_RETURNING,
    RBUF_EARLY_OUT_RETURNED
};

/* A window that the peer has leased. */
struct rbuf_early_out {
    enum rbuf_early_out_state state;
    struct rbuf_early_window window;
    uint64_t rts;                                  /* sent to the peer */
    uint32_t writing;                              /* slots in that state */
    uint32_t in_flight;                            /* chunks that are posted and not back */
    struct rbuf_early_data slot[RBUF_EARLY_SLOTS]; /* by sequence number modulo their number */
};

enum rbuf_early_in_state { RBUF_EARLY_IN_LEASED, RBUF_EARLY_IN_RECALLED, RBUF_EARLY_IN_RETURNED };

/* What a slot of a window of ours waits for. */
#define RBUF_EARLY_SLOT_STATES(STATE)                                                              \
    STATE(RBUF_EARLY_SLOT_, FREE)      /* the peer's next RTS */                                   \
    STATE(RBUF_EARLY_SLOT_, UNCLAIMED) /* the receive of its message */                            \
    STATE(RBUF_EARLY_SLOT_, CLAIMED)   /* a grant to copy it, or fragments to take it up */        \
    STATE(RBUF_EARLY_SLOT_, LAST)      /* the delivery of its last fragments */

enum rbuf_early_slot_state { RBUF_EARLY_SLOT_STATES(RBUF_STATE) };

struct rbuf_early_slot {
    enum rbuf_early_slot_state state;
    uint32_t seq;
    uint32_t bytes;  /* that were announced; 0: packed data, whose fragments say what there is */
    uint32_t claims; /* of grants: one, or others that are wrong; fragments that are delivered */
};

/* Chunks that have come to a slot, where they are announced. Whose announcement is the newest
 * counts: all of a use come before all of the next one of its slot, by one queue pair. */
struct rbuf_early_arrivals {
    uint32_t immediate;
    uint32_t chunks;
};

/* A window that the peer has of ours. */
struct rbuf_early_in {
    enum rbuf_early_in_state state;
    uint32_t first; /* its block of the receive arena */
    uint32_t slot_blocks;
    uint64_t flag;
    uint64_t last_rts;   /* stats.rts_received when it was used last */
    uint32_t number;     /* of the window */
    uint32_t immediate;  /* its rbuf_immediate_of_window() */
    uint32_t unclaimed;  /* slots in that state */
    uint64_t released;   /* as the mailbox has it, or will have it */
    uint32_t unreported; /* releases that are not there yet */
    struct rbuf_schedule schedule;
    struct rbuf_early_slot slot[RBUF_EARLY_SLOTS];
    struct rbuf_early_arrivals arrivals[RBUF_EARLY_SLOTS];
};

/*
 * A core's windows, taken out of the receive arena when they are leased. Messages are staged from
 * the low end of an extent, windows lie at the high end: of the first extent they leave what the
 * largest message needs, and of the whole arena at least half, so that what is leased to some never
 * stands in the way of others' messages for good. Where messages are everywhere, the place of one
 * window at a time is kept from those to come.
 */
struct rbuf_early_windows {
    uint32_t most;        /* that may be leased */
    uint32_t out;         /* that are */
    uint64_t leased;      /* ever */
    uint64_t next_recall; /* stats.rts_received before which none is asked for again */
    struct rbuf_peer *holder[RBUF_EARLY_PEERS_MAX]; /* by the number of the window */
};

struct rbuf_rendezvous_of_peer {
    struct rbuf_put_list puts;            /* that have begun, in order of their start */
    struct rbuf_put_list ungranted;       /* waiting for an RTR */
    struct rbuf_rtr_list unexpected_rtrs; /* that came before their put */
    uint32_t unexpected_count;            /* of them */
    struct rbuf_early_out *early_out;     /* window that the peer has leased us; NULL: none yet */
    struct rbuf_early_in *early_in;       /* that it has of ours; NULL: none */
    uint32_t early_seq;                   /* the newest of its last window */
    uint8_t rts_count;                    /* RTSs of it, before it has a window */
    uint64_t slots_taken;                 /* acknowledgement words in use by grants, a bit each */
};

struct rbuf_rendezvous_of_core {
    struct rbuf_grant **grants; /* by index */
    uint32_t grant_count;
    struct rbuf_grant_list grants_free;
    struct rbuf_grant_list receiving; /* STAGED and not placed: polled */
    struct rbuf_grant_list deferred;  /* oldest first */
    bool deferred_retry; /* something has changed since the first of them was last refused a lane */
    uint64_t direct_bytes; /* of grants that are REGISTERING or DIRECT */
    uint64_t copied_ns;    /* when staging was last copied out of */
    uint64_t moved_ns;     /* when staging was last copied out of, or a direct grant ended */
    struct rbuf_early_windows windows;
};

#endif
