/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/tx_chunk.h"

/* A GRANT may overtake the offer that it is for only among the events that are being dealt with: a
 * peer with more of them is not one that speaks our protocol. */
#define EARLY_MAX 4096u

/* A GRANT that came before btl_put() asked for it. */
struct rbuf_early_offer {
    SLIST_ENTRY(rbuf_early_offer) link;
    struct rbuf_offer offer;
};

static void prestage_drop(struct rbuf_peer *peer)
{
    if (peer->prestage.chunk != NULL) {
        TAILQ_REMOVE(&peer->core->prestaged, peer, prestage.link);
        rbuf_tx_chunk_free(peer->core, peer->prestage.chunk);
        peer->core->stats.prestaged_dropped++;
    }
    peer->prestage.chunk = NULL;
    peer->prestage.source = NULL;
}

/* Staging for the put's next chunk, at the cost of chunks that were prestaged on a guess. */
static struct rbuf_tx_chunk *chunk_take_for(struct rbuf_put *put)
{
    struct rbuf_core *core = put->peer->core;
    struct rbuf_tx_chunk *chunk;

    for (;;) {
        struct rbuf_peer *victim = TAILQ_FIRST(&core->prestaged);

        chunk = rbuf_tx_chunk_take(put->peer, &put->offer.schedule, &put->next);
        if (chunk != NULL || victim == NULL) {
            break;
        }
        prestage_drop(victim);
    }
    core->stats.staging_waits += chunk == NULL;
    return chunk;
}

/* Takes over the prestaged chunk if it is the put's first one, byte for byte. */
static void prestage_adopt(struct rbuf_put *put)
{
    struct rbuf_peer *peer = put->peer;
    struct rbuf_tx_chunk *chunk = peer->prestage.chunk;

    if (peer->prestage.source != put->source) {
        return;
    }
    if (chunk != NULL && chunk->shape.bytes == put->next.bytes &&
        chunk->shape.blocks == put->next.blocks &&
        chunk->shape.first_bytes == put->next.first_bytes &&
        put->offer.schedule.block_bytes == peer->core->options.schedule.block_bytes) {
        TAILQ_REMOVE(&peer->core->prestaged, peer, prestage.link);
        chunk->shape = put->next;
        put->filling = chunk;
        peer->prestage.chunk = NULL;
        peer->core->stats.prestaged++;
    }
    prestage_drop(peer);
}

void rbuf_prestage_cancel(struct rbuf_peer *peer, const void *source)
{
    if (peer->prestage.source == source) {
        prestage_drop(peer);
    }
    rbuf_standing_out_cancel(peer, source);
}

void rbuf_prestage(struct rbuf_peer *peer, const void *source, uint64_t length)
{
    prestage_drop(peer);
    if (length > 0 && peer->state == RBUF_PEER_CONNECTED) {
        peer->prestage.source = source;
        peer->prestage.length = length;
        rbuf_peer_wake(peer);
    }
}

/*
 * Copies the wished first chunk, as a whole, or gives the wish up: now or never. Core has delivered
 * nothing since the wish was made, so its message is under way and its memory there. Later it need
 * not be: a message may end without a put (in pieces, truncated, written in place).
 */
static void prestage_fill(struct rbuf_peer *peer, uint64_t *budget)
{
    struct rbuf_prestage *prestage = &peer->prestage;
    const struct rbuf_schedule *schedule = &peer->core->options.schedule;
    struct rbuf_chunk shape;
    uint64_t whole;

    if (prestage->source == NULL || prestage->chunk != NULL) {
        return;
    }
    rbuf_schedule_first(schedule, prestage->length, &shape);
    if (TAILQ_EMPTY(&peer->puts) && *budget > 0) { /* a guess does not go ahead of what is sure */
        prestage->chunk = rbuf_tx_chunk_take(peer, schedule, &shape);
    }
    if (prestage->chunk == NULL) {
        prestage->source = NULL;
        return;
    }
    TAILQ_INSERT_TAIL(&peer->core->prestaged, peer, prestage.link);
    whole = shape.bytes;
    rbuf_tx_chunk_fill(prestage->chunk, schedule, RBUF_CHUNK_BLOCKS, prestage->source, &whole);
    *budget -= shape.bytes < *budget ? shape.bytes : *budget;
}

static bool is_copied(const struct rbuf_put *put)
{
    return put->offer.mode == RBUF_OFFER_DIRECT;
}

/*
 * True if the buffer of chunk `next` is free at the receiver: the chunk that used it last is
 * acknowledged. A copied put needs none there, and has as many chunks under way as there would be.
 * The acquire pairs with the adapter placing the peer's count; it was written after
 * the copy out of the buffer.
 */
static bool window_open(const struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    uint64_t behind;
    uint64_t word;

    if (is_copied(put)) {
        return put->in_flight < offer->schedule.buffers;
    }
    if (put->next.index < put->head_chunks + offer->schedule.buffers) {
        return true;
    }
    behind = put->next.index - put->head_chunks - offer->schedule.buffers;
    word = atomic_load_explicit(&put->peer->mailbox->ack[offer->slot], memory_order_acquire);
    return (int64_t) (word - offer->acks) > (int64_t) behind;
}

/* Into the receiver's buffer itself. */
static enum rbuf_fab_status chunk_write_in_place(struct rbuf_put *put)
{
    struct rbuf_tx_chunk *chunk = put->filling;
    struct rbuf_arena *arena = &put->peer->core->send_arena;

    return rbuf_fab_write(put->peer->queue[RBUF_BULK], rbuf_arena_block(arena, chunk->arena_first),
                          arena->lkey, chunk->shape.bytes, put->offer.base + chunk->shape.offset,
                          put->offer.rkey, &chunk->work);
}

/* Into the receiver's lane, announced by an immediate. */
static enum rbuf_fab_status chunk_write_announced(struct rbuf_put *put, uint64_t first_block)
{
    struct rbuf_tx_chunk *chunk = put->filling;
    const struct rbuf_schedule *schedule = &put->offer.schedule;
    struct rbuf_arena *arena = &put->peer->core->send_arena;
    struct rbuf_fab_queue *queue = put->peer->queue[RBUF_BULK];
    uint32_t lead = rbuf_chunk_lead(schedule, &chunk->shape);

    if (!rbuf_fab_has_room(queue, true) || !rbuf_credit_available(put->peer, RBUF_FLOW_BULK)) {
        return RBUF_FAB_AGAIN;
    }
    put->peer->credit[RBUF_FLOW_BULK].sent++;
    return rbuf_fab_write_immediate(queue, rbuf_arena_block(arena, chunk->arena_first) + lead,
                                    arena->lkey, rbuf_chunk_wire_bytes(schedule, &chunk->shape),
                                    first_block + lead, put->offer.rkey,
                                    rbuf_immediate(put->offer.id), &chunk->work);
}

/* Into the receiver's lane, flags and all. */
static enum rbuf_fab_status chunk_write(struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    const struct rbuf_schedule *schedule = &offer->schedule;
    uint64_t buffer = (put->next.index - put->head_chunks) % schedule->buffers;
    uint64_t first_block = offer->lane + buffer * offer->stride_blocks * schedule->block_bytes;

    rbuf_tx_chunk_stamp(put->filling, schedule, offer->flag);
    return offer->arrival == RBUF_ARRIVAL_IMMEDIATE
               ? chunk_write_announced(put, first_block)
               : rbuf_tx_chunk_write(put->filling, schedule, first_block, offer->rkey);
}

/* Into the place that holds the message's head. */
static enum rbuf_fab_status chunk_write_head(struct rbuf_put *put)
{
    const struct rbuf_schedule *schedule = &put->offer.schedule;

    rbuf_tx_chunk_stamp(put->filling, schedule, put->head_flag);
    return rbuf_tx_chunk_write(put->filling, schedule,
                               put->head_address + put->next.first_block * schedule->block_bytes,
                               put->peer->standing_out->offer.rkey);
}

static void chunk_posted(struct rbuf_put *put)
{
    struct rbuf_peer *peer = put->peer;

    if (put->next.index < put->head_chunks) {
        rbuf_standing_out_posted(peer, put->filling);
    } else {
        peer->core->stats.staged_chunks++;
        peer->core->stats.staged_bytes += put->filling->shape.bytes;
        put->in_flight += is_copied(put);
        peer->in_flight++;
    }
    put->filling = NULL;
}

/* Posts the filled chunk if it may go; true if it went. */
static bool chunk_post(struct rbuf_put *put)
{
    struct rbuf_peer *peer = put->peer;
    struct rbuf_core *core = peer->core;
    enum rbuf_fab_status status;

    if (!window_open(put)) {
        core->stats.window_waits++;
        return false;
    }
    if (is_copied(put)) {
        put->filling->put = put;
        status = chunk_write_in_place(put);
    } else {
        status = put->next.index < put->head_chunks ? chunk_write_head(put) : chunk_write(put);
    }
    if (status == RBUF_FAB_DEAD) {
        rbuf_peer_fail(peer, -ECONNRESET);
    }
    if (status != RBUF_FAB_OK) {
        return false;
    }
    chunk_posted(put);
    return true;
}

static void put_finish(struct rbuf_put *put, enum rbuf_event_kind kind, int status)
{
    put->state = RBUF_PUT_DONE;
    rbuf_core_raise(put->peer->core, kind, put->peer, put, status);
}

/*
 * True if the put may take staging for its next chunk now. A chunk whose window is open leaves by
 * itself; one that would wait for the peer's software is staged ahead only while half of the arena
 * is free, so that peers that compute cannot keep the arena from the others.
 */
static bool may_stage_ahead(const struct rbuf_put *put)
{
    const struct rbuf_arena *arena = &put->peer->core->send_arena;

    return arena->free_blocks >= arena->blocks / 2 || window_open(put);
}

enum put_progress { PUT_BLOCKED, PUT_OUT_OF_STAGING, PUT_OUT_OF_BUDGET, PUT_FINISHED };

/* All chunks of the put are posted. */
static enum put_progress put_posted(struct rbuf_put *put)
{
    if (!is_copied(put)) {
        return PUT_FINISHED;
    }
    put->state = RBUF_PUT_LANDING;
    return PUT_BLOCKED;
}

/* Copies and posts as far as it goes, into new staging only if `may_stage`. A put whose peer fails
 * here is finished by the failing. */
static enum put_progress put_advance(struct rbuf_put *put, bool may_stage, uint64_t *budget)
{
    const struct rbuf_schedule *schedule = &put->offer.schedule;
    const enum rbuf_chunk_layout layout = is_copied(put) ? RBUF_CHUNK_DENSE : RBUF_CHUNK_BLOCKS;

    while (put->state != RBUF_PUT_LANDING) {
        if (put->state == RBUF_PUT_FILLING) {
            if (put->filling == NULL && !may_stage_ahead(put)) {
                return PUT_BLOCKED;
            }
            if (put->filling == NULL && may_stage) {
                put->filling = chunk_take_for(put);
            }
            if (put->filling == NULL) {
                return PUT_OUT_OF_STAGING;
            }
            rbuf_tx_chunk_fill(put->filling, schedule, layout, put->source, budget);
            if (put->filling->filled_blocks < put->next.blocks) {
                return PUT_OUT_OF_BUDGET;
            }
            put->state = RBUF_PUT_FILLED;
        }
        if (!chunk_post(put)) {
            return PUT_BLOCKED;
        }
        if (!rbuf_schedule_next(schedule, put->offer.bytes, &put->next)) {
            return put_posted(put);
        }
        put->state = RBUF_PUT_FILLING;
    }
    return PUT_BLOCKED;
}

int rbuf_sender_progress(struct rbuf_peer *peer, uint64_t *budget)
{
    struct rbuf_put *put = TAILQ_FIRST(&peer->puts);
    struct rbuf_put *next;
    uint64_t before = *budget;
    bool may_stage = true;
    int done = 0;

    for (; put != NULL && *budget > 0; put = next) {
        enum put_progress progress = put_advance(put, may_stage, budget);

        if (peer->state == RBUF_PEER_FAILED) {
            return done + 1; /* every put was finished with an error */
        }
        next = TAILQ_NEXT(put, link);
        if (progress == PUT_FINISHED) {
            TAILQ_REMOVE(&peer->puts, put, link);
            put_finish(put, RBUF_EVENT_PUT, 0);
            done++;
        } else if (progress == PUT_OUT_OF_STAGING) {
            /* Those behind take none ahead of it, but must post what they hold: it may be what this
             * one waits for. */
            may_stage = false;
        } else if (progress == PUT_OUT_OF_BUDGET) {
            break;
        }
    }
    done += rbuf_standing_out_progress(peer, budget);
    prestage_fill(peer, budget);
    return done + (*budget < before);
}

bool rbuf_sender_idle(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->puts) &&
           (peer->standing_out == NULL || peer->standing_out->announced == 0) &&
           (peer->prestage.source == NULL || peer->prestage.chunk != NULL);
}

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
           rbuf_tx_chunk_blocks(arena, &offer->schedule, extent.largest_blocks) <= arena->blocks;
}

/* Queues a put that is to be copied, and copies what may be copied at once. */
static void put_begin(struct rbuf_peer *peer, struct rbuf_put *put)
{
    uint64_t budget = peer->core->options.quantum;

    TAILQ_INSERT_TAIL(&peer->puts, put, link);
    rbuf_peer_wake(peer);
    if (peer->state == RBUF_PEER_CONNECTED && TAILQ_FIRST(&peer->puts) == put) {
        rbuf_sender_progress(peer, &budget);
    }
}

/* Goes on behind what was written of the put's head. True if that was all of the put. */
static bool head_adopt(struct rbuf_put *put, const struct rbuf_head *head)
{
    const struct rbuf_standing_out *out = put->peer->standing_out;

    put->head_chunks = head->chunks;
    put->head_address = rbuf_head_address(out, head->use);
    put->head_flag = rbuf_head_flag(out, head->use);
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
        put_finish(put, RBUF_EVENT_PUT, -EPROTO);
        return;
    }
    peer->core->stats.staged_puts++;
    put->state = RBUF_PUT_FILLING;
    put->filling = NULL;
    rbuf_schedule_first(&put->offer.schedule, put->offer.bytes, &put->next);
    if (head != NULL && head_adopt(put, head)) {
        put_finish(put, RBUF_EVENT_PUT, 0);
        return;
    }
    if (head == NULL) {
        prestage_adopt(put);
    }
    put_begin(peer, put);
}

void rbuf_put_copied(struct rbuf_peer *peer, struct rbuf_put *put)
{
    put->peer = peer;
    put->filling = NULL;
    put->in_flight = 0;
    put->head_chunks = 0;
    if (peer->state == RBUF_PEER_FAILED) {
        put_finish(put, RBUF_EVENT_PUT, -ECONNRESET);
        return;
    }
    rbuf_prestage_cancel(peer, put->source);
    put->offer.schedule = peer->core->options.schedule;
    peer->core->stats.copied_puts++;
    rbuf_schedule_first(&put->offer.schedule, put->offer.bytes, &put->next);
    put->state = RBUF_PUT_FILLING;
    put_begin(peer, put);
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
        put_finish(put, RBUF_EVENT_DIRECT, 0);
        break;
    default:
        rbuf_prestage_cancel(peer, put->source);
        put_finish(put, RBUF_EVENT_PUT, -EPROTO);
        break;
    }
}

/* Goes on with a deferred put for which `offer` came. */
static void put_answered(struct rbuf_peer *peer, struct rbuf_put *put,
                         const struct rbuf_offer *offer)
{
    if (offer->bytes != put->offer.bytes || offer->base != put->offer.base || offer->head != 0) {
        put_finish(put, RBUF_EVENT_PUT, -EPROTO);
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
        put_finish(put, RBUF_EVENT_PUT, -ECONNRESET);
    } else if (put->offer.mode != RBUF_OFFER_DEFERRED) {
        put_granted(peer, put);
    } else if (!early_take(peer, put)) {
        put->state = RBUF_PUT_UNGRANTED;
        TAILQ_INSERT_TAIL(&peer->ungranted, put, link);
    }
}

void rbuf_sender_granted(struct rbuf_peer *peer, const struct rbuf_offer *offer)
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

struct rbuf_peer *rbuf_sender_chunk_completed(struct rbuf_core *core, struct rbuf_work *work,
                                              int status)
{
    /* The work is the chunk's first member. */
    struct rbuf_tx_chunk *chunk = (struct rbuf_tx_chunk *) (void *) work;
    struct rbuf_peer *peer = chunk->peer;
    struct rbuf_put *put = chunk->put;

    if (chunk->of_head) {
        rbuf_standing_out_completed(peer);
    }
    rbuf_tx_chunk_free(core, chunk);
    /* The puts of a peer that has failed, or is about to, are its failing's. */
    if (put != NULL && status == 0 && peer->state != RBUF_PEER_FAILED && --put->in_flight == 0 &&
        put->state == RBUF_PUT_LANDING) {
        TAILQ_REMOVE(&peer->puts, put, link);
        put_finish(put, RBUF_EVENT_PUT, 0);
    }
    return peer;
}

static void fail_list(struct rbuf_core *core, struct rbuf_put_list *list, int status)
{
    struct rbuf_put *put;

    while ((put = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, put, link);
        if (put->filling != NULL) {
            rbuf_tx_chunk_free(core, put->filling);
            put->filling = NULL;
        }
        put_finish(put, RBUF_EVENT_PUT, status);
    }
}

void rbuf_sender_fail(struct rbuf_peer *peer, int status)
{
    struct rbuf_early_offer *early;

    prestage_drop(peer);
    fail_list(peer->core, &peer->puts, status);
    fail_list(peer->core, &peer->ungranted, status);
    while ((early = SLIST_FIRST(&peer->early)) != NULL) {
        SLIST_REMOVE_HEAD(&peer->early, link);
        free(early);
    }
    peer->early_count = 0;
}

void rbuf_sender_close(struct rbuf_core *core)
{
    struct rbuf_tx_chunk *chunk;

    while ((chunk = SLIST_FIRST(&core->chunks_free)) != NULL) {
        SLIST_REMOVE_HEAD(&core->chunks_free, link);
        free(chunk);
    }
}
