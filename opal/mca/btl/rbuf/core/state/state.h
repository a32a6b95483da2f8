/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core knows: of one port (struct rbuf_core) and of one other process on it (struct
 * rbuf_peer), and the few things that any file of core may do with it. Each folder has its part of
 * both, which bears its name and which core/state/FOLDER.h declares. Only files of that folder
 * touch the members of its part; others call them. tests/build/layers.pl sees to it.
 *
 * Who changes the other members:
 *
 *     core.c, peer.c, inbox.c  core's peers and probes, the mailbox, what the exchange said;
 *                              sequence_in
 *     any                      in_flight, events, stats, core's queued, arenas and bounces; a
 *                              peer's state by rbuf_peer_break(), its busy by rbuf_peer_wake()
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
#include "core/state/onesided.h"
#include "core/state/rendezvous.h"
#include "core/state/stage.h"
#include "fabric.h"

TAILQ_HEAD(rbuf_peer_list, rbuf_peer);

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
    uint16_t sequence_in;       /* of the next message of the peer; wraps */

    struct rbuf_link_of_peer link;
    struct rbuf_eager_of_peer eager;
    struct rbuf_rendezvous_of_peer rendezvous;
    struct rbuf_onesided_of_peer onesided;

    struct rbuf_event_place failed; /* for its RBUF_EVENT_FAILED */
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
    struct rbuf_events events;
    struct rbuf_link_of_core link;
    struct rbuf_eager_of_core eager;
    struct rbuf_rendezvous_of_core rendezvous;
    struct rbuf_stage_of_core stage;
    struct rbuf_stats stats;

    struct rbuf_peer **peers; /* by index; NULL where removed */
    uint32_t peer_count;
    uint32_t peer_first_free; /* no place before it is NULL */
    uint32_t probe_cursor;    /* next peer to look at for a probe */
    uint64_t probe_due_ns;
    uint64_t chores_due_ns;     /* 0: there is memory to be filled, or events are late */
    struct rbuf_peer_list busy; /* peers with something to post or to copy */

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

/* Raises the end of something, which has a place for it in case that memory is short. It comes then
 * with one of the next calls of progress. */
static inline void rbuf_core_raise(struct rbuf_core *core, enum rbuf_event_kind kind,
                                   struct rbuf_peer *peer, void *subject,
                                   struct rbuf_event_place *place, int status)
{
    struct rbuf_event *event = rbuf_events_add(&core->events);

    if (event == NULL) {
        *place = (struct rbuf_event_place){
            .peer = peer, .subject = subject, .kind = kind, .status = status};
        rbuf_events_add_late(&core->events, place);
        core->chores_due_ns = 0;
        return;
    }
    event->kind = kind;
    event->status = status;
    event->peer = peer;
    event->am = subject; /* all subjects but a delivery are one pointer in the same union */
}

/* Asks the user for something. False without memory: whoever wants it asks again. */
static inline bool rbuf_core_ask(struct rbuf_core *core, enum rbuf_event_kind kind,
                                 struct rbuf_peer *peer, void *subject)
{
    struct rbuf_event event = {.kind = kind, .peer = peer};

    event.am = subject;
    return rbuf_events_push(&core->events, &event);
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
