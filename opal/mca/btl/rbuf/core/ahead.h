/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Fragments ahead: what hides the rendezvous of packed data, as standing lanes (core/standing.h)
 * hide that of contiguous data.
 *
 * Open MPI names the fragments of such a message when the receiver has answered its rendezvous, and
 * not before. But its pieces can be packed and sent meanwhile: the rendezvous is marked as a HERALD
 * of a set of pieces, these follow on the bulk channel, and a FRAGMENT on the control channel, with
 * Open MPI's header of it, names one piece by its set and number. The receiver hands both up as one
 * message. All fragments of a heralded message go so, the ones that are packed when they are asked
 * for too: pieces are in one order, whatever way their names take.
 *
 * A receiver that does not answer the rendezvous out of its very delivery is late: it says so,
 * forgets the set, and the message is sent without. The sender then heralds less often. It counts
 * as an answer if the port sent any message meanwhile, a piece included. Where that was another
 * one, pieces wait longer; but no answer ever goes ahead of the word that its set is off.
 *
 * Pieces that wait stand in their receive buffers, up to a number, beyond that in copies: so peers
 * whose messages are answered late leave others theirs.
 *
 * Invariants: one set of a peer is under way at a time; names grow, on both channels; a piece is in
 * the queue of its peer, or in the delivery of its fragment.
 */
#ifndef RBUF_CORE_AHEAD_H
#define RBUF_CORE_AHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/event.h"

struct rbuf_am;
struct rbuf_buffer;
struct rbuf_core;
struct rbuf_held;
struct rbuf_message_header;
struct rbuf_peer;

/* ---- of the sender ---- */

enum rbuf_ahead_state {
    RBUF_AHEAD_IDLE,
    RBUF_AHEAD_OPEN /* a set is heralded, and not all of it is named */
};

struct rbuf_ahead_out {
    enum rbuf_ahead_state state;
    uint32_t set;   /* the newest; wraps, and 0 is none */
    uint32_t sent;  /* pieces of it */
    uint32_t named; /* up to which they are named, or passed over */
    uint32_t skip;  /* messages that herald nothing, since the peer was late */
    uint32_t late;  /* messages that it was late for, without one in time between them */
};

/* True if the next rendezvous for packed data may be a herald; asked once for each. */
bool rbuf_ahead_may(struct rbuf_peer *peer);

/* Sends the rendezvous as the herald of the next set, that set's pieces, which are all payload and
 * whose name is then in `after`, and the fragments that name them one by one, in order; pieces may
 * be passed over. True: under way, RBUF_EVENT_SENT will say when the buffer is free. False: it is
 * free. */
bool rbuf_ahead_herald(struct rbuf_peer *peer, struct rbuf_am *am);
bool rbuf_ahead_piece(struct rbuf_peer *peer, struct rbuf_am *am);
bool rbuf_ahead_fragment(struct rbuf_peer *peer, struct rbuf_am *am, uint64_t name);

/* True if the last piece that was sent is named. */
bool rbuf_ahead_all_named(const struct rbuf_peer *peer);

/* No more pieces of the set: all of the message is named, or is sent without. */
void rbuf_ahead_end(struct rbuf_peer *peer);

/* The receiver was late for that set: RBUF_EVENT_LATE tells the user, who names none of it. */
void rbuf_ahead_late(struct rbuf_peer *peer, uint32_t set);

/* ---- of the receiver ---- */

/* A piece that was sent ahead. */
struct rbuf_piece {
    STAILQ_ENTRY(rbuf_piece) link;
    uint64_t name;
    struct rbuf_buffer *buffer; /* that it stands in; NULL: it is a copy */
    void *data;
    uint32_t bytes;
    struct rbuf_buffer *of_fragment; /* receive buffer with the fragment that names it, or NULL */
};

STAILQ_HEAD(rbuf_piece_list, rbuf_piece);

struct rbuf_ahead_in {
    struct rbuf_piece_list pieces;      /* not named yet */
    STAILQ_HEAD(, rbuf_held) fragments; /* whose piece has not come yet */
    uint32_t pieces_count;
    uint32_t fragments_count;
    uint64_t newest; /* name of a piece that came */
    uint64_t named;  /* newest name that a fragment said */
    uint32_t over;   /* sets up to this one are forgotten */
};

void rbuf_ahead_in_open(struct rbuf_peer *peer);

/* A message of that kind came. True: its place is kept, as rbuf_inbox_take() says. */
bool rbuf_ahead_in_piece(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                         const struct rbuf_delivery *place);
bool rbuf_ahead_in_fragment(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                            const struct rbuf_delivery *place);

/* The piece that a delivery goes on in, or NULL. */
static inline struct rbuf_piece *rbuf_ahead_piece_of(const struct rbuf_delivery *delivery)
{
    return delivery->extra == RBUF_EXTRA_PIECE ? delivery->piece : NULL;
}

/* The receive buffer that a delivery's header stands in, or NULL. */
static inline struct rbuf_buffer *rbuf_ahead_buffer_of(const struct rbuf_delivery *delivery)
{
    return delivery->extra == RBUF_EXTRA_PIECE ? delivery->piece->of_fragment : delivery->buffer;
}

/* The delivery of a herald is over. */
void rbuf_ahead_in_heralded(struct rbuf_peer *peer, const struct rbuf_delivery *delivery);

/* The delivery of a fragment is over: frees its piece; the caller has reposted the buffer. */
void rbuf_ahead_in_free(struct rbuf_peer *peer, struct rbuf_piece *piece);

/* Nothing is named any more. Buffers go back by RBUF_EVENT_BUFFER. */
void rbuf_ahead_in_drop(struct rbuf_peer *peer);

#endif
