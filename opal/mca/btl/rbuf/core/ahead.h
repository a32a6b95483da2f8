/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Pieces ahead: what hides the rendezvous of packed data, as standing lanes (core/standing.h)
 * hide that of contiguous data.
 *
 * Open MPI names the fragments of such a message when the receiver has answered its rendezvous, and
 * not before. But its pieces can be packed and sent meanwhile: the rendezvous is marked as a HERALD
 * of a set of pieces, these follow on the bulk channel, and what goes for a fragment then, on the
 * control channel, is Open MPI's header of it and the set and number of its piece. The receiver
 * hands both up as one message. All fragments of a heralded message are pieces, also the ones that
 * are packed when they are asked for, which bring their name along: they are handed up in one
 * order, whatever way their names take.
 *
 * Open MPI asks for several fragments in a row, so names go together as long as nothing else is to
 * be done: a message each would cost the wire, in short pieces, as much as it was spared.
 *
 * A receiver that does not answer the rendezvous out of its very delivery is late: it says so,
 * forgets the set, and the message is sent without. The sender then heralds less often. It counts
 * as an answer if the port sent any message meanwhile, a piece included. Where that was another
 * one, pieces wait longer; but no answer ever goes ahead of the word that its set is off.
 *
 * Pieces that wait stand in their receive buffers, up to a number, beyond that in copies: so peers
 * whose messages are answered late leave others theirs.
 *
 * Invariants: one set of a peer is under way at a time; names grow, on both channels, and each says
 * which is before it; all names of a set are told before the next herald; a piece is in the queue
 * of its peer, or in its delivery.
 */
#ifndef RBUF_CORE_AHEAD_H
#define RBUF_CORE_AHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/event.h"
#include "core/wire.h"

#define RBUF_NAMES_MOST 4u /* in one message */

struct rbuf_am;
struct rbuf_buffer;
struct rbuf_core;
struct rbuf_message_header;
struct rbuf_peer;

/* ---- of the sender ---- */

enum rbuf_ahead_state {
    RBUF_AHEAD_IDLE,
    RBUF_AHEAD_OPEN /* a set is heralded, and not all of it is named */
};

struct rbuf_ahead_out {
    enum rbuf_ahead_state state;
    uint32_t set;    /* the newest; wraps, and 0 is none */
    uint64_t newest; /* name, of whatever set: pieces before it are named, or passed over */
    uint32_t sent;   /* pieces of the set */
    uint8_t skip;    /* messages that herald nothing, since the peer was late */
    uint8_t late;    /* messages that it was late for, without one in time between them */
};

/* Names that wait, all of one peer. */
struct rbuf_names {
    struct rbuf_peer *peer; /* NULL: there are none */
    uint32_t count;
    struct rbuf_naming naming[RBUF_NAMES_MOST];
};

/* True if the next rendezvous for packed data may be a herald; asked once for each. */
bool rbuf_ahead_may(struct rbuf_peer *peer);

/* Sends the rendezvous as the herald of the next set, and that set's pieces, which are all payload
 * and whose name is then in `after`. True: under way, RBUF_EVENT_SENT will say when the buffer is
 * free. False: it is free. */
bool rbuf_ahead_herald(struct rbuf_peer *peer, struct rbuf_am *am);
bool rbuf_ahead_piece(struct rbuf_peer *peer, struct rbuf_am *am);

/* Sends an active message with that header, of RBUF_NAMING_BYTES at most, and the piece as what
 * follows it; in order, but pieces may be passed over. The header is copied. It may wait for others
 * to go along with, until rbuf_ahead_tell(). False: the peer is lost. */
bool rbuf_ahead_name(struct rbuf_peer *peer, uint64_t name, uint8_t tag, const void *header,
                     uint32_t bytes);

/* The same with a piece that is not sent yet, in one message. Room for a struct rbuf_naming is left
 * in front of the data, and counts as payload. Only while all pieces are named. As a piece, true:
 * under way. */
bool rbuf_ahead_named(struct rbuf_peer *peer, struct rbuf_am *am, uint8_t tag, const void *header,
                      uint32_t bytes);

/* Sends the names that wait, if there are any. */
void rbuf_ahead_tell(struct rbuf_core *core);

/* True if the last piece that was sent is named. */
bool rbuf_ahead_all_named(const struct rbuf_peer *peer);

/* No more pieces of the set: all of the message is named, or is sent without. */
void rbuf_ahead_end(struct rbuf_peer *peer);

/* The receiver was late for that set: RBUF_EVENT_LATE tells the user, who names none of it. */
void rbuf_ahead_late(struct rbuf_peer *peer, uint32_t set);

/* Names that wait for the peer are not sent. */
void rbuf_ahead_out_drop(struct rbuf_peer *peer);

/* ---- of the receiver ---- */

enum rbuf_piece_state {
    RBUF_PIECE_UNNAMED, /* of its naming there is the name alone */
    RBUF_PIECE_NAMED
};

/* A piece that was sent ahead, its name, or both. */
struct rbuf_piece {
    STAILQ_ENTRY(rbuf_piece) link;
    enum rbuf_piece_state state;
    struct rbuf_naming naming;
    struct rbuf_buffer *buffer; /* that it stands in; NULL: it is a copy, or a name alone */
    void *data;
    uint32_t bytes;
};

STAILQ_HEAD(rbuf_piece_list, rbuf_piece);

struct rbuf_ahead_in {
    struct rbuf_piece_list pieces; /* that are here */
    struct rbuf_piece_list names;  /* that were told, and have not met their pieces */
    uint16_t pieces_count;
    uint16_t names_count;
    uint32_t over;   /* sets up to this one are forgotten, but for what is named of them */
    uint64_t newest; /* piece that came */
    uint64_t told;   /* newest name that is known */
    uint64_t turn;   /* the name that was handed up last */
};

void rbuf_ahead_in_open(struct rbuf_peer *peer);

/* A piece came. True: its place is kept, as rbuf_inbox_take() says. */
bool rbuf_ahead_in_piece(struct rbuf_peer *peer, const struct rbuf_message_header *header,
                         const struct rbuf_delivery *place);

/* Names came; what they say is copied. */
void rbuf_ahead_in_names(struct rbuf_peer *peer, const struct rbuf_delivery *place);

/* The piece that a delivery goes on in, or NULL. */
static inline struct rbuf_piece *rbuf_ahead_piece_of(const struct rbuf_delivery *delivery)
{
    return delivery->origin == RBUF_ORIGIN_PIECE ? delivery->piece : NULL;
}

/* The receive buffer that goes with a delivery, or NULL. */
static inline struct rbuf_buffer *rbuf_ahead_buffer_of(const struct rbuf_delivery *delivery)
{
    return delivery->origin == RBUF_ORIGIN_PIECE ? delivery->piece->buffer : delivery->buffer;
}

/* The delivery of a herald is over. */
void rbuf_ahead_in_heralded(struct rbuf_peer *peer, const struct rbuf_delivery *delivery);

/* The delivery of a piece is over: frees it; the caller has reposted its buffer. */
void rbuf_ahead_in_free(struct rbuf_peer *peer, struct rbuf_piece *piece);

/* Nothing is named any more. Buffers go back by RBUF_EVENT_BUFFER. */
void rbuf_ahead_in_drop(struct rbuf_peer *peer);

#endif
