/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/sender.h"

#include <errno.h>
#include <stdlib.h>

#include "core/channel.h"
#include "core/copy.h"

/* A chunk in the send arena, from its first copied byte to its completion. */
struct rbuf_tx_chunk {
    struct rbuf_work work;
    struct rbuf_peer *peer;
    struct rbuf_chunk shape;
    uint32_t arena_first;
    uint32_t arena_blocks;
    uint32_t filled;        /* bytes of payload copied */
    uint32_t filled_blocks; /* blocks of payload copied */
    SLIST_ENTRY(rbuf_tx_chunk) link;
};

/* A GRANT may overtake the offer that it is for only among the events that are being dealt with: a
 * peer with more of them is not one that speaks our protocol. */
#define EARLY_MAX 4096u

/* A GRANT that came before btl_put() asked for it. */
struct rbuf_early_offer {
    SLIST_ENTRY(rbuf_early_offer) link;
    struct rbuf_offer offer;
};

static uint32_t arena_blocks_for(const struct rbuf_arena *arena,
                                 const struct rbuf_schedule *schedule, uint32_t blocks)
{
    uint64_t bytes = (uint64_t) blocks * schedule->block_bytes;

    return (uint32_t) ((bytes + arena->block_bytes - 1) / arena->block_bytes);
}

static void chunk_free(struct rbuf_core *core, struct rbuf_tx_chunk *chunk)
{
    rbuf_arena_give(&core->send_arena, chunk->arena_first, chunk->arena_blocks);
    SLIST_INSERT_HEAD(&core->chunks_free, chunk, link);
}

/* NULL when there is no staging (or no memory) for the shape now. */
static struct rbuf_tx_chunk *chunk_take(struct rbuf_peer *peer,
                                        const struct rbuf_schedule *schedule,
                                        const struct rbuf_chunk *shape)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_tx_chunk *chunk = SLIST_FIRST(&core->chunks_free);
    uint32_t blocks = arena_blocks_for(&core->send_arena, schedule, shape->blocks);
    uint32_t first;

    if (chunk == NULL) {
        chunk = malloc(sizeof(*chunk));
        if (chunk == NULL) {
            return NULL;
        }
        SLIST_INSERT_HEAD(&core->chunks_free, chunk, link);
    }
    if (!rbuf_arena_take(&core->send_arena, blocks, &first)) {
        return NULL;
    }
    SLIST_REMOVE_HEAD(&core->chunks_free, link);
    *chunk = (struct rbuf_tx_chunk){.work = {.kind = RBUF_WORK_CHUNK},
                                    .peer = peer,
                                    .shape = *shape,
                                    .arena_first = first,
                                    .arena_blocks = blocks};
    return chunk;
}

/* Copies payload into whole blocks, the flags left free, until the budget is used up. */
static void chunk_fill(struct rbuf_tx_chunk *chunk, const struct rbuf_schedule *schedule,
                       const unsigned char *source, uint64_t *budget)
{
    unsigned char *base = rbuf_arena_block(&chunk->peer->core->send_arena, chunk->arena_first);
    uint32_t payload = rbuf_block_payload(schedule);

    while (chunk->filled_blocks<chunk->shape.blocks && * budget> 0) {
        uint32_t bytes = chunk->filled_blocks == 0 ? chunk->shape.first_bytes : payload;
        unsigned char *block = base + (size_t) chunk->filled_blocks * schedule->block_bytes;

        rbuf_copy_soon(source + chunk->shape.offset + chunk->filled + 2 * payload);
        rbuf_copy(block + payload - bytes, source + chunk->shape.offset + chunk->filled, bytes);
        chunk->filled += bytes;
        chunk->filled_blocks++;
        *budget -= bytes < *budget ? bytes : *budget;
    }
}

/* Writes the flags into the blocks. They reach the receiver with the payload in front of them; the
 * post that follows orders these stores before the adapter's reads. */
static void chunk_stamp(struct rbuf_tx_chunk *chunk, const struct rbuf_schedule *schedule,
                        uint64_t flag)
{
    unsigned char *base = rbuf_arena_block(&chunk->peer->core->send_arena, chunk->arena_first);

    for (uint32_t i = 0; i < chunk->shape.blocks; i++) {
        unsigned char *end = base + (size_t) (i + 1) * schedule->block_bytes;

        *(uint64_t *) (void *) (end - RBUF_FLAG_BYTES) = flag + chunk->shape.first_block + i;
    }
}

static void prestage_drop(struct rbuf_peer *peer)
{
    if (peer->prestage.chunk != NULL) {
        TAILQ_REMOVE(&peer->core->prestaged, peer, prestage.link);
        chunk_free(peer->core, peer->prestage.chunk);
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

        chunk = chunk_take(put->peer, &put->offer.schedule, &put->next);
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
        prestage->chunk = chunk_take(peer, schedule, &shape);
    }
    if (prestage->chunk == NULL) {
        prestage->source = NULL;
        return;
    }
    TAILQ_INSERT_TAIL(&peer->core->prestaged, peer, prestage.link);
    whole = shape.bytes;
    chunk_fill(prestage->chunk, schedule, prestage->source, &whole);
    *budget -= shape.bytes < *budget ? shape.bytes : *budget;
}

/*
 * True if the buffer of chunk `next` is free at the receiver: the chunk that used it last is
 * acknowledged. The acquire pairs with the adapter placing the peer's count; it was written after
 * the copy out of the buffer.
 */
static bool window_open(const struct rbuf_put *put)
{
    const struct rbuf_offer *offer = &put->offer;
    uint64_t word;

    if (put->next.index < offer->schedule.buffers) {
        return true;
    }
    word = atomic_load_explicit(&put->peer->mailbox->ack[offer->slot], memory_order_acquire);
    return (int64_t) (word - offer->acks) > (int64_t) (put->next.index - offer->schedule.buffers);
}

static enum rbuf_fab_status chunk_write(struct rbuf_put *put)
{
    struct rbuf_tx_chunk *chunk = put->filling;
    const struct rbuf_offer *offer = &put->offer;
    const struct rbuf_schedule *schedule = &offer->schedule;
    struct rbuf_arena *arena = &put->peer->core->send_arena;
    struct rbuf_fab_queue *queue = put->peer->queue[RBUF_BULK];
    uint32_t lead = rbuf_chunk_lead(schedule, &chunk->shape);
    uint32_t bytes = rbuf_chunk_wire_bytes(schedule, &chunk->shape);
    uint64_t buffer = chunk->shape.index % schedule->buffers;
    uint64_t remote = offer->lane + buffer * offer->stride_blocks * schedule->block_bytes + lead;
    unsigned char *local = rbuf_arena_block(arena, chunk->arena_first) + lead;

    if (offer->arrival != RBUF_ARRIVAL_IMMEDIATE) {
        return rbuf_fab_write(queue, local, arena->lkey, bytes, remote, offer->rkey, &chunk->work);
    }
    if (!rbuf_fab_has_room(queue, true) || !rbuf_credit_available(put->peer, RBUF_FLOW_BULK)) {
        return RBUF_FAB_AGAIN;
    }
    put->peer->credit[RBUF_FLOW_BULK].sent++;
    return rbuf_fab_write_immediate(queue, local, arena->lkey, bytes, remote, offer->rkey,
                                    rbuf_immediate(offer->id), &chunk->work);
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
    chunk_stamp(put->filling, &put->offer.schedule, put->offer.flag);
    status = chunk_write(put);
    if (status == RBUF_FAB_DEAD) {
        rbuf_peer_fail(peer, -ECONNRESET);
    }
    if (status != RBUF_FAB_OK) {
        return false;
    }
    core->stats.staged_chunks++;
    core->stats.staged_bytes += put->filling->shape.bytes;
    put->filling = NULL;
    peer->in_flight++;
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

/* Copies and posts as far as it goes, into new staging only if `may_stage`. A put whose peer fails
 * here is finished by the failing. */
static enum put_progress put_advance(struct rbuf_put *put, bool may_stage, uint64_t *budget)
{
    const struct rbuf_schedule *schedule = &put->offer.schedule;

    for (;;) {
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
            chunk_fill(put->filling, schedule, put->source, budget);
            if (put->filling->filled_blocks < put->next.blocks) {
                return PUT_OUT_OF_BUDGET;
            }
            put->state = RBUF_PUT_FILLED;
        }
        if (!chunk_post(put)) {
            return PUT_BLOCKED;
        }
        if (!rbuf_schedule_next(schedule, put->offer.bytes, &put->next)) {
            return PUT_FINISHED;
        }
        put->state = RBUF_PUT_FILLING;
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
    prestage_fill(peer, budget);
    return done + (*budget < before);
}

bool rbuf_sender_idle(const struct rbuf_peer *peer)
{
    return TAILQ_EMPTY(&peer->puts) &&
           (peer->prestage.source == NULL || peer->prestage.chunk != NULL);
}

/* An offer from outside must be one that this side can walk, address and stage. */
static bool offer_usable(struct rbuf_peer *peer, const struct rbuf_offer *offer)
{
    const struct rbuf_arena *arena = &peer->core->send_arena;
    struct rbuf_extent extent;

    if (!rbuf_schedule_valid(&offer->schedule) || offer->bytes == 0 ||
        offer->slot >= RBUF_ACK_SLOTS || offer->arrival > RBUF_ARRIVAL_IMMEDIATE) {
        return false;
    }
    rbuf_schedule_measure(&offer->schedule, offer->bytes, &extent);
    return extent.largest_blocks <= offer->stride_blocks &&
           arena_blocks_for(arena, &offer->schedule, extent.largest_blocks) <= arena->blocks;
}

/* Begins to stage; the offer is STAGED. */
static void put_stage(struct rbuf_peer *peer, struct rbuf_put *put)
{
    uint64_t budget = peer->core->options.quantum;

    if (!offer_usable(peer, &put->offer)) {
        put_finish(put, RBUF_EVENT_PUT, -EPROTO);
        return;
    }
    peer->core->stats.staged_puts++;
    rbuf_schedule_first(&put->offer.schedule, put->offer.bytes, &put->next);
    put->state = RBUF_PUT_FILLING;
    put->filling = NULL;
    prestage_adopt(put);
    TAILQ_INSERT_TAIL(&peer->puts, put, link);
    rbuf_peer_wake(peer);
    if (peer->state == RBUF_PEER_CONNECTED && TAILQ_FIRST(&peer->puts) == put) {
        rbuf_sender_progress(peer, &budget);
    }
}

/* Goes on with a put whose offer is not deferred. */
static void put_granted(struct rbuf_peer *peer, struct rbuf_put *put)
{
    switch ((enum rbuf_offer_mode) put->offer.mode) {
    case RBUF_OFFER_STAGED:
        put_stage(peer, put);
        break;
    case RBUF_OFFER_DIRECT:
        if (peer->prestage.source == put->source) {
            prestage_drop(peer); /* nobody will ask for it */
        }
        put_finish(put, RBUF_EVENT_DIRECT, 0);
        break;
    default:
        put_finish(put, RBUF_EVENT_PUT, -EPROTO);
        break;
    }
}

/* Goes on with a deferred put for which `offer` came. */
static void put_answered(struct rbuf_peer *peer, struct rbuf_put *put,
                         const struct rbuf_offer *offer)
{
    if (offer->bytes != put->offer.bytes || offer->base != put->offer.base) {
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

struct rbuf_peer *rbuf_sender_chunk_completed(struct rbuf_core *core, struct rbuf_work *work)
{
    /* The work is the chunk's first member. */
    struct rbuf_tx_chunk *chunk = (struct rbuf_tx_chunk *) (void *) work;

    chunk_free(core, chunk);
    return chunk->peer;
}

static void fail_list(struct rbuf_core *core, struct rbuf_put_list *list, int status)
{
    struct rbuf_put *put;

    while ((put = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, put, link);
        if (put->filling != NULL) {
            chunk_free(core, put->filling);
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
