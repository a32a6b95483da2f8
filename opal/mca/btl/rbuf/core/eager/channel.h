/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Active messages: over send/receive, or by the peer's ring where there is one.
 *
 * A message is posted when the peer has a credit for us and the send queue has room; else it
 * queues, in order, and nothing fails. A small message of the control channel goes by the ring
 * (core/eager/ring.h) if the peer leased us one and it has a free slot; one that takes several
 * slots only straight from its user, not from a queue.
 *
 * Answers of Open MPI, and what core itself says of grants and early data, let data move: they go
 * ahead of what else is queued, which has them wait for its own data otherwise, if many rendezvous
 * go both ways. An EARLY does not overtake the RTS of the early data that it names, and while it
 * waits behind that, nothing overtakes it.
 *
 * Invariant: the order of posting on a channel, ring included, is the order of rbuf_am_send(), but
 * for those that go ahead, which are in the order of their own.
 */
#ifndef RBUF_CORE_CHANNEL_H
#define RBUF_CORE_CHANNEL_H

#include "core/state/state.h"
#include "core/eager/ring_long.h"
#include "core/eager/ring_out.h"
#include "core/link/credit.h"

enum rbuf_am_state { RBUF_AM_IDLE, RBUF_AM_QUEUED, RBUF_AM_POSTED };

/* One message to send. The user sets everything down to `bytes` and owns it again when it is IDLE.
 */
struct rbuf_am {
    struct rbuf_message_header *header; /* in sendable memory, the payload right behind it */
    uint32_t lkey;  /* of that memory; not looked at if the message goes inline */
    uint32_t bytes; /* payload */
    uint8_t tag;
    uint8_t channel;   /* enum rbuf_channel_id */
    uint64_t argument; /* id of the put whose data must be in place first, or 0 */

    uint8_t kind; /* core's, like everything below */
    enum rbuf_am_state state;
    struct rbuf_work work; /* its peer's, also before it is posted */
    TAILQ_ENTRY(rbuf_am) link;
    struct rbuf_event_place ended;
};

/* Sends or queues. IDLE: done, the buffer is free and no event follows. QUEUED or POSTED: a
 * RBUF_EVENT_SENT will say when the buffer is free. On a failed peer that event has a status. */
enum rbuf_am_state rbuf_am_send(struct rbuf_peer *peer, struct rbuf_am *am);

/* The same for a message of that kind, with the argument that it has. For core's own files. */
enum rbuf_am_state rbuf_am_send_as(struct rbuf_peer *peer, struct rbuf_am *am,
                                   enum rbuf_message_kind kind, uint64_t argument);

/* Sends a message whose last bytes are `data`, without copying them: `am` has only the header and
 * the bytes before. Now, or not at all: false, and nothing has happened. A RBUF_EVENT_SENT will say
 * when the data has been fetched. */
bool rbuf_am_gather(struct rbuf_peer *peer, struct rbuf_am *am, const struct rbuf_fab_piece *data);

/* Sends `message` (header and `bytes` of payload in one piece of any memory) now and inline, or
 * does nothing and returns false. The caller keeps the memory. */
bool rbuf_am_send_now(struct rbuf_peer *peer, enum rbuf_channel_id channel, uint8_t tag,
                      struct rbuf_message_header *message, uint32_t bytes, uint64_t argument);

/* The shortest path for a message that the user builds in place: where its payload of `bytes` bytes
 * is to be written, or NULL if it cannot go by the peer's ring now. Then rbuf_am_end() sends it, or
 * returns false and nothing has happened. The lock is held from the one to the other. */
static inline void *rbuf_am_begin(struct rbuf_peer *peer, uint32_t bytes)
{
    return TAILQ_EMPTY(&peer->eager.queued[RBUF_CONTROL]) ? rbuf_ring_out_begin(peer, bytes) : NULL;
}

static inline bool rbuf_am_end(struct rbuf_peer *peer, uint8_t tag, uint32_t bytes,
                               uint64_t argument)
{
    return rbuf_ring_out_end_user(peer, tag, bytes, argument);
}

/* The same of a message that is longer than a slot, which rbuf_ring_long_end() sends; between the
 * two rbuf_ring_long_write_part() may send the first bytes of it. */
static inline void *rbuf_am_begin_long(struct rbuf_peer *peer, uint32_t bytes)
{
    return TAILQ_EMPTY(&peer->eager.queued[RBUF_CONTROL]) ? rbuf_ring_long_begin(peer, bytes)
                                                          : NULL;
}

/* For core's own files. */
int rbuf_channel_progress(struct rbuf_peer *peer);
void rbuf_channel_open(struct rbuf_peer *peer);
bool rbuf_channel_empty(const struct rbuf_peer *peer); /* no message waits */
bool rbuf_channel_idle(const struct rbuf_peer *peer);  /* nor are credits owed */
void rbuf_channel_fail(struct rbuf_peer *peer, int status);

/* Sends a copy of `payload`, which has to fit into a request or a bounce buffer. `lease` is for the
 * kinds that have one. */
void rbuf_channel_send_own(struct rbuf_peer *peer, enum rbuf_message_kind kind,
                           enum rbuf_lease lease, const void *payload, uint32_t bytes);

/* The same for the kinds that have an argument. */
void rbuf_channel_send_own_by(struct rbuf_peer *peer, enum rbuf_channel_id channel,
                              enum rbuf_message_kind kind, uint64_t argument, const void *payload,
                              uint32_t bytes);

/* The header of a message that is posted now; its sequence number is taken when that succeeds. */
static inline void rbuf_channel_fill(const struct rbuf_peer *peer,
                                     struct rbuf_message_header *header, uint8_t kind, uint8_t tag,
                                     uint64_t argument)
{
    header->argument = argument;
    header->peer = peer->their_index;
    header->kind = kind;
    header->tag = tag;
    header->sequence = peer->eager.sequence_out;
    rbuf_credit_advertise(peer, header->credit);
}

#endif
