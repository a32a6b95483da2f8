/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The sending half of the superpipeline (core/rendezvous/sender.h): a put from EARLY or FILLING on.
 */
#include "core/rendezvous/sender.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cut.h"
#include "core/rendezvous/early.h"
#include "core/stage/tx_chunk.h"

/* Staging for the put's next chunk. */
static struct rbuf_tx_chunk *chunk_take_for(struct rbuf_put *put)
{
    struct rbuf_tx_chunk *chunk = rbuf_tx_chunk_take(put->peer, &put->offer.schedule, &put->next);

    put->peer->core->stats.staging_waits += chunk == NULL;
    return chunk;
}

static bool is_copied(const struct rbuf_put *put)
{
    return put->offer.mode == RBUF_OFFER_DIRECT;
}

/* True if chunk `next` may be under way. A copied put needs no buffer there, and has as many chunks
 * under way as there would be. */
static bool copied_window_open(const struct rbuf_put *put)
{
    const struct rbuf_peer *peer = put->peer;

    return put->in_flight < put->offer.schedule.buffers &&
           rbuf_tx_chunk_may_go(peer->core, peer->put_bytes, put->in_flight == 0, put->next.bytes);
}

/* True if the buffer of chunk `next` is free at the receiver: the chunk that used it last is
 * acknowledged.
 * The acquire pairs with the adapter placing the peer's count, which follows the copy out of it. */
static bool window_open(const struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    uint64_t behind;
    uint64_t word;

    if (is_copied(put)) {
        return copied_window_open(put);
    }
    if (put->next.index < offer->schedule.buffers) {
        return true;
    }
    behind = put->next.index - offer->schedule.buffers;
    word = atomic_load_explicit(&put->peer->mailbox->ack[offer->slot], memory_order_acquire);
    return (int64_t) (word - offer->acks) > (int64_t) behind;
}

/* Into the receiver's buffer itself. */
static enum rbuf_fab_status chunk_write_in_place(struct rbuf_put *put)
{
    struct rbuf_tx_chunk *chunk = put->filling;
    struct rbuf_arena *arena = &put->peer->core->send_arena;

    return rbuf_fab_write(put->peer->queue[RBUF_BULK], rbuf_arena_block(arena, chunk->arena_first),
                          rbuf_arena_lkey(arena, chunk->arena_first), chunk->shape.bytes,
                          put->offer.base + chunk->shape.offset, put->offer.rkey, &chunk->work);
}

/* Into the receiver's lane, flags and all. */
static enum rbuf_fab_status chunk_write(struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    const struct rbuf_schedule *schedule = &offer->schedule;
    uint64_t buffer = put->next.index % schedule->buffers;
    uint64_t first_block = offer->lane + buffer * offer->stride_blocks * schedule->block_bytes;

    rbuf_tx_chunk_stamp(put->filling, schedule, offer->flag);
    return offer->arrival == RBUF_ARRIVAL_IMMEDIATE
               ? rbuf_tx_chunk_write_announced(put->filling, schedule, first_block, offer->rkey,
                                               rbuf_immediate(offer->id))
               : rbuf_tx_chunk_write(put->filling, schedule, first_block, offer->rkey);
}

static void chunk_posted(struct rbuf_put *put)
{
    struct rbuf_peer *peer = put->peer;

    peer->core->stats.staged_chunks++;
    peer->core->stats.staged_bytes += put->filling->shape.bytes;
    if (is_copied(put)) {
        put->in_flight++;
        peer->put_bytes += put->filling->shape.bytes;
    }
    peer->in_flight++;
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
        status = chunk_write(put);
    }
    if (status == RBUF_FAB_DEAD) {
        rbuf_peer_break(peer, -ECONNRESET);
    }
    if (status != RBUF_FAB_OK) {
        return false;
    }
    chunk_posted(put);
    return true;
}

void rbuf_sender_finish(struct rbuf_put *put, enum rbuf_event_kind kind, int status)
{
    rbuf_put_become(put, RBUF_PUT_DONE);
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

static void fill(struct rbuf_put *put, uint64_t *budget)
{
    if (is_copied(put)) {
        rbuf_tx_chunk_fill_dense(put->filling, put->rest, budget);
    } else {
        rbuf_tx_chunk_fill(put->filling, &put->offer.schedule,
                           rbuf_arrival_proof((enum rbuf_arrival) put->offer.arrival),
                           put->offer.flag, put->rest, budget);
    }
}

/* False after the last. */
static bool next_chunk(struct rbuf_put *put)
{
    const struct rbuf_schedule *schedule = &put->offer.schedule;

    return is_copied(put) ? rbuf_cut_next(schedule, RBUF_CUT_PUT, put->rest_bytes, &put->next)
                          : rbuf_schedule_next(schedule, put->rest_bytes, &put->next);
}

enum put_progress { PUT_BLOCKED, PUT_OUT_OF_STAGING, PUT_OUT_OF_BUDGET, PUT_FINISHED };

/* All chunks of the put are posted. */
static enum put_progress put_posted(struct rbuf_put *put)
{
    if (!is_copied(put)) {
        return PUT_FINISHED;
    }
    rbuf_put_become(put, RBUF_PUT_LANDING);
    return PUT_BLOCKED;
}

/* Writes what is missing of the early data; true when nothing is. No more than is put: the receiver
 * frees their slot when it has that. */
static bool write_early(struct rbuf_put *put, uint64_t *budget)
{
    if (rbuf_put_early_missing(put) &&
        !rbuf_early_write(put->peer, put->early, put->offer.bytes, budget)) {
        return false;
    }
    rbuf_put_become(put, RBUF_PUT_FILLING);
    return true;
}

/* Copies and posts as far as it goes, into new staging only if `may_stage`. A put whose peer fails
 * here is finished by the failing. */
static enum put_progress put_advance(struct rbuf_put *put, bool may_stage, uint64_t *budget)
{
    if (put->state == RBUF_PUT_EARLY && (!may_stage || !write_early(put, budget))) {
        return *budget == 0 ? PUT_OUT_OF_BUDGET : PUT_OUT_OF_STAGING;
    }
    if (put->rest_bytes == 0) {
        return PUT_FINISHED;
    }
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
            fill(put, budget);
            if (put->filling->filled < put->next.bytes) {
                return PUT_OUT_OF_BUDGET;
            }
            rbuf_put_become(put, RBUF_PUT_FILLED);
        }
        if (!chunk_post(put)) {
            return PUT_BLOCKED;
        }
        if (!next_chunk(put)) {
            return put_posted(put);
        }
        rbuf_put_become(put, RBUF_PUT_FILLING);
    }
    return PUT_BLOCKED;
}

/* A put is over: if it was a copied one, that which waits the longest has its place. */
static void leave(struct rbuf_peer *peer, struct rbuf_put *put)
{
    struct rbuf_put *next = TAILQ_FIRST(&peer->puts_waiting);

    TAILQ_REMOVE(&peer->puts, put, link);
    if (!is_copied(put)) {
        return;
    }
    peer->puts_begun--;
    if (next != NULL) {
        TAILQ_REMOVE(&peer->puts_waiting, next, link);
        TAILQ_INSERT_TAIL(&peer->puts, next, link);
        peer->puts_begun++;
    }
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

        if (rbuf_peer_is_lost(peer)) {
            return done + 1; /* core ends every put of it */
        }
        next = TAILQ_NEXT(put, link);
        if (progress == PUT_FINISHED) {
            leave(peer, put);
            rbuf_sender_finish(put, RBUF_EVENT_PUT, 0);
            done++;
        } else if (progress == PUT_OUT_OF_STAGING) {
            /* Those behind take none ahead of it, but must post what they hold: it may be what this
             * one waits for. */
            may_stage = false;
        } else if (progress == PUT_OUT_OF_BUDGET) {
            break;
        }
    }
    done += rbuf_early_out_progress(peer, budget);
    return done + (*budget < before);
}

bool rbuf_sender_idle(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->puts) && rbuf_early_out_idle(peer);
}

void rbuf_sender_begin(struct rbuf_peer *peer, struct rbuf_put *put)
{
    uint64_t budget = peer->core->options.quantum;

    if (is_copied(put) && peer->puts_begun == RBUF_COPIED_AT_ONCE) {
        TAILQ_INSERT_TAIL(&peer->puts_waiting, put, link);
        return;
    }
    peer->puts_begun += is_copied(put);
    TAILQ_INSERT_TAIL(&peer->puts, put, link);
    rbuf_peer_wake(peer);
    if (peer->state == RBUF_PEER_CONNECTED && TAILQ_FIRST(&peer->puts) == put) {
        rbuf_sender_progress(peer, &budget);
    }
}

struct rbuf_peer *rbuf_sender_chunk_completed(struct rbuf_core *core, struct rbuf_work *work,
                                              int status)
{
    /* The work is the chunk's first member. */
    struct rbuf_tx_chunk *chunk = (struct rbuf_tx_chunk *) (void *) work;
    struct rbuf_peer *peer = chunk->peer;
    struct rbuf_put *put = chunk->put;

    if (chunk->early != NULL) {
        rbuf_early_out_completed(peer, chunk->early);
    }
    peer->put_bytes -= put != NULL ? chunk->shape.bytes : 0;
    rbuf_tx_chunk_free(core, chunk);
    /* The puts of a peer that has failed, or is about to, are its failing's. */
    if (put != NULL && status == 0 && !rbuf_peer_is_lost(peer) && --put->in_flight == 0 &&
        put->state == RBUF_PUT_LANDING) {
        leave(peer, put);
        rbuf_sender_finish(put, RBUF_EVENT_PUT, 0);
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
        rbuf_sender_finish(put, RBUF_EVENT_PUT, status);
    }
}

void rbuf_sender_fail(struct rbuf_peer *peer, int status)
{
    fail_list(peer->core, &peer->puts, status);
    peer->puts_begun = 0;
    fail_list(peer->core, &peer->puts_waiting, status);
    fail_list(peer->core, &peer->ungranted, status);
    rbuf_put_unexpected_free(peer);
}

void rbuf_sender_close(struct rbuf_core *core)
{
    struct rbuf_tx_chunk *chunk;

    while ((chunk = STAILQ_FIRST(&core->chunks_free)) != NULL) {
        STAILQ_REMOVE_HEAD(&core->chunks_free, link);
        free(chunk);
    }
}
