/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/standing.h"

#include <errno.h>
#include <stdlib.h>

#include "core/channel.h"
#include "core/sender.h"
#include "core/tx_chunk.h"

static struct rbuf_head *head_of(struct rbuf_standing_out *out, uint64_t use)
{
    return &out->heads[use % RBUF_STANDING_PLACES];
}

/* The head is not to be written any more; it ends where it is. */
static void head_settle(struct rbuf_standing_out *out, struct rbuf_head *head)
{
    if (head->state == RBUF_HEAD_ANNOUNCED) {
        head->state = RBUF_HEAD_WRITTEN;
        out->announced--;
    }
}

static void settle_all(struct rbuf_standing_out *out)
{
    for (unsigned i = 0; i < RBUF_STANDING_PLACES; i++) {
        head_settle(out, &out->heads[i]);
    }
}

static bool overlap(const struct rbuf_head *head, uintptr_t source, uint64_t length)
{
    uintptr_t own = (uintptr_t) head->source;

    return source < own + head->bytes && own < source + length;
}

void rbuf_standing_out_rendezvous(struct rbuf_peer *peer, const void *source, uint64_t length)
{
    struct rbuf_standing_out *out = peer->standing_out;

    for (unsigned i = 0; out != NULL && i < RBUF_STANDING_PLACES; i++) {
        struct rbuf_head *head = &out->heads[i];

        head->doubtful = head->doubtful || overlap(head, (uintptr_t) source, length);
    }
}

static bool offer_usable(const struct rbuf_peer *peer, const struct rbuf_standing_offer *offer)
{
    const struct rbuf_arena *arena = &peer->core->send_arena;

    return rbuf_schedule_valid(&offer->schedule) &&
           offer->place_blocks >= offer->schedule.first_blocks &&
           rbuf_tx_chunk_blocks(arena, &offer->schedule, offer->schedule.buffer_blocks) <=
               rbuf_arena_longest(arena);
}

void rbuf_standing_out_lent(struct rbuf_peer *peer, const struct rbuf_standing_offer *offer)
{
    struct rbuf_standing_out *out = peer->standing_out;

    if (peer->state == RBUF_PEER_FAILED) {
        return;
    }
    if (!offer_usable(peer, offer) || (out != NULL && out->state != RBUF_STANDING_RETURNED)) {
        peer->core->stats.messages_refused++;
        return;
    }
    if (out == NULL) {
        out = calloc(1, sizeof(*out));
        if (out == NULL) {
            rbuf_peer_fail(peer, -ENOMEM);
            return;
        }
        peer->standing_out = out;
    }
    *out = (struct rbuf_standing_out){.offer = *offer,
                                      .begun = offer->first,
                                      .allowed = offer->first + RBUF_STANDING_PLACES,
                                      .in_flight = out->in_flight};
}

/* Says BACK when every chunk of a head that may not have been taken up is known to be there. */
static void hand_back(struct rbuf_peer *peer)
{
    struct rbuf_standing_out *out = peer->standing_out;

    if (out->state == RBUF_STANDING_RETURNING && out->in_flight == 0) {
        out->state = RBUF_STANDING_RETURNED;
        rbuf_channel_send_own(peer, RBUF_MESSAGE_STANDING_BACK, NULL, 0);
    }
}

void rbuf_standing_out_recalled(struct rbuf_peer *peer)
{
    struct rbuf_standing_out *out = peer->standing_out;

    if (peer->state == RBUF_PEER_FAILED) {
        return;
    }
    if (out == NULL || out->state != RBUF_STANDING_OPEN) {
        peer->core->stats.messages_refused++;
        return;
    }
    settle_all(out);
    out->state = RBUF_STANDING_RETURNING;
    hand_back(peer);
}

/* True if nothing that was written to the place of `use` can still be on its way, or if it would
 * come before what is written now. */
static bool place_is_quiet(struct rbuf_standing_out *out, uint64_t use)
{
    return out->offer.immediate == 0 || out->in_flight == 0 ||
           head_of(out, use)->state == RBUF_HEAD_NONE;
}

bool rbuf_standing_out_lead(struct rbuf_peer *peer, uint64_t *bytes)
{
    struct rbuf_standing_out *out = peer->standing_out;
    struct rbuf_prestage *wish = &peer->prestage;
    struct rbuf_head *head;
    uint64_t chunks;

    if (out == NULL || out->state != RBUF_STANDING_OPEN || out->begun == out->allowed ||
        wish->source == NULL || wish->chunk != NULL || !place_is_quiet(out, out->begun + 1)) {
        return false;
    }
    chunks = rbuf_schedule_head(&out->offer.schedule, wish->length, out->offer.place_blocks);
    if (chunks == 0) {
        return false;
    }
    out->begun++;
    head = head_of(out, out->begun);
    head_settle(out, head);
    *head = (struct rbuf_head){.state = RBUF_HEAD_ANNOUNCED,
                               .use = out->begun,
                               .source = wish->source,
                               .bytes = wish->length,
                               .chunks = chunks};
    rbuf_schedule_first(&out->offer.schedule, head->bytes, &head->next);
    out->announced++;
    *bytes = head->bytes;
    wish->source = NULL;
    peer->core->stats.heads_led++;
    rbuf_peer_wake(peer);
    return true;
}

/* True if a chunk of a head may be posted, as far as announcing goes: there is room, and half of
 * the credits are left to what is no guess. */
static bool may_announce(struct rbuf_peer *peer)
{
    const struct rbuf_credit *credit = &peer->credit[RBUF_FLOW_BULK];
    const uint32_t kept = credit->window / 2;

    return peer->standing_out->offer.immediate == 0 ||
           (rbuf_fab_has_room(peer->queue[RBUF_BULK], true) &&
            (rbuf_credit_left(credit) > kept ||
             (rbuf_credit_look(peer, RBUF_FLOW_BULK) && rbuf_credit_left(credit) > kept)));
}

/* Copies the head's next chunk and posts it; false if it cannot be now. */
static bool write_chunk(struct rbuf_peer *peer, struct rbuf_head *head, uint64_t *budget)
{
    struct rbuf_standing_out *out = peer->standing_out;
    const struct rbuf_schedule *schedule = &out->offer.schedule;
    struct rbuf_tx_chunk *chunk = NULL;
    uint64_t whole = head->next.bytes;
    enum rbuf_fab_status status;

    if (may_announce(peer)) {
        chunk = rbuf_tx_chunk_take(peer, schedule, &head->next);
    }
    if (chunk == NULL) {
        return false;
    }
    rbuf_tx_chunk_fill(chunk, schedule, RBUF_CHUNK_BLOCKS, head->source, &whole);
    *budget -= head->next.bytes < *budget ? head->next.bytes : *budget;
    status = rbuf_standing_out_write(peer, chunk, schedule, head->use);
    if (status == RBUF_FAB_OK) {
        rbuf_standing_out_posted(peer, chunk);
        return true;
    }
    rbuf_tx_chunk_free(peer->core, chunk);
    if (status == RBUF_FAB_DEAD) {
        rbuf_peer_fail(peer, -ECONNRESET);
    }
    return false;
}

static void next_chunk(const struct rbuf_standing_out *out, struct rbuf_head *head)
{
    head->whole = !rbuf_schedule_next(&out->offer.schedule, head->bytes, &head->next);
}

void rbuf_standing_out_open(struct rbuf_peer *peer)
{
    struct rbuf_standing_out *out = peer->standing_out;
    struct rbuf_head *head = head_of(out, out->begun);
    uint64_t budget = peer->core->options.quantum;

    if (out->announced == 1 && head->state == RBUF_HEAD_ANNOUNCED && TAILQ_EMPTY(&peer->puts) &&
        peer->state == RBUF_PEER_CONNECTED && write_chunk(peer, head, &budget)) {
        next_chunk(out, head);
    }
}

static void write_head(struct rbuf_peer *peer, struct rbuf_head *head, uint64_t *budget)
{
    while (!head->whole && head->next.index < head->chunks && write_chunk(peer, head, budget)) {
        next_chunk(peer->standing_out, head);
    }
}

int rbuf_standing_out_progress(struct rbuf_peer *peer, uint64_t *budget)
{
    struct rbuf_standing_out *out = peer->standing_out;
    int done = 0;

    if (out == NULL || out->announced == 0) {
        return 0;
    }
    for (uint64_t i = RBUF_STANDING_PLACES; i-- > 0 && peer->state == RBUF_PEER_CONNECTED;) {
        struct rbuf_head *head = head_of(out, out->begun - i);

        if (head->state != RBUF_HEAD_ANNOUNCED) {
            continue;
        }
        head_settle(out, head);
        if (TAILQ_EMPTY(&peer->puts) && *budget > 0) { /* a guess does not go ahead */
            write_head(peer, head, budget);
            done++;
        }
    }
    return done;
}

void rbuf_standing_out_heard(struct rbuf_peer *peer, const struct rbuf_offer *offer)
{
    struct rbuf_standing_out *out = peer->standing_out;

    if (out != NULL && out->state == RBUF_STANDING_OPEN && offer->uses > out->allowed &&
        offer->uses <= out->begun + RBUF_STANDING_PLACES) {
        out->allowed = offer->uses;
    }
}

const struct rbuf_head *rbuf_standing_out_take(struct rbuf_peer *peer, const struct rbuf_put *put)
{
    struct rbuf_standing_out *out = peer->standing_out;
    struct rbuf_head *head = out != NULL ? head_of(out, put->offer.head) : NULL;

    if (head == NULL || head->state == RBUF_HEAD_NONE || head->use != put->offer.head ||
        head->source != put->source || head->bytes != put->offer.bytes ||
        (head->doubtful && put->offer.kept != 0)) {
        return NULL;
    }
    head_settle(out, head);
    head->state = RBUF_HEAD_NONE;
    return head;
}

void rbuf_standing_out_cancel(struct rbuf_peer *peer, const void *source)
{
    struct rbuf_standing_out *out = peer->standing_out;

    for (unsigned i = 0; out != NULL && out->announced > 0 && i < RBUF_STANDING_PLACES; i++) {
        if (out->heads[i].source == source) {
            head_settle(out, &out->heads[i]);
        }
    }
}

enum rbuf_fab_status rbuf_standing_out_write(struct rbuf_peer *peer, struct rbuf_tx_chunk *chunk,
                                             const struct rbuf_schedule *schedule, uint64_t use)
{
    const struct rbuf_standing_offer *offer = &peer->standing_out->offer;
    uint64_t place = use % RBUF_STANDING_PLACES * offer->place_blocks;
    uint64_t first_block = offer->base + (place + chunk->shape.first_block) * schedule->block_bytes;

    rbuf_tx_chunk_stamp(chunk, schedule, offer->flag + (use - offer->first) * offer->place_blocks);
    return offer->immediate != 0
               ? rbuf_tx_chunk_write_announced(chunk, schedule, first_block, offer->rkey,
                                               rbuf_immediate_of_use(offer->immediate, use))
               : rbuf_tx_chunk_write(chunk, schedule, first_block, offer->rkey);
}

void rbuf_standing_out_posted(struct rbuf_peer *peer, struct rbuf_tx_chunk *chunk)
{
    chunk->of_head = true;
    peer->standing_out->in_flight++;
    peer->in_flight++;
    peer->core->stats.staged_chunks++;
    peer->core->stats.staged_bytes += chunk->shape.bytes;
}

void rbuf_standing_out_completed(struct rbuf_peer *peer)
{
    peer->standing_out->in_flight--;
    if (peer->state == RBUF_PEER_CONNECTED) {
        hand_back(peer);
    }
}

void rbuf_standing_out_remove(struct rbuf_peer *peer)
{
    free(peer->standing_out);
    peer->standing_out = NULL;
}
