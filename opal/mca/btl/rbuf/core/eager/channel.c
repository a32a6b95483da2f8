/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Active messages (core/eager/channel.h): the user's and core's own, on one queue a channel.
 *
 *     IDLE -> POSTED -> IDLE            with a completion
 *     IDLE -> QUEUED -> POSTED | IDLE   without a credit, or without room in the send queue
 *     IDLE                              inline or by a ring: the buffer is free at once
 */
#include "core/eager/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES ((uint32_t) sizeof(struct rbuf_message_header))

/* A message that core sends by itself; freed when it is IDLE again. */
struct own_message {
    struct rbuf_am am;
    struct rbuf_bounce *bounce; /* POSTED: it is sent from there; else, and inline, NULL */
    struct rbuf_message_header header;
    unsigned char payload[]; /* right behind it */
};

static bool is_users(const struct rbuf_am *am)
{
    return am->kind <= RBUF_MESSAGE_LAST_USERS;
}

/* Its completion says that the slots of a ring may be used for something else. */
static bool returns_ring(const struct rbuf_am *am)
{
    return am->kind == RBUF_MESSAGE_RETURN && am->tag == RBUF_LEASE_RING;
}

static struct own_message *own(struct rbuf_am *am)
{
    return (struct own_message *) am; /* which it begins with */
}

/* Moves a message that is about to be posted into registered memory. False: none is free. */
static bool bounce(struct rbuf_peer *peer, struct rbuf_am *am, struct rbuf_fab_piece *piece)
{
    struct rbuf_bounces *bounces = &peer->core->bounces;
    struct rbuf_bounce *taken = rbuf_bounce_take(bounces);

    if (taken == NULL) {
        return false;
    }
    assert(piece->bytes <= RBUF_BOUNCE_BYTES);
    memcpy(taken->data, piece->address, piece->bytes);
    piece->address = taken->data;
    piece->lkey = bounces->lkey;
    own(am)->bounce = taken;
    return true;
}

/* Gives back what bounce() took, if anything. */
static void unbounce(struct rbuf_am *am)
{
    if (own(am)->bounce != NULL) {
        rbuf_bounce_give(&am->work.peer->core->bounces, own(am)->bounce);
        own(am)->bounce = NULL;
    }
}

/* True if the message was posted over send/receive, as the status says: then it is counted. */
static inline bool posted(struct rbuf_peer *peer, const struct rbuf_am *am, bool inlined,
                          enum rbuf_fab_status status)
{
    if (!rbuf_peer_posted(peer, status)) {
        return false;
    }
    peer->core->stats.sends[inlined]++;
    peer->core->stats.send_bytes += am->bytes;
    if (am->channel != RBUF_CONTROL) {
        rbuf_credit_use(peer, RBUF_FLOW_BULK, 1);
    } else { /* what the other one says is not believed */
        rbuf_credit_use(peer, RBUF_FLOW_CONTROL, 1);
        peer->eager.sequence_out++;
        rbuf_credit_advertised(peer);
    }
    return true;
}

/* Sends over send/receive if there is a credit and room. A dead queue pair fails the peer. */
static bool post_send(struct rbuf_peer *peer, struct rbuf_am *am)
{
    struct rbuf_fab_queue *queue = peer->queue[am->channel];
    struct rbuf_fab_piece piece = {am->header, HEADER_BYTES + am->bytes, am->lkey};
    bool inlined = piece.bytes <= rbuf_fab_inline_max(queue);
    bool silent = inlined && !returns_ring(am);
    bool bounced = !inlined && !is_users(am); /* other memory is not registered */

    if (!rbuf_credit_available(peer, (enum rbuf_flow) am->channel)) {
        return false;
    }
    rbuf_channel_fill(peer, am->header, am->kind, am->tag, am->argument);
    if (bounced && !bounce(peer, am, &piece)) {
        return false;
    }
    if (!posted(peer, am, inlined,
                rbuf_fab_send(queue, &piece, 1, inlined, silent ? NULL : &am->work))) {
        if (bounced) {
            unbounce(am);
        }
        return false;
    }
    if (am->channel == RBUF_CONTROL) {
        peer->core->stats.ring_full += rbuf_ring_out_takes(&peer->eager.ring_out, am->bytes);
    }
    am->state = silent ? RBUF_AM_IDLE : RBUF_AM_POSTED;
    peer->in_flight += !silent;
    return true;
}

/* Copies the message into a slot of the peer's ring. */
static bool post_ring(struct rbuf_peer *peer, struct rbuf_am *am, void *payload)
{
    memcpy(payload, am->header + 1, am->bytes);
    am->state = RBUF_AM_IDLE;
    return rbuf_ring_out_end(peer, am->kind, am->tag, am->bytes, am->argument);
}

/* By the ring or by send/receive. A peer that is found lost at its ring has ended the message. */
static bool post(struct rbuf_peer *peer, struct rbuf_am *am)
{
    void *payload = am->channel == RBUF_CONTROL ? rbuf_ring_out_begin(peer, am->bytes) : NULL;

    return payload != NULL ? post_ring(peer, am, payload) : post_send(peer, am);
}

/* The message's buffer is free: tells its owner. */
static void finish(struct rbuf_am *am, int status)
{
    am->state = RBUF_AM_IDLE;
    if (is_users(am)) {
        rbuf_core_raise(am->work.peer->core, RBUF_EVENT_SENT, am->work.peer, am, &am->ended,
                        status);
        return;
    }
    if (returns_ring(am) && status == 0) {
        rbuf_ring_out_handed_back(am->work.peer);
    }
    unbounce(am);
    free(own(am));
}

static void sent(struct rbuf_work *work, int status)
{
    finish((struct rbuf_am *) (void *) ((char *) work - offsetof(struct rbuf_am, work)), status);
}

/* True of what lets data move, which does not wait behind what asks for that. An EARLY of the bulk
 * channel ends the fragments before it. */
static bool goes_ahead(const struct rbuf_am *am)
{
    return am->channel == RBUF_CONTROL &&
           (am->kind == RBUF_MESSAGE_ANSWER || am->kind == RBUF_MESSAGE_RTR ||
            am->kind == RBUF_MESSAGE_EARLY);
}

/* The first that what goes ahead may overtake; NULL: none. */
static struct rbuf_am *first_to_overtake(const struct rbuf_peer *peer)
{
    return peer->eager.behind_rts != NULL ? TAILQ_NEXT(peer->eager.behind_rts, link)
                                          : TAILQ_FIRST(&peer->eager.queued[RBUF_CONTROL]);
}

/* The queued RTS of the early data that an EARLY of the control channel names: without it the peer
 * knows no such data. NULL: it has been sent, or the message is something else. */
static struct rbuf_am *rts_of_named(const struct rbuf_peer *peer, struct rbuf_am *am)
{
    struct rbuf_am *queued;
    uint32_t seq;

    if (am->kind != RBUF_MESSAGE_EARLY || am->channel != RBUF_CONTROL) {
        return NULL;
    }
    memcpy(&seq, own(am)->payload, sizeof(seq));
    for (queued = seq != 0 ? first_to_overtake(peer) : NULL; queued != NULL;
         queued = TAILQ_NEXT(queued, link)) {
        if (queued->kind == RBUF_MESSAGE_RTS && queued->argument != RBUF_RTS_PLAIN &&
            rbuf_rts_seq(queued->argument) == seq) {
            break;
        }
    }
    return queued;
}

/* The first that is queued and is to go behind the message; NULL: none is. */
static struct rbuf_am *first_behind(const struct rbuf_peer *peer, const struct rbuf_am *am)
{
    struct rbuf_am *queued = goes_ahead(am) ? first_to_overtake(peer) : NULL;

    while (queued != NULL && goes_ahead(queued)) {
        queued = TAILQ_NEXT(queued, link);
    }
    return queued;
}

/* Posts, or queues before `behind`; NULL: at the end. Inline: eager messages have none behind. */
static inline __attribute__((always_inline)) enum rbuf_am_state
enqueue_before(struct rbuf_peer *peer, struct rbuf_am *am, struct rbuf_am *behind)
{
    am->work.peer = peer;
    am->work.completed = sent;
    if (peer->state == RBUF_PEER_FAILED) {
        am->state = RBUF_AM_QUEUED;
        finish(am, -ECONNRESET);
        return RBUF_AM_QUEUED;
    }
    if (peer->state == RBUF_PEER_CONNECTED &&
        TAILQ_FIRST(&peer->eager.queued[am->channel]) == behind && post(peer, am)) {
        return am->state;
    }
    am->state = RBUF_AM_QUEUED;
    if (behind != NULL) {
        TAILQ_INSERT_BEFORE(behind, am, link);
    } else {
        TAILQ_INSERT_TAIL(&peer->eager.queued[am->channel], am, link);
    }
    peer->core->queued++;
    peer->core->stats.messages_queued++;
    peer->core->stats.credit_waits += peer->state == RBUF_PEER_CONNECTED &&
                                      !rbuf_credit_available(peer, (enum rbuf_flow) am->channel);
    rbuf_peer_wake(peer);
    return RBUF_AM_QUEUED;
}

static enum rbuf_am_state enqueue(struct rbuf_peer *peer, struct rbuf_am *am)
{
    struct rbuf_am *rts = rts_of_named(peer, am);

    if (rts == NULL || peer->state == RBUF_PEER_FAILED) {
        return enqueue_before(peer, am, first_behind(peer, am));
    }
    peer->eager.behind_rts = am;
    return enqueue_before(peer, am, TAILQ_NEXT(rts, link));
}

static void dequeue(struct rbuf_peer *peer, struct rbuf_am *am)
{
    TAILQ_REMOVE(&peer->eager.queued[am->channel], am, link);
    peer->core->queued--;
    if (peer->eager.behind_rts == am) {
        peer->eager.behind_rts = NULL;
    }
}

enum rbuf_am_state rbuf_am_send(struct rbuf_peer *peer, struct rbuf_am *am)
{
    am->kind = RBUF_MESSAGE_USER;
    peer->core->stats.messages_sent++;
    return enqueue_before(peer, am, NULL);
}

enum rbuf_am_state rbuf_am_send_as(struct rbuf_peer *peer, struct rbuf_am *am,
                                   enum rbuf_message_kind kind, uint64_t argument)
{
    am->kind = (uint8_t) kind;
    am->argument = argument;
    peer->core->stats.messages_sent++;
    return enqueue(peer, am);
}

/* True if a message for the channel need not queue behind others. */
static bool may_go(const struct rbuf_peer *peer, enum rbuf_channel_id id)
{
    return peer->state == RBUF_PEER_CONNECTED && TAILQ_EMPTY(&peer->eager.queued[id]);
}

bool rbuf_am_send_now(struct rbuf_peer *peer, enum rbuf_channel_id id, uint8_t tag,
                      struct rbuf_message_header *message, uint32_t bytes, uint64_t argument)
{
    struct rbuf_am am; /* what is not set here is not looked at: it goes inline, and has no end */

    am.header = message;
    am.lkey = 0;
    am.bytes = bytes;
    am.tag = tag;
    am.channel = (uint8_t) id;
    am.argument = argument;
    am.kind = RBUF_MESSAGE_USER;
    if (!may_go(peer, id) || HEADER_BYTES + bytes > rbuf_fab_inline_max(peer->queue[id]) ||
        !post_send(peer, &am)) {
        return false;
    }
    peer->core->stats.messages_sent++;
    return true;
}

/* A slot of the ring, or several. */
static bool gather_by_ring(struct rbuf_peer *peer, struct rbuf_am *am,
                           const struct rbuf_fab_piece *data)
{
    const uint32_t lead = am->bytes - data->bytes;
    void *slot = rbuf_ring_out_begin(peer, am->bytes);
    bool sent = false;

    if (slot != NULL) {
        memcpy(slot, am->header + 1, lead);
        sent = rbuf_ring_out_gather(peer, am->tag, am->bytes, am->argument, data, &am->work);
    } else if ((slot = rbuf_ring_long_begin(peer, am->bytes)) != NULL) {
        memcpy(slot, am->header + 1, lead);
        sent = rbuf_ring_long_gather(peer, am->tag, am->argument, data, &am->work);
    }
    return sent;
}

static bool gather_by_send(struct rbuf_peer *peer, struct rbuf_am *am,
                           const struct rbuf_fab_piece *data)
{
    const struct rbuf_fab_piece pieces[] = {
        {am->header, HEADER_BYTES + am->bytes - data->bytes, am->lkey}, *data};

    if (!rbuf_credit_available(peer, (enum rbuf_flow) am->channel)) {
        return false;
    }
    rbuf_channel_fill(peer, am->header, am->kind, am->tag, am->argument);
    return posted(peer, am, false,
                  rbuf_fab_send(peer->queue[am->channel], pieces, 2, false, &am->work));
}

bool rbuf_am_gather(struct rbuf_peer *peer, struct rbuf_am *am, const struct rbuf_fab_piece *data)
{
    am->work.peer = peer;
    am->work.completed = sent;
    am->kind = RBUF_MESSAGE_USER;
    if (!may_go(peer, RBUF_CONTROL)) {
        return false;
    }
    if (!gather_by_ring(peer, am, data)) {
        if (am->channel == RBUF_BULK) { /* as rbuf_am_send_as() has it */
            am->kind = RBUF_MESSAGE_LONG;
            am->argument = 0;
        }
        if (!may_go(peer, (enum rbuf_channel_id) am->channel) || !gather_by_send(peer, am, data)) {
            return false;
        }
    }
    am->state = RBUF_AM_POSTED;
    peer->in_flight++;
    peer->core->stats.messages_sent++;
    peer->core->stats.gathered++;
    peer->core->stats.gathered_bytes += data->bytes;
    return true;
}

static void send_own(struct rbuf_peer *peer, enum rbuf_channel_id channel,
                     enum rbuf_message_kind kind, uint8_t tag, uint64_t argument,
                     const void *payload, uint32_t bytes)
{
    struct own_message *message = calloc(1, sizeof(*message) + bytes);

    if (message == NULL) {
        rbuf_peer_break(peer, -ENOMEM);
        return;
    }
    if (bytes > 0) {
        memcpy(message->payload, payload, bytes);
    }
    message->am.header = &message->header;
    message->am.bytes = bytes;
    message->am.channel = (uint8_t) channel;
    message->am.kind = (uint8_t) kind;
    message->am.tag = tag;
    message->am.argument = argument;
    peer->core->stats.own_sent++;
    if (enqueue(peer, &message->am) == RBUF_AM_IDLE) {
        free(message);
    }
}

void rbuf_channel_send_own(struct rbuf_peer *peer, enum rbuf_message_kind kind,
                           enum rbuf_lease lease, const void *payload, uint32_t bytes)
{
    send_own(peer, RBUF_CONTROL, kind, (uint8_t) lease, 0, payload, bytes);
}

void rbuf_channel_send_own_by(struct rbuf_peer *peer, enum rbuf_channel_id channel,
                              enum rbuf_message_kind kind, uint64_t argument, const void *payload,
                              uint32_t bytes)
{
    send_own(peer, channel, kind, 0, argument, payload, bytes);
}

int rbuf_channel_progress(struct rbuf_peer *peer)
{
    int done = rbuf_credit_write(peer);

    for (int id = 0; id < RBUF_CHANNELS && peer->state == RBUF_PEER_CONNECTED; id++) {
        struct rbuf_am *am;

        while ((am = TAILQ_FIRST(&peer->eager.queued[id])) != NULL && post(peer, am)) {
            dequeue(peer, am);
            if (am->state == RBUF_AM_IDLE) {
                finish(am, 0);
            }
            done++;
        }
    }
    return done;
}

void rbuf_channel_open(struct rbuf_peer *peer)
{
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        TAILQ_INIT(&peer->eager.queued[id]);
    }
}

bool rbuf_channel_empty(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->eager.queued[RBUF_CONTROL]) &&
           TAILQ_EMPTY(&peer->eager.queued[RBUF_BULK]);
}

bool rbuf_channel_idle(const struct rbuf_peer *peer)
{
    return rbuf_channel_empty(peer) && !rbuf_credit_owed(peer);
}

void rbuf_channel_fail(struct rbuf_peer *peer, int status)
{
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        struct rbuf_am *am;

        while ((am = TAILQ_FIRST(&peer->eager.queued[id])) != NULL) {
            dequeue(peer, am);
            finish(am, status);
        }
    }
}
