/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/grant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/staging.h"

#define FIRST_GRANTS 64u
#define STUCK_WAITS  20u
#define MOST_GRANTS  RBUF_IMMEDIATE_HEAD /* the indices below it */

static uint64_t grant_id(const struct rbuf_grant *grant)
{
    return (uint64_t) grant->generation << 32 | grant->index;
}

struct rbuf_grant *rbuf_grant_find(struct rbuf_core *core, uint64_t id)
{
    uint32_t index = (uint32_t) id;
    struct rbuf_grant *grant = index < core->grant_count ? core->grants[index] : NULL;

    if (grant == NULL || grant->state == RBUF_GRANT_FREE || grant_id(grant) != id) {
        return NULL;
    }
    return grant;
}

struct rbuf_grant *rbuf_grant_announced(struct rbuf_core *core, uint32_t immediate)
{
    uint32_t index = immediate & ((1u << RBUF_IMMEDIATE_INDEX_BITS) - 1);
    struct rbuf_grant *grant = index < core->grant_count ? core->grants[index] : NULL;

    if (grant == NULL || grant->state != RBUF_GRANT_STAGED ||
        rbuf_immediate(grant_id(grant)) != immediate) {
        return NULL;
    }
    return grant;
}

/* Adds free grants to the table, which doubles. */
static bool add_grants(struct rbuf_core *core)
{
    uint32_t count = core->grant_count == 0 ? FIRST_GRANTS : 2 * core->grant_count;
    struct rbuf_grant **table;

    if (count > MOST_GRANTS) {
        return false;
    }
    table = realloc(core->grants, count * sizeof(*table));
    if (table == NULL) {
        return false;
    }
    core->grants = table;
    while (core->grant_count < count) {
        struct rbuf_grant *grant = calloc(1, sizeof(*grant));

        if (grant == NULL) {
            return !TAILQ_EMPTY(&core->grants_free);
        }
        grant->index = core->grant_count;
        STAILQ_INIT(&grant->held);
        table[core->grant_count++] = grant;
        TAILQ_INSERT_TAIL(&core->grants_free, grant, link);
    }
    return true;
}

static struct rbuf_grant *grant_take(struct rbuf_core *core)
{
    struct rbuf_grant *grant;

    if (TAILQ_EMPTY(&core->grants_free) && !add_grants(core)) {
        return NULL;
    }
    grant = TAILQ_FIRST(&core->grants_free);
    TAILQ_REMOVE(&core->grants_free, grant, link);
    grant->generation++;
    if (grant->generation == 0) {
        grant->generation = 1; /* an id is never 0 */
    }
    return grant;
}

/* Our schedule, with no chunk larger than what the peer can stage at once: it may have less staging
 * than we have. */
struct rbuf_schedule rbuf_grant_schedule(const struct rbuf_peer *peer)
{
    struct rbuf_schedule schedule = peer->core->options.schedule;
    uint32_t most = peer->their_stage_bytes / schedule.block_bytes;

    if (most > 0 && most < schedule.buffer_blocks) {
        schedule.buffer_blocks = (uint16_t) most;
        schedule.first_blocks =
            schedule.first_blocks < most ? schedule.first_blocks : (uint16_t) most;
    }
    return schedule;
}

static void describe(const struct rbuf_grant *grant, enum rbuf_offer_mode mode,
                     struct rbuf_offer *offer)
{
    const struct rbuf_core *core = grant->peer->core;

    *offer = (struct rbuf_offer){.id = grant_id(grant),
                                 .base = (uintptr_t) grant->base,
                                 .bytes = grant->bytes,
                                 .schedule = grant->schedule,
                                 .mode = (uint8_t) mode,
                                 .arrival = (uint8_t) rbuf_peer_arrival(grant->peer)};
    if (mode == RBUF_OFFER_STAGED) {
        if (grant->lane_blocks > 0) {
            offer->lane = (uintptr_t) rbuf_arena_block(&core->receive_arena, grant->lane_first);
            offer->rkey = rbuf_arena_rkey(&core->receive_arena, grant->lane_first);
        }
        offer->flag = grant->lane_flag;
        offer->acks = grant->acks_first;
        offer->stride_blocks = grant->stride_blocks;
        offer->slot = grant->slot;
        offer->head = grant->head_use;
        offer->kept = grant->head_kept;
    }
}

/* The counts of a peer's first message that needs one; without memory the peer is lost. */
static bool acks_open(struct rbuf_peer *peer)
{
    if (peer->words.acks == NULL) {
        peer->words.acks = calloc(RBUF_ACK_SLOTS, sizeof(*peer->words.acks));
    }
    if (peer->words.acks == NULL) {
        rbuf_peer_fail(peer, -ENOMEM);
        return false;
    }
    return true;
}

/* An acknowledgement word for a message that needs one; false if all are in use. */
static bool slot_take(struct rbuf_grant *grant)
{
    struct rbuf_peer *peer = grant->peer;

    if (grant->acks_wanted == 0) {
        return true;
    }
    if (!acks_open(peer) || peer->slots_taken == UINT64_MAX) {
        return false;
    }
    grant->slot = (uint8_t) __builtin_ctzll(~peer->slots_taken);
    peer->slots_taken |= 1ull << grant->slot;
    grant->acks_first = peer->words.acks[grant->slot];
    return true;
}

static void slot_give(struct rbuf_grant *grant)
{
    if (grant->acks_wanted > 0) {
        grant->peer->slots_taken &= ~(1ull << grant->slot);
    }
}

/* True if the grant is as long as what the use announced, and has taken its head up. */
static bool head_take(struct rbuf_grant *grant, uint64_t use)
{
    struct rbuf_peer *peer = grant->peer;
    const struct rbuf_standing_in *in = peer->standing_in;

    if (in->uses[use % RBUF_STANDING_PLACES].bytes != grant->bytes) {
        return false;
    }
    grant->schedule = rbuf_standing_in_schedule(peer);
    grant->head_chunks = rbuf_schedule_head(&grant->schedule, grant->bytes, in->place_blocks);
    if (grant->head_chunks == 0) {
        return false;
    }
    grant->head_use = use;
    grant->head_first = rbuf_standing_in_place(peer, use);
    return true;
}

/* Takes up the head of the message that is being delivered, if it is as long as the grant: then it
 * is this one's, in all likelihood. */
static void head_of_delivery(struct rbuf_grant *grant)
{
    struct rbuf_delivery *delivery = grant->peer->core->delivering;

    if (delivery->place != 0 &&
        head_take(grant, rbuf_standing_in_use(grant->peer, delivery->place))) {
        delivery->place = 0;
    }
}

/* Takes up the head of a message that came before anybody asked for it. */
static void head_kept(struct rbuf_grant *grant)
{
    uint64_t use = rbuf_standing_in_kept(grant->peer, grant->bytes);

    grant->head_kept = use != 0 && head_take(grant, use);
    if (use != 0 && !grant->head_kept) { /* a message without chunks for a head */
        grant->peer->core->stats.heads_in_vain++;
        rbuf_standing_in_over(grant->peer, use);
    }
}

void rbuf_grant_head_over(struct rbuf_grant *grant)
{
    if (grant->head_use != 0) {
        rbuf_standing_in_over(grant->peer, grant->head_use);
        grant->head_use = 0;
    }
}

/* The message comes without its head: there is no lane for the rest, or the head was another's. */
static void head_forgo(struct rbuf_grant *grant)
{
    rbuf_grant_head_over(grant);
    grant->head_chunks = 0;
    grant->head_kept = false;
    grant->schedule = rbuf_grant_schedule(grant->peer);
}

/* Gives the grant its lane, flags and word, if there are; it is then STAGED. */
static bool stage(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;
    const struct rbuf_schedule *schedule = &grant->schedule;
    struct rbuf_extent extent;
    uint64_t buffers;

    rbuf_schedule_measure_behind(schedule, grant->bytes, grant->head_chunks, &extent);
    buffers = extent.chunks < schedule->buffers ? extent.chunks : schedule->buffers;
    grant->acks_wanted = extent.chunks - buffers;
    grant->stride_blocks = extent.largest_blocks;
    grant->lane_blocks = (uint32_t) buffers * extent.largest_blocks;
    if (!slot_take(grant)) {
        return false;
    }
    if (grant->lane_blocks > 0 &&
        !rbuf_staging_take(core, &core->receive_arena, grant->lane_blocks, &grant->lane_first)) {
        slot_give(grant);
        return false;
    }
    rbuf_schedule_first(schedule, grant->bytes, &grant->chunk);
    grant->block = 0;
    grant->lane_flag = core->receive_arena.next_flag;
    core->receive_arena.next_flag += extent.blocks;
    grant->flag = grant->head_use != 0 ? rbuf_standing_in_flag(grant->peer, grant->head_use)
                                       : grant->lane_flag;
    grant->to = grant->base;
    grant->chunks_arrived = 0;
    grant->chunk_here = false;
    grant->state = RBUF_GRANT_STAGED;
    TAILQ_INSERT_TAIL(&core->receiving, grant, link);
    return true;
}

static void unstage(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;

    TAILQ_REMOVE(&core->receiving, grant, link);
    if (grant->lane_blocks > 0) {
        rbuf_arena_give(&core->receive_arena, grant->lane_first, grant->lane_blocks);
    }
    slot_give(grant);
    rbuf_grant_head_over(grant);
    core->deferred_retry = true;
}

struct rbuf_grant *rbuf_grant_open(struct rbuf_peer *peer, void *base, uint64_t bytes, void *user,
                                   struct rbuf_offer *offer)
{
    struct rbuf_core *core = peer->core;
    bool prompt = core->delivering_of == peer;
    bool would_take =
        prompt ? core->delivering->place == 0 : rbuf_standing_in_trusts(peer->standing_in);
    struct rbuf_grant *grant = grant_take(core);

    if (grant == NULL) {
        return NULL;
    }
    grant->peer = peer;
    grant->user = user;
    grant->base = base;
    grant->bytes = bytes;
    grant->schedule = rbuf_grant_schedule(peer);
    grant->head_chunks = 0;
    grant->head_kept = false;
    if (prompt) {
        rbuf_standing_in_prompt(peer);
        head_of_delivery(grant);
    } else {
        head_kept(grant);
    }
    /* Those that wait already go first. */
    if (TAILQ_EMPTY(&core->deferred) && stage(grant)) {
        core->stats.grants++;
        describe(grant, RBUF_OFFER_STAGED, offer);
        core->stats.heads_taken += grant->head_use != 0;
        core->stats.heads_kept += offer->kept;
        if (grant->head_use != 0 || would_take) {
            offer->uses = rbuf_standing_in_tell(peer, grant->head_use != 0);
        }
        return grant;
    }
    core->stats.heads_in_vain += grant->head_use != 0;
    head_forgo(grant);
    grant->state = RBUF_GRANT_DEFERRED;
    grant->deferred_ns = core->now_ns;
    TAILQ_INSERT_TAIL(&core->deferred, grant, link);
    core->stats.grants_deferred++;
    describe(grant, RBUF_OFFER_DEFERRED, offer);
    return grant;
}

/* Whether so many bytes more may be registered in their place. */
static bool may_register(const struct rbuf_core *core, uint64_t bytes)
{
    const uint64_t limit = core->options.direct_limit;

    return limit == 0 || core->direct_bytes == 0 || core->direct_bytes + bytes <= limit ||
           core->now_ns - core->moved_ns >= STUCK_WAITS * core->options.grant_wait_ns;
}

/* Asks for a registration of every grant that has waited long enough; they are in order of age. */
static int expire(struct rbuf_core *core)
{
    struct rbuf_grant *grant;
    int done = 0;

    while (core->options.grant_wait_ns != 0 && (grant = TAILQ_FIRST(&core->deferred)) != NULL &&
           core->now_ns - grant->deferred_ns >= core->options.grant_wait_ns &&
           may_register(core, grant->bytes)) {
        TAILQ_REMOVE(&core->deferred, grant, link);
        grant->state = RBUF_GRANT_REGISTERING;
        if (core->direct_bytes + grant->bytes > core->options.direct_limit) {
            core->moved_ns = core->now_ns; /* the next one of those waits anew */
        }
        core->direct_bytes += grant->bytes;
        core->deferred_retry = true; /* there may be room for the next one */
        rbuf_core_raise(core, RBUF_EVENT_REGISTER, grant->peer, grant, 0);
        done++;
    }
    return done;
}

int rbuf_grants_progress(struct rbuf_core *core)
{
    struct rbuf_grant *grant;
    int done = 0;

    while (core->deferred_retry && (grant = TAILQ_FIRST(&core->deferred)) != NULL) {
        struct rbuf_offer offer;

        TAILQ_REMOVE(&core->deferred, grant, link);
        if (!stage(grant)) {
            TAILQ_INSERT_HEAD(&core->deferred, grant, link);
            break;
        }
        describe(grant, RBUF_OFFER_STAGED, &offer);
        rbuf_channel_send_own(grant->peer, RBUF_MESSAGE_GRANT, &offer, sizeof(offer));
        done++;
    }
    core->deferred_retry = false;
    return done + expire(core);
}

void rbuf_grant_direct(struct rbuf_grant *grant, uint32_t rkey)
{
    struct rbuf_offer offer;

    if (grant->state != RBUF_GRANT_REGISTERING) {
        return; /* closed while the event was on its way */
    }
    grant->state = RBUF_GRANT_DIRECT;
    grant->peer->core->stats.grants_direct++;
    describe(grant, RBUF_OFFER_DIRECT, &offer);
    offer.rkey = rkey;
    rbuf_channel_send_own(grant->peer, RBUF_MESSAGE_GRANT, &offer, sizeof(offer));
}

void rbuf_grant_not_direct(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;

    if (grant->state != RBUF_GRANT_REGISTERING) {
        return; /* closed while the event was on its way */
    }
    grant->state = RBUF_GRANT_DEFERRED;
    grant->deferred_ns = core->now_ns; /* the next try after another wait */
    core->direct_bytes -= grant->bytes;
    TAILQ_INSERT_TAIL(&core->deferred, grant, link);
    core->deferred_retry = true;
}

static bool is_all_head(const struct rbuf_grant *grant)
{
    return grant->state == RBUF_GRANT_PLACED && grant->lane_blocks == 0;
}

/* The peer has written nothing yet but the head that was not for this grant, so that its lane can
 * be given out again at once. A grant that was all head may be PLACED by then, with another
 * message's bytes. */
void rbuf_grant_declined(struct rbuf_peer *peer, uint64_t id)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_grant *grant = rbuf_grant_find(core, id);

    if (grant == NULL || grant->peer != peer || grant->head_chunks == 0 ||
        (grant->state != RBUF_GRANT_STAGED && !is_all_head(grant))) {
        core->stats.messages_refused++;
        return;
    }
    if (grant->state == RBUF_GRANT_STAGED) {
        unstage(grant);
    }
    if (grant->head_kept) {
        rbuf_standing_in_mistaken(peer);
    }
    head_forgo(grant);
    grant->state = RBUF_GRANT_DEFERRED;
    grant->deferred_ns = core->now_ns;
    TAILQ_INSERT_TAIL(&core->deferred, grant, link);
    core->deferred_retry = true;
}

/* Delivers what waited for the grant, in order of arrival. */
static void release_held(struct rbuf_grant *grant)
{
    struct rbuf_held *held;

    while ((held = STAILQ_FIRST(&grant->held)) != NULL) {
        struct rbuf_event event = {.kind = RBUF_EVENT_DELIVER,
                                   .peer = grant->peer,
                                   .delivery = {.origin = RBUF_ORIGIN_HELD,
                                                .data = held->data,
                                                .bytes = held->bytes,
                                                .tag = held->tag,
                                                .channel = held->channel}};

        STAILQ_REMOVE_HEAD(&grant->held, link);
        (void) rbuf_events_push(&grant->peer->core->events, &event);
    }
}

static void discard_held(struct rbuf_grant *grant)
{
    struct rbuf_held *held;

    while ((held = STAILQ_FIRST(&grant->held)) != NULL) {
        STAILQ_REMOVE_HEAD(&grant->held, link);
        free(held);
    }
}

void rbuf_grant_placed(struct rbuf_grant *grant)
{
    unstage(grant);
    grant->state = RBUF_GRANT_PLACED;
    release_held(grant);
}

void rbuf_grant_close(struct rbuf_grant *grant)
{
    struct rbuf_core *core = grant->peer->core;

    switch (grant->state) {
    case RBUF_GRANT_FREE:
        return;
    case RBUF_GRANT_STAGED:
        /* Open MPI gives a handle back before its data only when the peer never learnt of it or is
         * lost: nobody writes into the lane any more, and what is still on its way to the place of
         * a head comes before what its next use writes (standing.h). What waits for the
         * data must not be told that it is there. */
        unstage(grant);
        discard_held(grant);
        break;
    case RBUF_GRANT_DEFERRED:
        TAILQ_REMOVE(&core->deferred, grant, link);
        core->deferred_retry = true; /* there may be room for those behind it */
        break;
    case RBUF_GRANT_REGISTERING:
    case RBUF_GRANT_DIRECT:
        core->direct_bytes -= grant->bytes;
        core->moved_ns = core->now_ns;
        break;
    case RBUF_GRANT_PLACED:
        break;
    }
    grant->state = RBUF_GRANT_FREE;
    TAILQ_INSERT_TAIL(&core->grants_free, grant, link);
}

void rbuf_grants_close(struct rbuf_core *core)
{
    for (uint32_t i = 0; i < core->grant_count; i++) {
        discard_held(core->grants[i]);
        free(core->grants[i]);
    }
    free(core->grants);
}
