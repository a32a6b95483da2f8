/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/prestage.h"
#include "core/sender.h"
#include "core/standing.h"
#include "core/tx_chunk.h"

/* A GRANT may overtake the offer that it is for only among the events that are being dealt with: a
 * peer with more of them is not one that speaks our protocol. */
#define EARLY_MAX 4096u

/* A GRANT that came before btl_put() asked for it. */
struct rbuf_early_offer {
    SLIST_ENTRY(rbuf_early_offer) link;
    struct rbuf_offer offer;
};

/* An offer from outside must be one that this side can walk, address and stage. */
static bool offer_usable(struct rbuf_peer *peer, const struct rbuf_offer *offer,
                         uint64_t head_chunks)
{
    const struct rbuf_arena *arena = &peer->core->send_arena;
    struct rbuf_extent extent;

    if (!rbuf_schedule_valid(&offer->schedule) || offer->bytes == 0 ||
        offer->slot >= RBUF_ACK_SLOTS || offer->arrival > RBUF_ARRIVAL_IMMEDIATE) {
        return false;
    }
    rbuf_schedule_measure_behind(&offer->schedule, offer->bytes, head_chunks, &extent);
    return extent.largest_blocks <= offer->stride_blocks &&
           rbuf_tx_chunk_blocks(arena, &offer->schedule, extent.largest_blocks) <=
               rbuf_arena_longest(arena);
}

/* Goes on behind what was written of the put's head. True if that was all of the put. */
static bool head_adopt(struct rbuf_put *put, const struct rbuf_head *head)
{
    put->head_chunks = head->chunks;
    put->next = head->next;
    return head->whole;
}

/* The offer took up a head that is not this put's: asks for one without. */
static void put_decline(struct rbuf_peer *peer, struct rbuf_put *put)
{
    peer->core->stats.heads_declined++;
    put->offer.head = 0;
    put->state = RBUF_PUT_UNGRANTED;
    TAILQ_INSERT_TAIL(&peer->ungranted, put, link);
    rbuf_channel_send_own(peer, RBUF_MESSAGE_DECLINE, &put->offer.id, sizeof(put->offer.id));
}

/* What was written of a head goes by the lane's schedule, and the rest by the offer's. */
static bool same_schedule(const struct rbuf_offer *offer, const struct rbuf_standing_out *out)
{
    return memcmp(&offer->schedule, &out->offer.schedule, sizeof(offer->schedule)) == 0;
}

/* Begins to stage; the offer is STAGED. */
static void put_stage(struct rbuf_peer *peer, struct rbuf_put *put)
{
    const struct rbuf_head *head = NULL;

    rbuf_standing_out_heard(peer, &put->offer);
    put->head_chunks = 0;
    if (put->offer.head != 0) {
        head = rbuf_standing_out_take(peer, put);
        if (head == NULL) {
            put_decline(peer, put);
            return;
        }
    } else {
        rbuf_standing_out_cancel(peer, put->source);
    }
    if (!offer_usable(peer, &put->offer, head != NULL ? head->chunks : 0) ||
        (head != NULL && !same_schedule(&put->offer, peer->standing_out))) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -EPROTO);
        return;
    }
    peer->core->stats.staged_puts++;
    put->state = RBUF_PUT_FILLING;
    put->filling = NULL;
    rbuf_schedule_first(&put->offer.schedule, put->offer.bytes, &put->next);
    if (head != NULL && head_adopt(put, head)) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, 0);
        return;
    }
    if (head == NULL) {
        rbuf_prestage_adopt(put);
    }
    rbuf_sender_begin(peer, put);
}

void rbuf_put_copied(struct rbuf_peer *peer, struct rbuf_put *put)
{
    put->peer = peer;
    put->filling = NULL;
    put->in_flight = 0;
    put->head_chunks = 0;
    if (peer->state == RBUF_PEER_FAILED) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -ECONNRESET);
        return;
    }
    rbuf_prestage_cancel(peer, put->source);
    put->offer.schedule = peer->core->options.schedule;
    peer->core->stats.copied_puts++;
    rbuf_schedule_first(&put->offer.schedule, put->offer.bytes, &put->next);
    put->state = RBUF_PUT_FILLING;
    rbuf_sender_begin(peer, put);
}

/* Goes on with a put whose offer is not deferred. */
static void put_granted(struct rbuf_peer *peer, struct rbuf_put *put)
{
    switch ((enum rbuf_offer_mode) put->offer.mode) {
    case RBUF_OFFER_STAGED:
        put_stage(peer, put);
        break;
    case RBUF_OFFER_DIRECT:
        rbuf_prestage_cancel(peer, put->source); /* nobody will ask for it */
        rbuf_sender_finish(put, RBUF_EVENT_DIRECT, 0);
        break;
    default:
        rbuf_prestage_cancel(peer, put->source);
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -EPROTO);
        break;
    }
}

/* Goes on with a deferred put for which `offer` came. */
static void put_answered(struct rbuf_peer *peer, struct rbuf_put *put,
                         const struct rbuf_offer *offer)
{
    if (offer->bytes != put->offer.bytes || offer->base != put->offer.base || offer->head != 0) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -EPROTO);
        return;
    }
    put->offer = *offer;
    put_granted(peer, put);
}

/* Goes on with the put if its GRANT came early. */
static bool early_take(struct rbuf_peer *peer, struct rbuf_put *put)
{
    struct rbuf_early_offer *early;

    SLIST_FOREACH(early, &peer->early, link)
    {
        if (early->offer.id == put->offer.id) {
            SLIST_REMOVE(&peer->early, early, rbuf_early_offer, link);
            peer->early_count--;
            put_answered(peer, put, &early->offer);
            free(early);
            return true;
        }
    }
    return false;
}

void rbuf_put_start(struct rbuf_peer *peer, struct rbuf_put *put)
{
    put->peer = peer;
    put->filling = NULL;
    if (peer->state == RBUF_PEER_FAILED) {
        rbuf_sender_finish(put, RBUF_EVENT_PUT, -ECONNRESET);
    } else if (put->offer.mode != RBUF_OFFER_DEFERRED) {
        put_granted(peer, put);
    } else if (!early_take(peer, put)) {
        put->state = RBUF_PUT_UNGRANTED;
        TAILQ_INSERT_TAIL(&peer->ungranted, put, link);
    }
}

void rbuf_put_granted(struct rbuf_peer *peer, const struct rbuf_offer *offer)
{
    struct rbuf_put *put;
    struct rbuf_early_offer *early;

    if (peer->state == RBUF_PEER_FAILED) {
        return; /* all that waited has ended */
    }
    TAILQ_FOREACH(put, &peer->ungranted, link)
    {
        if (put->offer.id == offer->id) {
            TAILQ_REMOVE(&peer->ungranted, put, link);
            put_answered(peer, put, offer);
            return;
        }
    }
    early = peer->early_count < EARLY_MAX ? malloc(sizeof(*early)) : NULL;
    if (early == NULL) {
        rbuf_peer_fail(peer, peer->early_count < EARLY_MAX ? -ENOMEM : -EPROTO);
        return;
    }
    early->offer = *offer;
    SLIST_INSERT_HEAD(&peer->early, early, link);
    peer->early_count++;
}

void rbuf_put_early_free(struct rbuf_peer *peer)
{
    struct rbuf_early_offer *early;

    while ((early = SLIST_FIRST(&peer->early)) != NULL) {
        SLIST_REMOVE_HEAD(&peer->early, link);
        free(early);
    }
    peer->early_count = 0;
}
