/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Core: the protocols of one port, without Open MPI, without libibverbs, without a clock and
 * without a thread of its own.
 *
 * A struct rbuf_core is the protocol state of one port (one BTL module), a struct rbuf_peer that of
 * one other process on it. The user (glue, or the simulator) feeds completions in, calls
 * rbuf_core_progress(), and takes events out (core/event.h).
 *
 *     channel.c   active messages over send/receive
 *     ring*.c     eager messages by RDMA write; polling_set.c: from which peers
 *     eager.c     how long messages may be that go by these
 *     inbox.c     what is done with messages that came in, in one order
 *     credit.c    how many messages may be under way
 *     words.c     the counts that are written into a peer's mailbox
 *     bounce.c    memory for what does not fit into a request
 *     grant.c     the receiver's offers: staging lanes, deferred grants
 *     receiver.c  copying blocks out of lanes, acknowledgements, messages held for a put
 *     put.c       how a put begins: offers, RTRs, what is offered checked
 *     sender.c    staged puts: filling chunks, window
 *     staging.c   arenas that grow
 *     early*.c    the first bytes of messages, which are written with the rendezvous
 *     rma.c       in-place writes, reads, atomics
 *
 * Threads: every function of core is called with the module's lock held.
 */
#ifndef RBUF_CORE_CORE_H
#define RBUF_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/arena.h"
#include "core/bounce.h"
#include "core/credit.h"
#include "core/early.h"
#include "core/event.h"
#include "core/polling_set.h"
#include "core/ring.h"
#include "core/stats.h"
#include "core/wire.h"
#include "core/words.h"
#include "core/work.h"
#include "fabric.h"

struct rbuf_am;
struct rbuf_put;
struct rbuf_rma;
struct rbuf_grant;
struct rbuf_unexpected_rtr;
struct rbuf_tx_chunk;

TAILQ_HEAD(rbuf_am_list, rbuf_am);
TAILQ_HEAD(rbuf_put_list, rbuf_put);
TAILQ_HEAD(rbuf_rma_list, rbuf_rma);
TAILQ_HEAD(rbuf_grant_list, rbuf_grant);
TAILQ_HEAD(rbuf_peer_list, rbuf_peer);
SLIST_HEAD(rbuf_rtr_list, rbuf_unexpected_rtr);
SLIST_HEAD(rbuf_tx_chunk_list, rbuf_tx_chunk);

struct rbuf_core_options {
    struct rbuf_schedule schedule; /* of what this side receives */
    enum rbuf_arrival arrival;     /* how this side sees chunks */
    uint64_t grant_wait_ns;     /* after which a deferred grant becomes a registration; 0: never */
    uint64_t direct_limit;      /* bytes of such registrations at once; 0: none, see core/grant.h */
    uint64_t probe_interval_ns; /* between probes of a silent peer; 0: never */
    uint32_t quantum;           /* bytes copied in each direction in one progress call */
    uint16_t window[RBUF_FLOWS]; /* receive credits that each peer of ours gets; RING is core's */
    struct rbuf_ring_options ring;
    struct rbuf_early_options early;
    uint32_t max_message; /* bytes of the largest request that the port takes */
    /* Registered memory for bounce buffers. Wanted if queue pairs of the control channel have less
     * inline room than RBUF_INLINE_ENOUGH, else empty. */
    struct rbuf_region bounce;
};

enum rbuf_peer_state {
    RBUF_PEER_UNCONNECTED, /* everything queues */
    RBUF_PEER_CONNECTED,
    RBUF_PEER_FAILED, /* everything ends in an error */
};

enum rbuf_probe_state { RBUF_PROBE_IDLE, RBUF_PROBE_POSTED };

struct rbuf_peer {
    struct rbuf_core *core;
    void *user;           /* glue's endpoint */
    uint32_t index;       /* in core->peers, what the peer writes into its headers */
    uint32_t their_index; /* ours in the peer's table */
    enum rbuf_peer_state state;
    bool unordered; /* what it writes here is not placed in order, whatever core's options say */
    struct rbuf_fab_queue *queue[RBUF_CHANNELS];
    struct rbuf_mailbox *mailbox; /* ours, the peer writes it */
    uint64_t their_mailbox;       /* its address at the peer */
    uint32_t their_mailbox_rkey;
    uint32_t their_stage_bytes; /* chunks that it is offered are no larger; 0: unknown */
    struct rbuf_am_list queued[RBUF_CHANNELS]; /* waiting for a credit or for room, in order */
    struct rbuf_credit credit[RBUF_FLOWS];
    struct rbuf_credit_counts counts;
    struct rbuf_credit_reach reach;
    uint16_t sequence_out; /* of the next message on the control channel or the ring; wraps */
    uint16_t sequence_in;  /* of the next one of the peer */

    struct rbuf_ring_out ring_out;
    struct rbuf_ring_in *ring_in;  /* NULL: not in the polling set */
    uint32_t heat;                 /* small messages over send/receive, halved at every census */
    uint32_t heat_census;          /* the one at which it was halved last */
    uint32_t ring_declines;        /* in a row: it has no memory for a ring */
    uint32_t ring_declined_census; /* the one before the last of them */

    struct rbuf_put_list puts;            /* staged, in order of their start */
    struct rbuf_put_list ungranted;       /* waiting for an RTR */
    struct rbuf_rtr_list unexpected_rtrs; /* that came before their put */
    uint32_t unexpected_count;            /* of them */
    struct rbuf_rma_list rmas;            /* not posted yet */
    struct rbuf_early_out *early_out;     /* window that the peer has lent us; NULL: none yet */
    struct rbuf_early_in *early_in;       /* that it has of ours; NULL: none */
    uint32_t early_seq;                   /* the newest of its last window */
    uint8_t rts_count;                    /* RTSs of it, before it has a window */

    struct rbuf_words words;
    uint64_t slots_taken; /* acknowledgement words in use by grants, a bit each */

    struct rbuf_work probe;
    enum rbuf_probe_state probe_state;
    uint32_t in_flight; /* works posted and not back */

    bool busy; /* on core->busy */
    TAILQ_ENTRY(rbuf_peer) busy_link;
};

struct rbuf_core {
    struct rbuf_core_options options;
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
    struct rbuf_peer_list busy; /* peers with something to post or to copy */

    struct rbuf_grant **grants; /* by index */
    uint32_t grant_count;
    struct rbuf_grant_list grants_free;
    struct rbuf_grant_list receiving; /* STAGED and not placed: polled */
    struct rbuf_grant_list deferred;  /* oldest first */
    bool deferred_retry;              /* the first of them may get its lane now */
    uint64_t direct_bytes;            /* of grants that are REGISTERING or DIRECT */
    uint64_t moved_ns; /* when staging was last copied out of, or a direct grant ended */

    struct rbuf_early_windows windows;
    struct rbuf_tx_chunk_list chunks_free;
    uint32_t sweeps; /* calls of rbuf_core_swept(); wraps */
    uint64_t copied; /* bytes, by rbuf_core_progress(), in both directions */
    uint32_t queued; /* messages on the peers' `queued` lists */
    uint64_t now_ns; /* of the newest rbuf_core_progress() */
};

/* What the connection exchange found out about a peer. */
struct rbuf_peer_link {
    struct rbuf_fab_queue *queue[RBUF_CHANNELS]; /* ready to send; owned by the caller */
    struct rbuf_mailbox *mailbox;                /* ours; NULL: that of rbuf_peer_add() */
    uint64_t their_mailbox;
    uint32_t their_mailbox_rkey;
    uint32_t their_index;
    uint16_t window[RBUF_CHANNELS]; /* receive credits that the peer gives us */
    uint16_t lent[RBUF_CHANNELS];   /* that we give it; 0: as core's options say */
    uint32_t
        their_stage_bytes; /* that it can stage at once: no chunk to it is larger; 0: unknown */
    bool unordered;      /* writes through these queues are not placed in order here: its chunks are
                            announced, and it gets no ring and no window for early data */
    bool words_overtake; /* nor are words, whatever core's options say (core/words.h) */
};

/* With the staging to begin with: receive_region must hold the buffers of one message. 0, or a
 * negative errno and nothing is kept. */
int rbuf_core_open(struct rbuf_core *core, const struct rbuf_core_options *options,
                   const struct rbuf_region *send_region, const struct rbuf_region *receive_region);

/* Frees core's own memory. Nothing may be in flight. */
void rbuf_core_close(struct rbuf_core *core);

/* Adds an unconnected peer, whose `mailbox` (zeroed, registered) the caller owns; it may be NULL
 * until the peer is connected. 0 or -ENOMEM. */
int rbuf_peer_add(struct rbuf_core *core, struct rbuf_mailbox *mailbox, void *user,
                  struct rbuf_peer **peer);

/* From now on the peer is posted to. */
void rbuf_peer_connected(struct rbuf_peer *peer, const struct rbuf_peer_link *link);

/* Ends everything that is queued for the peer with an error, and raises RBUF_EVENT_FAILED unless it
 * was raised before. What is posted comes back through rbuf_core_completed(). */
void rbuf_peer_fail(struct rbuf_peer *peer, int status);

/* True when nothing of ours is queued or in flight to the peer, but for unsignalled requests. */
bool rbuf_peer_drained(const struct rbuf_peer *peer);

/* True of a peer that was connected if nothing of the user is queued, posted or granted: a peer
 * that is gone may then be removed. What core itself owes it, credits and acknowledgements, does
 * not count. Takes time by the number of grants. */
bool rbuf_peer_unused(const struct rbuf_peer *peer);

/* Posts an empty write, which the peer's adapter answers whatever its software does: probe_state is
 * RBUF_PROBE_IDLE again when it has. False: not now. */
bool rbuf_peer_probe(struct rbuf_peer *peer);

/* True when everything of ours is known to have reached the peer's memory. Probes to find out: ask
 * again after progress. */
bool rbuf_peer_flush(struct rbuf_peer *peer);

/* Frees the peer. Its queues must have been drained or destroyed and their works be back. */
void rbuf_peer_remove(struct rbuf_peer *peer);

/* Looks at the rings that peers write, which is what costs least and hurries most: call it right
 * behind a poll of completions, and do not poll those every time while it finds something. Returns
 * the number of messages. */
static inline int rbuf_core_poll(struct rbuf_core *core)
{
    const struct rbuf_watch *watch = core->set.watch;
    const struct rbuf_watch *end = watch + core->set.count;
    int done = 0;

    /* A message may end a ring, and what is behind it moves up: what is then found at the end is a
     * watch that nobody has any more, and its ring is not taken from. */
    for (; watch < end; watch++) {
        /* rbuf_ring_in_take() reads it again, with acquire. */
        if (rbuf_watch_hit(watch, atomic_load_explicit(watch->word, memory_order_relaxed))) {
            done += rbuf_ring_in_take(watch->ring);
        }
    }
    if (core->set.traffic >= core->set.period) {
        rbuf_polling_set_census(core);
    }
    return done;
}

/* All that was received over send/receive, when the caller looked last, has been fed in. To be told
 * now and then, with a rbuf_core_poll() in between: without, at most RBUF_CREDIT_FAR messages are
 * sent to a peer that answers none of them. */
static inline void rbuf_core_swept(struct rbuf_core *core)
{
    core->sweeps++;
}

/* Does a bounded amount of other work; `now_ns` is monotonic and may be some microseconds old.
 * Returns the number of things done, 0 when there was nothing to do. */
int rbuf_core_progress(struct rbuf_core *core, uint64_t now_ns);

/* A work came back; status 0 or a negative errno. */
void rbuf_core_completed(struct rbuf_core *core, struct rbuf_work *work, int status);

/* A message of `bytes` bytes stands at `data` in a receive buffer. True: an event owns the buffer
 * until rbuf_core_release(). False: the caller may repost it now. */
bool rbuf_core_received(struct rbuf_core *core, enum rbuf_channel_id channel,
                        struct rbuf_buffer *buffer, void *data, uint32_t bytes);

/* A write-with-immediate arrived on the bulk channel; its receive buffer is free. */
void rbuf_core_immediate(struct rbuf_core *core, uint32_t immediate);

/* The message of a RBUF_EVENT_DELIVER was dealt with: frees a heap copy, returns the credit. The
 * caller reposts the receive buffer, if there is one, behind that, and before the next progress,
 * which tells the peer. */
void rbuf_core_release(struct rbuf_peer *peer, const struct rbuf_delivery *delivery);

/* For core's own files: true if a message of the flow may be sent. */
static inline bool rbuf_credit_available(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    return rbuf_credit_left(&peer->credit[flow]) > 0 || rbuf_credit_look(peer, flow);
}

/* For core's own files: how the chunks of the peer are seen. */
static inline enum rbuf_arrival rbuf_peer_arrival(const struct rbuf_peer *peer)
{
    return peer->unordered ? RBUF_ARRIVAL_IMMEDIATE : peer->core->options.arrival;
}

/* For core's own files: puts the peer on the list that rbuf_core_progress() walks. */
static inline void rbuf_peer_wake(struct rbuf_peer *peer)
{
    if (!peer->busy) {
        peer->busy = true;
        TAILQ_INSERT_TAIL(&peer->core->busy, peer, busy_link);
    }
}

/* For core's own files: a message of the peer was taken off, and it is owed a credit. */
static inline void rbuf_credit_consumed(struct rbuf_peer *peer, enum rbuf_flow flow)
{
    peer->credit[flow].consumed++;
    peer->counts.mine[flow]++;
    if (rbuf_credit_is_due(peer->credit, &peer->counts, flow)) {
        rbuf_peer_wake(peer);
    }
}

static inline void rbuf_core_raise(struct rbuf_core *core, enum rbuf_event_kind kind,
                                   struct rbuf_peer *peer, void *subject, int status)
{
    struct rbuf_event event = {.kind = kind, .status = status, .peer = peer};

    event.am = subject; /* all subjects but a delivery are one pointer in the same union */
    (void) rbuf_events_push(&core->events, &event);
}

#endif
