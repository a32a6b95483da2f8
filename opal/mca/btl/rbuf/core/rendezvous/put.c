/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Puts into the lane of the receiver's offer (core/rendezvous/put.h): how they begin, as far as
 * EARLY or FILLING, from where they are core/rendezvous/sender.c's; and the
 * functions by which that goes on. Owns the RTRs that came before their puts.
 */
#include "core/rendezvous/put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/eager/channel.h"
#include "core/rendezvous/early.h"
#include "core/rendezvous/sender.h"
#include "core/stage/tx_chunk.h"

/* An RTR may overtake the offer that it is for only among the events that are being dealt with: a
 * peer with more of them is not one that speaks our protocol. */
#define UNEXPECTED_MAX 4096u

/* An RTR that came before btl_put() asked for it. */
struct rbuf_unexpected_rtr {
    SLIST_ENTRY(rbuf_unexpected_rtr) link;
    struct rbuf_offer offer;
};

/* ---- their functions for the sender ---- */

/* True if the buffer of chunk `next` is free at the receiver. The acquire pairs with the adapter
 * placing the peer's count, which follows the copy out of the buffer. */
static bool window_open(const struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    uint64_t behind;
    uint64_t word;

    if (put->next.index < offer->schedule.buffers) {
        return true;
    }
    behind = put->next.index - offer->schedule.buffers;
    word = atomic_load_explicit(&put->peer->mailbox->ack[offer->slot], memory_order_acquire);
    return (int64_t) (word - offer->acks) > (int64_t) behind;
}

static void fill(struct rbuf_put *put, uint64_t *budget)
{
    rbuf_tx_chunk_fill(put->filling, &put->offer.schedule,
                       rbuf_arrival_proof((enum rbuf_arrival) put->offer.arrival), put->offer.flag,
                       put->rest, budget);
}

static enum rbuf_fab_status write_chunk(struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    const struct rbuf_schedule *schedule = &offer->schedule;
    uint64_t buffer = put->next.index % schedule->buffers;
    uint64_t address = offer->lane + buffer * offer->stride_blocks * schedule->block_bytes;
    const uint32_t immediate = rbuf_immediate(offer->id);

    return rbuf_tx_chunk_write(put->filling, schedule, offer->flag, address, offer->rkey,
                               offer->arrival == RBUF_ARRIVAL_IMMEDIATE ? &immediate : NULL);
}

static bool step(struct rbuf_put *put)
{
    return rbuf_schedule_next(&put->offer.schedule, put->rest_bytes, &put->next);
}

const struct rbuf_put_ops rbuf_put_to_lane = {.window_open = window_open,
                                              .fill = fill,
                                              .write = write_chunk,
                                              .step = step,
                                              .posted = RBUF_PUT_DONE};

/* ---- how they begin ---- */

/* An offer from outside must be one that this side can walk, address and stage. */
static bool offer_usable(struct rbuf_peer *peer, const struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    const struct rbuf_arena *arena = &peer->core->send_arena;
    struct rbuf_extent extent;

    if (!rbuf_schedule_valid(&offer->schedule) || offer->bytes == 0 ||
        offer->slot >= RBUF_ACK_SLOTS || offer->arrival >= RBUF_ARRIVALS) {
        return false;
    }
    if (offer->bytes <= put->early_bytes) {
        return true;
    }
    rbuf_schedule_measure(&offer->schedule, offer->bytes - put->early_bytes, &extent);
    return extent.largest_blocks <= offer->stride_blocks &&
           rbuf_tx_chunk_blocks(arena, &offer->schedule, extent.largest_blocks) <=
               rbuf_arena_longest(arena);
}

static void put_without_early(struct rbuf_put *put)
{
    put->early = NULL;
    put->early_seq = 0;
    put->early_bytes = 0;
}

bool rbuf_put_early_missing(const struct rbuf_put *put)
{
    return put->early != NULL && put->early->seq == put->early_seq &&
           put->early->written < put->early_bytes && put->early->written < put->offer.bytes;
}

/* All of the put is to be written, but for its early data. */
static void put_divide(struct rbuf_put *put)
{
    put->rest = put->source + put->early_bytes;
    put->rest_bytes = put->offer.bytes > put->early_bytes ? put->offer.bytes - put->early_bytes : 0;
    if (put->rest_bytes > 0) {
        rbuf_schedule_first(&put->offer.schedule, put->rest_bytes, &put->next);
    }
}

/* The receiver asked, with a lane for the whole: behind early data chunks are as large as they
 * would be behind those that it claims, if they fit (grant.c does the same). */
static void put_shorten(const struct rbuf_peer *peer, struct rbuf_put *put)
{
    const struct rbuf_early_window *window = &peer->rendezvous.early_out->window;
    struct rbuf_offer *offer = &put->offer;

    if (put->early_bytes < offer->bytes && rbuf_schedule_valid(&offer->schedule) &&
        offer->stride_blocks > 0) {
        offer->schedule =
            rbuf_schedule_rest(&window->schedule, window->slot_blocks, &offer->schedule);
        rbuf_schedule_fit(&offer->schedule, offer->stride_blocks);
    }
}

/* Begins to stage; the offer is STAGED, and the receiver knows of the early data. */
static void put_stage(struct rbuf_peer *peer, struct rbuf_put *put)
{
    const bool missing = rbuf_put_early_missing(put);

    if (put->offer.ask != 0 && put->early_seq != 0) {
        put_shorten(peer, put);
    }
    if (!offer_usable(peer, put)) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -EPROTO);
        return;
    }
    put_divide(put);
    peer->core->stats.staged_puts++;
    if (put->rest_bytes == 0 && !missing) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, 0);
        return;
    }
    rbuf_put_become(put, missing ? RBUF_PUT_EARLY : RBUF_PUT_FILLING);
    rbuf_sender_begin(peer, put);
}

bool rbuf_put_begin(struct rbuf_peer *peer, struct rbuf_put *put, const struct rbuf_put_ops *ops)
{
    put->peer = peer;
    put->ops = ops;
    put->filling = NULL;
    put_without_early(put);
    if (peer->state == RBUF_PEER_FAILED) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -ECONNRESET);
        return false;
    }
    return true;
}

/* Goes on with a put whose offer is not deferred. */
static void put_granted(struct rbuf_peer *peer, struct rbuf_put *put)
{
    switch ((enum rbuf_offer_mode) put->offer.mode) {
    case RBUF_OFFER_STAGED:
        put_stage(peer, put);
        break;
    case RBUF_OFFER_DIRECT:
        rbuf_sender_finish(put, RBUF_EVENT_DIRECT, 0);
        break;
    default:
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -EPROTO);
        break;
    }
}

static void put_wait(struct rbuf_peer *peer, struct rbuf_put *put)
{
    rbuf_put_become(put, RBUF_PUT_UNGRANTED);
    TAILQ_INSERT_TAIL(&peer->rendezvous.ungranted, put, link);
}

/* True if the receiver goes by the put's early data: it knows them, or will before it reads. */
static bool agrees(const struct rbuf_put *put, const struct rbuf_offer *offer)
{
    return offer->mode != RBUF_OFFER_STAGED || offer->ask != 0 || offer->early == put->early_seq;
}

/* Goes on with a deferred put for which `offer` came, unless that is from before the receiver was
 * corrected: it stages the message once more then, and sends another. */
static void put_answered(struct rbuf_peer *peer, struct rbuf_put *put,
                         const struct rbuf_offer *offer)
{
    if (!agrees(put, offer)) {
        put_wait(peer, put);
        return;
    }
    if (offer->bytes != put->offer.bytes || offer->base != put->offer.base) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -EPROTO);
        return;
    }
    put->offer = *offer;
    put_granted(peer, put);
}

/* Goes on with the put if its RTR is here already. */
static bool unexpected_take(struct rbuf_peer *peer, struct rbuf_put *put)
{
    struct rbuf_unexpected_rtr *rtr;

    SLIST_FOREACH(rtr, &peer->rendezvous.unexpected_rtrs, link)
    {
        if (rtr->offer.id == put->offer.id) {
            SLIST_REMOVE(&peer->rendezvous.unexpected_rtrs, rtr, rbuf_unexpected_rtr, link);
            peer->rendezvous.unexpected_count--;
            put_answered(peer, put, &rtr->offer);
            free(rtr);
            return true;
        }
    }
    return false;
}

/* Takes the put's early data, and sees to it that the receiver goes by them. False: it claimed
 * others, gets an EARLY, and sends an RTR when it has staged the message anew. */
static bool put_settle(struct rbuf_peer *peer, struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;

    put->early = rbuf_early_take(peer, put->source, offer->early);
    if (put->early != NULL) {
        put->early_seq = put->early->seq;
        put->early_bytes = put->early->bytes;
    }
    if (offer->ask != 0) {
        rbuf_early_name(peer, offer->id, put->early);
        return true;
    }
    if (offer->early == put->early_seq) {
        return true;
    }
    if (offer->early == 0) { /* it does not want any */
        rbuf_early_drop(peer, put->early);
        put_without_early(put);
        return true;
    }
    rbuf_early_name(peer, offer->id, put->early);
    return false;
}

void rbuf_put_start(struct rbuf_peer *peer, struct rbuf_put *put)
{
    bool settled;

    if (!rbuf_put_begin(peer, put, &rbuf_put_to_lane)) {
        return;
    }
    settled = put_settle(peer, put);
    if (peer->state == RBUF_PEER_BROKEN) { /* perhaps found out in a post; it ends there */
        put_wait(peer, put);
    } else if (put->offer.mode != RBUF_OFFER_DEFERRED && settled) {
        put_granted(peer, put);
    } else if (!unexpected_take(peer, put)) {
        put_wait(peer, put);
    }
}

void rbuf_put_granted(struct rbuf_peer *peer, const struct rbuf_offer *offer)
{
    struct rbuf_put *put;
    struct rbuf_unexpected_rtr *rtr;

    if (rbuf_peer_is_lost(peer)) {
        return; /* all that waited has ended */
    }
    TAILQ_FOREACH(put, &peer->rendezvous.ungranted, link)
    {
        if (put->offer.id == offer->id) {
            TAILQ_REMOVE(&peer->rendezvous.ungranted, put, link);
            put_answered(peer, put, offer);
            return;
        }
    }
    rtr = peer->rendezvous.unexpected_count < UNEXPECTED_MAX ? malloc(sizeof(*rtr)) : NULL;
    if (rtr == NULL) {
        rbuf_peer_break(peer,
                        peer->rendezvous.unexpected_count < UNEXPECTED_MAX ? -ENOMEM : -EPROTO);
        return;
    }
    rtr->offer = *offer;
    SLIST_INSERT_HEAD(&peer->rendezvous.unexpected_rtrs, rtr, link);
    peer->rendezvous.unexpected_count++;
}

void rbuf_put_unexpected_free(struct rbuf_peer *peer)
{
    struct rbuf_unexpected_rtr *rtr;

    while ((rtr = SLIST_FIRST(&peer->rendezvous.unexpected_rtrs)) != NULL) {
        SLIST_REMOVE_HEAD(&peer->rendezvous.unexpected_rtrs, link);
        free(rtr);
    }
    peer->rendezvous.unexpected_count = 0;
}
