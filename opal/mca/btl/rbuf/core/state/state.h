/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core knows: of one port (struct rbuf_core) and of one other process on it (struct
 * rbuf_peer), and the few things that any file of core may do with it. It composes the parts that
 * the folders of core own (core/state/link.h, eager.h, stage.h, rendezvous.h) and calls none of
 * them. Each other member belongs to the file whose words its comment uses.
 *
 *     a peer   UNCONNECTED -> CONNECTED -> BROKEN -> FAILED; any -> FAILED
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_STATE_H
#define RBUF_CORE_STATE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/base/arena.h"
#include "core/base/bounce.h"
#include "core/base/event.h"
#include "core/base/stats.h"
#include "core/base/trace.h"
#include "core/base/wire.h"
#include "core/state/eager.h"
#include "core/state/link.h"
#include "core/state/rendezvous.h"
#include "core/state/stage.h"
#include "fabric.h"

struct rbuf_am;
struct rbuf_put;
struct rbuf_get;
struct rbuf_rma;
struct rbuf_grant;
struct rbuf_unexpected_rtr;
struct rbuf_tx_chunk;

TAILQ_HEAD(rbuf_am_list, rbuf_am);
TAILQ_HEAD(rbuf_put_list, rbuf_put);
TAILQ_HEAD(rbuf_get_list, rbuf_get);
TAILQ_HEAD(rbuf_rma_list, rbuf_rma);
TAILQ_HEAD(rbuf_grant_list, rbuf_grant);
TAILQ_HEAD(rbuf_peer_list, rbuf_peer);
SLIST_HEAD(rbuf_rtr_list, rbuf_unexpected_rtr);
STAILQ_HEAD(rbuf_tx_chunk_list, rbuf_tx_chunk);

/* In which order core/onesided/rma_order.c has one-sided operations posted. */
enum rbuf_rma_order {
    RBUF_RMA_ISSUE,      /* as they are started; nothing is held */
    RBUF_RMA_INTERLEAVE, /* one of the one kind, one of the other */
    RBUF_RMA_PRIORITIZE, /* reads first */
    RBUF_RMA_BOTH        /* as many reads as may be under way, then in turn, by bytes */
};

struct rbuf_core_options {
    struct rbuf_schedule schedule; /* of what this side receives */
    uint64_t pipeline_gap; /* bytes, see rbuf_schedule_pipeline(): each message has a chunk of its
                            * own; 0: it is cut by the schedule as it is */
    enum rbuf_arrival arrival;  /* how this side sees chunks */
    uint64_t grant_wait_ns;     /* after which a deferred grant becomes a registration; 0: never */
    uint64_t direct_limit;      /* bytes of such registrations at once; 0: none, see
                                   core/rendezvous/grant.h */
    uint64_t probe_interval_ns; /* between probes of a silent peer; 0: never */
    /* After which a block or a message whose checksum is still wrong is an error; 0: never. */
    uint64_t check_timeout_ns;
    uint64_t random;             /* bits that no other process knows: what memory is filled with */
    uint32_t quantum;            /* bytes copied in each direction in one progress call */
    uint16_t window[RBUF_FLOWS]; /* receive credits that each peer of ours gets; RING is core's */
    struct rbuf_ring_options ring;
    struct rbuf_early_options early;
    uint32_t max_message; /* bytes of the largest request that the port takes */
    enum rbuf_rma_order rma_order;
    uint32_t reads; /* that a queue pair has under way, most; the next request waits behind them */
    /* Registered memory for bounce buffers. Wanted if queue pairs of the control channel have less
     * inline room than RBUF_INLINE_ENOUGH, else empty. */
    struct rbuf_region bounce;
};

/* What a peer waits for. */
#define RBUF_PEER_STATES(STATE)                                                                    \
    STATE(RBUF_PEER_, UNCONNECTED) /* rbuf_peer_connected(): everything queues until then */       \
    STATE(RBUF_PEER_, CONNECTED)   /* what its user starts */                                      \
    STATE(RBUF_PEER_, BROKEN)      /* the next progress, which ends what is queued */              \
    STATE(RBUF_PEER_, FAILED)      /* to be removed: everything ends in an error */

enum rbuf_peer_state { RBUF_PEER_STATES(RBUF_STATE) };

enum rbuf_probe_state { RBUF_PROBE_IDLE, RBUF_PROBE_POSTED };

struct rbuf_peer {
    struct rbuf_core *core;
    void *user;           /* glue's endpoint */
    uint32_t index;       /* in core->peers, what the peer writes into its headers */
    uint32_t their_index; /* ours in the peer's table */
    enum rbuf_peer_state state;
    int broken_status;     /* BROKEN: why, a negative errno */
    enum rbuf_proof proof; /* CHECKSUM: what it writes here has one, whatever core's options say */
    struct rbuf_fab_queue *queue[RBUF_CHANNELS];
    struct rbuf_mailbox *mailbox; /* ours, the peer writes it */
    uint64_t their_mailbox;       /* its address at the peer */
    uint32_t their_mailbox_rkey;
    uint32_t their_stage_bytes; /* chunks that it is offered are no larger; 0: unknown */
    struct rbuf_am_list queued[RBUF_CHANNELS]; /* waiting for a credit or for room, in order */
    struct rbuf_am *behind_rts; /* of these, the last EARLY that waits behind an RTS; or NULL */
    struct rbuf_credit credit[RBUF_FLOWS];
    struct rbuf_credit_counts counts;
    struct rbuf_credit_reach reach;
    uint16_t sequence_out; /* of the next message on the control channel or the ring; wraps */
    uint16_t sequence_in;  /* of the next one of the peer */

    struct rbuf_ring_out ring_out;
    struct rbuf_ring_in *ring_in; /* NULL: not in the polling set */
    uint32_t recent;              /* small messages over send/receive, halved at every epoch */
    uint32_t recent_epoch;        /* the one at which it was halved last */
    uint32_t ring_declines;       /* in a row: it has no memory for a ring */
    uint32_t ring_declined_epoch; /* the one before the last of them */

    struct rbuf_put_list puts;            /* that have begun, in order of their start */
    struct rbuf_put_list ungranted;       /* waiting for an RTR */
    struct rbuf_rtr_list unexpected_rtrs; /* that came before their put */
    uint32_t unexpected_count;            /* of them */
    struct rbuf_get_list gets;            /* that have begun, in order of their start */
    struct rbuf_copies copied_puts;
    struct rbuf_copies copied_gets;
    uint32_t reads;                   /* of gets, under way */
    struct rbuf_rma_list rmas;        /* not posted yet; the held ones are the last */
    struct rbuf_rma *held_first;      /* of those; NULL: none */
    uint32_t held;                    /* operations, counted in core's `queued` */
    struct rbuf_early_out *early_out; /* window that the peer has leased us; NULL: none yet */
    struct rbuf_early_in *early_in;   /* that it has of ours; NULL: none */
    uint32_t early_seq;               /* the newest of its last window */
    uint8_t rts_count;                /* RTSs of it, before it has a window */

    struct rbuf_words words;
    uint64_t slots_taken; /* acknowledgement words in use by grants, a bit each */

    struct rbuf_work probe;
    enum rbuf_probe_state probe_state;
    uint32_t in_flight; /* works posted and not back */

    bool busy; /* on core->busy, in any state: whoever has something for progress to do puts it
                  there */
    TAILQ_ENTRY(rbuf_peer) busy_link;
};

/* Deals with a message of another process, whose payload stands at `place`. True: an event owns
 * that place until rbuf_core_release(). */
typedef bool rbuf_take_message(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                               const struct rbuf_delivery *place);

struct rbuf_core {
    struct rbuf_core_options options;
    rbuf_take_message *const *take;  /* by kind of message; NULL in it: none of those may come */
    struct rbuf_arena send_arena;    /* freed by local completions alone */
    struct rbuf_arena receive_arena; /* lanes of grants, and windows for early data */
    struct rbuf_bounces bounces;
    struct rbuf_word_writes word_writes;
    struct rbuf_events events;
    struct rbuf_rings rings;
    struct rbuf_polling_set set;
    struct rbuf_stats stats;

    struct rbuf_peer **peers; /* by index; NULL where removed */
    uint32_t peer_count;
    uint32_t peer_first_free; /* no place before it is NULL */
    uint32_t probe_cursor;    /* next peer to look at for a probe */
    uint64_t probe_due_ns;
    uint64_t chores_due_ns;     /* 0: there is memory to be filled */
    struct rbuf_peer_list busy; /* peers with something to post or to copy */

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
    struct rbuf_tx_chunk_list chunks_free;
    uint32_t sweeps; /* calls of rbuf_core_swept(); wraps */
    uint64_t copied; /* bytes, by rbuf_core_progress(), in both directions; not for gets, which wait
                        for completions */
    uint32_t queued; /* messages on the peers' `queued` lists, and operations that are held */
    uint64_t fill;   /* what stands in memory before it is written (core/base/fill.h) */
    uint64_t now_ns; /* of the newest rbuf_core_progress() */
};

/* How the chunks of the peer are seen. */
static inline enum rbuf_arrival rbuf_peer_arrival(const struct rbuf_peer *peer)
{
    const enum rbuf_arrival arrival = peer->core->options.arrival;

    return peer->proof == RBUF_PROOF_CHECKSUM ? rbuf_arrival_checked(arrival) : arrival;
}

/* What proves that what the peer writes is there. */
static inline enum rbuf_proof rbuf_peer_proof(const struct rbuf_peer *peer)
{
    return rbuf_arrival_proof(rbuf_peer_arrival(peer));
}

/* By what the peer cuts a message of `bytes` that it puts: our schedule, with no chunk larger than
 * what it can stage at once. It may have less staging than we have. */
static inline struct rbuf_schedule rbuf_peer_schedule(const struct rbuf_peer *peer, uint64_t bytes)
{
    struct rbuf_schedule schedule = peer->core->options.schedule;
    uint32_t most = peer->their_stage_bytes / schedule.block_bytes;

    if (peer->core->options.pipeline_gap > 0) {
        rbuf_schedule_pipeline(&schedule, bytes, peer->core->options.pipeline_gap);
    }
    if (most > 0) {
        rbuf_schedule_fit(&schedule, most);
    }
    return schedule;
}

/* Puts the peer on the list that rbuf_core_progress() walks. */
static inline void rbuf_peer_wake(struct rbuf_peer *peer)
{
    if (!peer->busy) {
        peer->busy = true;
        TAILQ_INSERT_TAIL(&peer->core->busy, peer, busy_link);
    }
}

static inline void rbuf_peer_become(struct rbuf_peer *peer, enum rbuf_peer_state state)
{
    static const char *const names[] = {RBUF_PEER_STATES(RBUF_STATE_NAME)};

    rbuf_trace("peer", peer->index, 0, names[peer->state], names[state]);
    peer->state = state;
}

/* True of a peer that cannot be spoken to any more. */
static inline bool rbuf_peer_is_lost(const struct rbuf_peer *peer)
{
    return peer->state >= RBUF_PEER_BROKEN;
}

/* The peer cannot be spoken to any more. What is queued for it stays where it
 * is until core fails the peer, so that nothing vanishes under the feet of who found out. */
static inline void rbuf_peer_break(struct rbuf_peer *peer, int status)
{
    if (!rbuf_peer_is_lost(peer)) {
        rbuf_peer_become(peer, RBUF_PEER_BROKEN);
        peer->broken_status = status;
        rbuf_peer_wake(peer);
    }
}

/* True if the request was posted. A queue pair that is dead breaks the peer. */
static inline bool rbuf_peer_posted(struct rbuf_peer *peer, enum rbuf_fab_status status)
{
    if (status == RBUF_FAB_DEAD) {
        rbuf_peer_break(peer, -ECONNRESET);
    }
    return status == RBUF_FAB_OK;
}

static inline void rbuf_core_raise(struct rbuf_core *core, enum rbuf_event_kind kind,
                                   struct rbuf_peer *peer, void *subject, int status)
{
    struct rbuf_event event = {.kind = kind, .status = status, .peer = peer};

    event.am = subject; /* all subjects but a delivery are one pointer in the same union */
    (void) rbuf_events_push(&core->events, &event);
}

/* Raises the delivery of a message: of an answer ahead of all others that wait, of whatever peer,
 * since what an RTS asks for begins later than what is granted already. False without memory. */
static inline bool rbuf_core_deliver(struct rbuf_peer *peer, const struct rbuf_delivery *delivery)
{
    struct rbuf_core *core = peer->core;
    const struct rbuf_event event = {
        .kind = RBUF_EVENT_DELIVER, .peer = peer, .delivery = *delivery};

    return delivery->extra == RBUF_EXTRA_ANSWER ? rbuf_events_push_ahead(&core->events, &event)
                                                : rbuf_events_push(&core->events, &event);
}

#endif
