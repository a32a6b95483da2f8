/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/grant.h"

#define HEADER_BYTES ((uint32_t) sizeof(struct rbuf_message_header))

/* A grant message that core sends by itself; freed when it is IDLE again. */
struct grant_message {
    struct rbuf_am am;
    struct {
        struct rbuf_message_header header;
        struct rbuf_offer offer;
    } wire;
};

/*
 * The peer's count of what it took off, from the mailbox. The acquire pairs with the adapter
 * placing the peer's word: what the peer's software did before (reposting the buffer) is done.
 */
static void read_mailbox(struct rbuf_peer *peer, enum rbuf_channel_id id)
{
    struct rbuf_channel *channel = &peer->channel[id];
    uint32_t taken =
        (uint32_t) atomic_load_explicit(&peer->mailbox->credit[id], memory_order_acquire);

    if ((int32_t) (taken - channel->taken) > 0 && (int32_t) (channel->sent - taken) >= 0) {
        channel->taken = taken;
    }
}

static bool has_credit(struct rbuf_peer *peer, enum rbuf_channel_id id)
{
    struct rbuf_channel *channel = &peer->channel[id];

    if (channel->sent - channel->taken < channel->window) {
        return true;
    }
    read_mailbox(peer, id);
    return channel->sent - channel->taken < channel->window;
}

bool rbuf_channel_take_credit(struct rbuf_peer *peer, enum rbuf_channel_id id)
{
    if (!has_credit(peer, id)) {
        return false;
    }
    peer->channel[id].sent++;
    return true;
}

void rbuf_channel_piggyback(struct rbuf_peer *peer, const struct rbuf_message_header *header)
{
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        struct rbuf_channel *channel = &peer->channel[id];
        uint16_t newer = (uint16_t) (header->credit[id] - (uint16_t) channel->taken);

        /* Older than what the mailbox said, or nonsense, if it is ahead of what was sent. */
        if (newer != 0 && newer <= channel->sent - channel->taken) {
            channel->taken += newer;
        }
    }
}

static void fill_header(struct rbuf_peer *peer, struct rbuf_message_header *header, uint8_t kind,
                        uint8_t tag, uint32_t bytes, uint64_t after)
{
    *header = (struct rbuf_message_header){
        .bytes = bytes, .peer = peer->their_index, .kind = kind, .tag = tag, .after = after};
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        header->credit[id] = (uint16_t) peer->channel[id].consumed;
    }
}

/* The credits in a header that was posted are known to the peer. */
static void credits_returned(struct rbuf_peer *peer)
{
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        peer->channel[id].returned = peer->channel[id].consumed;
    }
}

/* Posts the message if there is a credit and room. A dead queue pair fails the peer. */
static bool post(struct rbuf_peer *peer, struct rbuf_am *am)
{
    struct rbuf_channel *channel = &peer->channel[am->channel];
    struct rbuf_fab_queue *queue = peer->queue[am->channel];
    struct rbuf_fab_piece piece = {am->header, HEADER_BYTES + am->bytes, am->lkey};
    bool inlined = piece.bytes <= rbuf_fab_inline_max(queue);
    enum rbuf_fab_status status;

    if (!has_credit(peer, am->channel)) {
        return false;
    }
    fill_header(peer, am->header, am->kind, am->tag, am->bytes, am->after);
    status = rbuf_fab_send(queue, &piece, 1, inlined, inlined ? NULL : &am->work);
    if (status == RBUF_FAB_DEAD) {
        rbuf_peer_fail(peer, -ECONNRESET);
    }
    if (status != RBUF_FAB_OK) {
        return false;
    }
    channel->sent++;
    credits_returned(peer);
    am->state = inlined ? RBUF_AM_IDLE : RBUF_AM_POSTED;
    peer->in_flight += !inlined;
    peer->core->stats.messages_inline += inlined;
    return true;
}

/* The message's buffer is free: tells its owner. */
static void finish(struct rbuf_am *am, int status)
{
    am->state = RBUF_AM_IDLE;
    if (am->kind == RBUF_MESSAGE_GRANT) {
        free(am); /* a struct grant_message begins with its am */
    } else {
        rbuf_core_raise(am->peer->core, RBUF_EVENT_SENT, am->peer, am, status);
    }
}

static enum rbuf_am_state enqueue(struct rbuf_peer *peer, struct rbuf_am *am)
{
    struct rbuf_channel *channel = &peer->channel[am->channel];

    am->peer = peer;
    am->work.kind = RBUF_WORK_SEND;
    if (peer->state == RBUF_PEER_FAILED) {
        am->state = RBUF_AM_QUEUED;
        finish(am, -ECONNRESET);
        return RBUF_AM_QUEUED;
    }
    if (peer->state == RBUF_PEER_CONNECTED && TAILQ_EMPTY(&channel->queued) && post(peer, am)) {
        return am->state;
    }
    if (peer->state == RBUF_PEER_FAILED) { /* found out while posting */
        am->state = RBUF_AM_QUEUED;
        finish(am, -ECONNRESET);
        return RBUF_AM_QUEUED;
    }
    am->state = RBUF_AM_QUEUED;
    TAILQ_INSERT_TAIL(&channel->queued, am, link);
    peer->core->stats.messages_queued++;
    rbuf_peer_wake(peer);
    return RBUF_AM_QUEUED;
}

enum rbuf_am_state rbuf_am_send(struct rbuf_peer *peer, struct rbuf_am *am)
{
    am->kind = RBUF_MESSAGE_USER;
    peer->core->stats.messages_sent++;
    return enqueue(peer, am);
}

bool rbuf_am_send_now(struct rbuf_peer *peer, enum rbuf_channel_id id, uint8_t tag,
                      struct rbuf_message_header *message, uint32_t bytes, uint64_t after)
{
    struct rbuf_am am = {.header = message,
                         .bytes = bytes,
                         .tag = tag,
                         .channel = (uint8_t) id,
                         .after = after,
                         .kind = RBUF_MESSAGE_USER};

    if (peer->state != RBUF_PEER_CONNECTED || !TAILQ_EMPTY(&peer->channel[id].queued) ||
        HEADER_BYTES + bytes > rbuf_fab_inline_max(peer->queue[id]) || !post(peer, &am)) {
        return false;
    }
    peer->core->stats.messages_sent++;
    return true;
}

void rbuf_channel_send_grant(struct rbuf_peer *peer, const struct rbuf_offer *offer)
{
    struct grant_message *message = calloc(1, sizeof(*message));

    if (message == NULL) {
        rbuf_peer_fail(peer, -ENOMEM);
        return;
    }
    message->wire.offer = *offer;
    message->am.header = &message->wire.header;
    message->am.bytes = sizeof(message->wire.offer);
    message->am.channel = RBUF_CONTROL;
    message->am.kind = RBUF_MESSAGE_GRANT;
    if (enqueue(peer, &message->am) == RBUF_AM_IDLE) {
        free(message);
    }
}

void rbuf_channel_sent(struct rbuf_am *am, int status)
{
    finish(am, status);
}

/* True when so many credits are owed that they do not wait for a message to carry them. */
static bool owes(const struct rbuf_peer *peer, int id)
{
    const struct rbuf_channel *channel = &peer->channel[id];
    uint32_t half = peer->core->options.window[id] / 2u;

    return channel->consumed - channel->returned >= (half > 0 ? half : 1);
}

/* Tells the peer by an RDMA write what was taken off, when half a window is owed. */
static int write_credits(struct rbuf_peer *peer)
{
    int done = 0;

    for (int id = 0; id < RBUF_CHANNELS; id++) {
        struct rbuf_channel *channel = &peer->channel[id];
        uint64_t count = channel->consumed;
        uint64_t address = peer->their_mailbox + offsetof(struct rbuf_mailbox, credit) +
                           (uint64_t) id * sizeof(uint64_t);
        enum rbuf_fab_status status;

        if (!owes(peer, id)) {
            continue;
        }
        status = rbuf_fab_write_inline(peer->queue[RBUF_CONTROL], &count, sizeof(count), address,
                                       peer->their_mailbox_rkey, NULL);
        if (status == RBUF_FAB_DEAD) {
            rbuf_peer_fail(peer, -ECONNRESET);
        }
        if (status != RBUF_FAB_OK) {
            break;
        }
        channel->returned = channel->consumed;
        peer->core->stats.credits_written++;
        done++;
    }
    return done;
}

static bool owes_credits(const struct rbuf_peer *peer)
{
    return owes(peer, RBUF_CONTROL) || owes(peer, RBUF_BULK);
}

void rbuf_channel_consumed(struct rbuf_peer *peer, enum rbuf_channel_id id)
{
    peer->channel[id].consumed++;
    if (peer->state == RBUF_PEER_CONNECTED && owes_credits(peer)) {
        rbuf_peer_wake(peer);
    }
}

int rbuf_channel_progress(struct rbuf_peer *peer)
{
    int done = write_credits(peer);

    for (int id = 0; id < RBUF_CHANNELS && peer->state == RBUF_PEER_CONNECTED; id++) {
        struct rbuf_am *am;

        while ((am = TAILQ_FIRST(&peer->channel[id].queued)) != NULL && post(peer, am)) {
            TAILQ_REMOVE(&peer->channel[id].queued, am, link);
            if (am->state == RBUF_AM_IDLE) {
                finish(am, 0);
            }
            done++;
        }
    }
    return done;
}

bool rbuf_channel_idle(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->channel[RBUF_CONTROL].queued) &&
           TAILQ_EMPTY(&peer->channel[RBUF_BULK].queued) && !owes_credits(peer);
}

void rbuf_channel_fail(struct rbuf_peer *peer, int status)
{
    for (int id = 0; id < RBUF_CHANNELS; id++) {
        struct rbuf_am *am;

        while ((am = TAILQ_FIRST(&peer->channel[id].queued)) != NULL) {
            TAILQ_REMOVE(&peer->channel[id].queued, am, link);
            finish(am, status);
        }
    }
}
