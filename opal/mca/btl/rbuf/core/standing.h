/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The standing lane: what hides the rendezvous, which is a round trip of dead wire otherwise.
 *
 * A receiver lends a peer whose messages it takes at once a few places in its staging. The sender
 * writes the head of the next message, its first chunks, into the next place right behind the
 * rendezvous, which is marked as LED. When the receiver asks for the message's target out of that
 * very delivery, the grant takes the head up, and its own lane is for the rest alone. A head that
 * nobody asked for there is kept: receivers are often late by a moment. It goes to the first grant
 * of its length that is opened outside of a delivery. When a later message is expected the heads
 * that are kept have been written in vain; and so has the oldest when all places are in use and
 * such a grant takes up a later one or none.
 *
 * Which message a head belongs to only the sender knows for sure: an offer names the use that it
 * took up, and the sender declines it if that is not this put's (two messages of a length, one of
 * which was not expected, can be mixed up so). The grant is then staged anew, without a head, what
 * is kept is given up, and the next late grants take none. The sender knows its messages by their
 * memory; that of a head that was kept may have been written since, if another rendezvous for some
 * of it has left: such a head is declined as well.
 *
 * Uses count up, also from one lane to the next; use u writes to place u modulo
 * RBUF_STANDING_PLACES. A use is over when its head was copied out, or was not taken up. The
 * receiver says in its offers how many may have begun: all that there are places for when it took a
 * head up, one more when it would have taken one, and no more when it did not take one that was
 * there. So heads in vain end heads, and each message that takes staging pays for one at most.
 *
 * Handing back: RECALL makes the sender stop; when all heads that it wrote are known to have
 * arrived it says BACK. The memory is free when that is here and no use is left.
 *
 * A head's chunks are found as all chunks are, by flags or as they are announced by immediates;
 * these name the lane and the use, since they may come before the message whose head it is. They
 * take receive buffers of a process that may compute for long, so a guess takes no more than half
 * of the credits; and as such an adapter may place one write behind the next, a place whose last
 * head was not taken up is written again only when all of that is known to be there.
 *
 * Invariants: a place is written by one use at a time; flags never repeat in a place, since their
 * numbers have the highest bit set and a range for each lane and use.
 */
#ifndef RBUF_CORE_STANDING_H
#define RBUF_CORE_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/wire.h"
#include "fabric.h"

struct rbuf_core;
struct rbuf_peer;
struct rbuf_put;
struct rbuf_tx_chunk;

struct rbuf_standing_options {
    uint32_t peers;          /* most that have a lane; 0: none has */
    uint32_t place_blocks;   /* of each place: the longest head; more than the first chunk's */
    uint16_t opening_blocks; /* of its first chunk, if that is less than the schedule's */
};

/*
 * A core's lanes, taken out of the receive arena when they are lent. Messages are staged from the
 * low end of an extent, lanes lie at the high end: of the first extent they leave what the largest
 * message needs, and of the whole arena at least half, so that what is lent to some never stands in
 * the way of others' messages for good. Where messages are everywhere, the place of one lane at a
 * time is kept from those to come.
 */
struct rbuf_standing {
    uint32_t lanes;       /* that may be lent */
    uint32_t out;         /* that are */
    uint64_t lent;        /* ever */
    uint64_t next_recall; /* stats.grants before which none is asked for again */
    struct rbuf_peer *borrower[RBUF_STANDING_PEERS_MAX]; /* by the number of the lane */
};

/* ---- of the sender ---- */

enum rbuf_head_state {
    RBUF_HEAD_NONE,
    RBUF_HEAD_ANNOUNCED, /* its rendezvous is sent; what is left of it is the next progress's */
    RBUF_HEAD_WRITTEN    /* as much of it as could be; the put writes what is missing */
};

struct rbuf_head {
    enum rbuf_head_state state;
    uint64_t use;
    const unsigned char *source;
    uint64_t bytes;         /* of the message */
    uint64_t chunks;        /* of the head */
    struct rbuf_chunk next; /* the first one that is not written */
    bool whole;             /* nothing is behind it: all of the message is written */
    bool doubtful;          /* a later message has some of the memory, and may have other bytes */
};

enum rbuf_standing_out_state {
    RBUF_STANDING_OPEN,
    RBUF_STANDING_RETURNING,
    RBUF_STANDING_RETURNED
};

struct rbuf_standing_out {
    enum rbuf_standing_out_state state;
    struct rbuf_standing_offer offer;
    uint64_t begun;                               /* uses */
    uint64_t allowed;                             /* to have begun */
    uint32_t announced;                           /* heads in that state */
    uint32_t in_flight;                           /* chunks of heads that are posted and not back */
    struct rbuf_head heads[RBUF_STANDING_PLACES]; /* by use modulo their number */
};

/* A rendezvous for `length` bytes at `source` is about to be sent. */
void rbuf_standing_out_rendezvous(struct rbuf_peer *peer, const void *source, uint64_t length);

/* The peer lends a lane, wants it back. */
void rbuf_standing_out_lent(struct rbuf_peer *peer, const struct rbuf_standing_offer *offer);
void rbuf_standing_out_recalled(struct rbuf_peer *peer);

/* A rendezvous for the memory that rbuf_prestage() named is about to be sent: true if it leads a
 * head, which takes the prestaging's place. `*bytes` is then what it announces. */
bool rbuf_standing_out_lead(struct rbuf_peer *peer, uint64_t *bytes);

/* The rendezvous has left: writes the first chunk of its head, so that the wire has something to
 * carry while the caller finds its way to the next progress; the rest is that one's, which keeps
 * this call as short as a copy of opening_blocks. */
void rbuf_standing_out_open(struct rbuf_peer *peer);

/* Writes announced heads, now or never (as rbuf_prestage_fill()). Returns their number. */
int rbuf_standing_out_progress(struct rbuf_peer *peer, uint64_t *budget);

/* An offer came that says how many uses may have begun. */
void rbuf_standing_out_heard(struct rbuf_peer *peer, const struct rbuf_offer *offer);

/* The head of the put, whose offer names one; NULL if that is another message's. The caller goes on
 * from where the head ends; no other put gets it. */
const struct rbuf_head *rbuf_standing_out_take(struct rbuf_peer *peer, const struct rbuf_put *put);

/* No head of `source` is to be written any more. */
void rbuf_standing_out_cancel(struct rbuf_peer *peer, const void *source);

/* Writes a chunk of the head of `use`, filled by `schedule`, to its place. The lane's own schedule
 * need not be that any more, if the peer lends another one before its time. */
enum rbuf_fab_status rbuf_standing_out_write(struct rbuf_peer *peer, struct rbuf_tx_chunk *chunk,
                                             const struct rbuf_schedule *schedule, uint64_t use);

/* A chunk of a head was posted. */
void rbuf_standing_out_posted(struct rbuf_peer *peer, struct rbuf_tx_chunk *chunk);

/* A chunk of a head is back. */
void rbuf_standing_out_completed(struct rbuf_peer *peer);

void rbuf_standing_out_remove(struct rbuf_peer *peer);

/* ---- of the receiver ---- */

/* The receive arena was opened, or has grown: counts the lanes that there may be. */
void rbuf_standing_in_grown(struct rbuf_core *core);

/* Blocks that a lane takes. */
static inline uint32_t rbuf_standing_lane_blocks(const struct rbuf_standing_options *options)
{
    return options->place_blocks * RBUF_STANDING_PLACES;
}

/* Chunks that have come to a place, where they are announced. Whose announcement is the newest
 * counts: all of a use come before all of the next one of its place, by one queue pair. */
struct rbuf_head_arrivals {
    uint32_t immediate;
    uint32_t chunks;
};

enum rbuf_standing_in_state { RBUF_STANDING_LENT, RBUF_STANDING_RECALLED, RBUF_STANDING_BACK };

enum rbuf_use_state {
    RBUF_USE_ANNOUNCED, /* its message is being delivered, or a grant has taken it up */
    RBUF_USE_KEPT,      /* for a grant that is opened later */
    RBUF_USE_OVER
};

struct rbuf_use {
    enum rbuf_use_state state;
    uint64_t bytes; /* of its message */
};

struct rbuf_standing_in {
    enum rbuf_standing_in_state state;
    uint32_t first; /* its block of the receive arena */
    uint32_t place_blocks;
    uint64_t flag;
    uint64_t use_first;                         /* no use of this lane: the one before its first */
    uint64_t announced;                         /* uses, by the peer */
    uint64_t tail;                              /* uses that are over, and all before them */
    uint64_t told;                              /* uses that the peer may have begun */
    struct rbuf_use uses[RBUF_STANDING_PLACES]; /* behind the tail, by use modulo their number */
    uint32_t passes;      /* late grants that are to take no head, since one took a wrong one */
    uint32_t mistakes;    /* how many of them there are after the next wrong one */
    uint64_t last_grants; /* stats.grants when it was used last */
    uint32_t number;      /* of the lane */
    uint32_t immediate;   /* its rbuf_immediate_of_lane() */
    struct rbuf_head_arrivals arrivals[RBUF_STANDING_PLACES];
};

/* The schedule of messages that are led: with an opening, since no rendezvous hides the copy of the
 * first chunk. */
struct rbuf_schedule rbuf_standing_in_schedule(const struct rbuf_peer *peer);

/* A grant is about to be opened out of a delivery from the peer: heads that were kept have waited
 * long enough. Lends it a lane if that is the second time and there is room, or asks another one
 * for its lane. */
void rbuf_standing_in_prompt(struct rbuf_peer *peer);

/* A LED message that announces so many bytes: 1 + the place of its head, or 0 if it must not be. */
uint8_t rbuf_standing_in_announced(struct rbuf_peer *peer, uint64_t bytes);

/* The peer has handed its lane back. */
void rbuf_standing_in_back(struct rbuf_peer *peer);

/* The message whose head it is was delivered, and no grant took it up: it is kept for a later one,
 * unless the lane is on its way back. */
void rbuf_standing_in_keep(struct rbuf_peer *peer, uint64_t use);

/* The oldest kept use that announced so many bytes, for a grant that is opened outside of a
 * delivery; 0: there is none, or it would be a mistake in all likelihood, and is given up. */
uint64_t rbuf_standing_in_kept(struct rbuf_peer *peer, uint64_t bytes);

/* True if a grant that is opened outside of a delivery would take a head up. */
static inline bool rbuf_standing_in_trusts(const struct rbuf_standing_in *in)
{
    return in != NULL && in->passes == 0;
}

/* The peer has declined a use that was kept. */
void rbuf_standing_in_mistaken(struct rbuf_peer *peer);

/* Uses that may have begun, to tell the peer in an offer for a message whose head was taken up, or
 * for one without whose head would have been. 0: no news. */
uint64_t rbuf_standing_in_tell(struct rbuf_peer *peer, bool taken);

/* The use that has `place` - 1 now. */
uint64_t rbuf_standing_in_use(const struct rbuf_peer *peer, uint8_t place);

/* The block where the use's place begins, and the flag of its first block. */
uint32_t rbuf_standing_in_place(const struct rbuf_peer *peer, uint64_t use);
uint64_t rbuf_standing_in_flag(const struct rbuf_peer *peer, uint64_t use);

/* RBUF_ARRIVAL_IMMEDIATE: a chunk of a head was announced; how many of them were, of this use. */
void rbuf_standing_in_immediate(struct rbuf_core *core, uint32_t immediate);
uint32_t rbuf_standing_in_arrived(const struct rbuf_peer *peer, uint64_t use);

/* The use is over. */
void rbuf_standing_in_over(struct rbuf_peer *peer, uint64_t use);

/* Frees the lane, which nobody writes into any more; the peer's grants are closed. */
void rbuf_standing_in_remove(struct rbuf_peer *peer);

#endif
