/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/standing.h"

#include <assert.h>
#include <stdlib.h>

#include "core/channel.h"
#include "core/grant.h"
#include "core/staging.h"

#define PROMPT_GRANTS 2u   /* before a peer is lent a lane */
#define FIRST_PASSES  8u   /* late grants without a head after a wrong one, */
#define MOST_PASSES   256u /* and after many */
#define FLAG_LANE     ((uint64_t) 1 << 63)
#define LANE_BITS     40u /* of a flag, and of a use: 10^11 heads of a lane, and 2^23 lanes */

/* Grants of all peers, for each peer that may have a lane, without one of the lane's: it is idle.
 */
#define IDLE_GRANTS 8u

static uint32_t least(uint64_t one, uint64_t other)
{
    return (uint32_t) (one < other ? one : other);
}

/* Blocks that the largest message needs. */
static uint32_t largest_lane(const struct rbuf_core *core)
{
    const struct rbuf_schedule *schedule = &core->options.schedule;

    return (uint32_t) schedule->buffers * schedule->buffer_blocks;
}

/* Lanes that there would be with enough staging. */
static uint32_t wanted_lanes(const struct rbuf_core *core)
{
    const struct rbuf_standing_options *options = &core->options.standing;

    if (options->place_blocks <= core->options.schedule.first_blocks) {
        return 0; /* a head is a chunk at least, and that may have a short block more */
    }
    return least(options->peers, RBUF_STANDING_PEERS_MAX);
}

void rbuf_standing_in_grown(struct rbuf_core *core)
{
    uint32_t blocks = core->receive_arena.blocks;
    uint32_t keep = largest_lane(core) > blocks / 2 ? largest_lane(core) : blocks / 2;
    uint32_t wanted = wanted_lanes(core);

    core->standing.lanes =
        wanted == 0 || keep >= blocks
            ? 0
            : least(wanted, (blocks - keep) / rbuf_standing_lane_blocks(&core->options.standing));
}

static void free_lane(struct rbuf_peer *peer)
{
    struct rbuf_standing_in *in = peer->standing_in;
    struct rbuf_core *core = peer->core;

    rbuf_arena_give(&core->receive_arena, in->first,
                    rbuf_standing_lane_blocks(&core->options.standing));
    core->standing.borrower[in->number] = NULL;
    core->standing.out--;
    core->deferred_retry = true;
    free(in);
    peer->standing_in = NULL;
    peer->prompt_grants = 0;
}

struct rbuf_schedule rbuf_standing_in_schedule(const struct rbuf_peer *peer)
{
    struct rbuf_schedule schedule = rbuf_grant_schedule(peer);
    uint16_t opening = peer->core->options.standing.opening_blocks;

    if (opening < schedule.first_blocks) {
        schedule.opening_blocks = opening;
    }
    return schedule;
}

static bool is_lane(const struct rbuf_core *core, uint32_t first)
{
    for (uint32_t i = 0; i < core->peer_count; i++) {
        const struct rbuf_peer *peer = core->peers[i];

        if (peer != NULL && peer->standing_in != NULL && peer->standing_in->first == first) {
            return true;
        }
    }
    return false;
}

/* The run may become the place of a lane: takes it, or keeps it if messages are there and nothing
 * is kept yet. */
static bool try_place(struct rbuf_core *core, uint32_t first, uint32_t blocks)
{
    struct rbuf_arena *arena = &core->receive_arena;

    if (rbuf_arena_take_at(arena, first, blocks)) {
        rbuf_arena_keep(arena, 0, 0);
        return true;
    }
    if (arena->kept_end == 0 && !is_lane(core, first)) {
        rbuf_arena_keep(arena, first, blocks);
    }
    return false;
}

/* Room for a lane in `*first`: as high in an extent as can be, and in the first one above what is
 * the largest message's. False if messages are everywhere: they leave the first such place in the
 * end. */
static bool place_lane(struct rbuf_core *core, uint32_t *first)
{
    struct rbuf_arena *arena = &core->receive_arena;
    uint32_t blocks = rbuf_standing_lane_blocks(&core->options.standing);
    uint32_t lowest = largest_lane(core);

    for (uint32_t i = 0; i < arena->extents; i++) {
        uint32_t end = arena->extent[i].end;

        for (; end >= lowest + blocks; end -= blocks) {
            if (try_place(core, end - blocks, blocks)) {
                *first = end - blocks;
                return true;
            }
        }
        lowest = arena->extent[i].end;
    }
    return false;
}

/* Gives the lane a free number, and the word by which its chunks are announced; earlier lanes of
 * that number had other words. */
static void number_lane(struct rbuf_peer *peer)
{
    struct rbuf_standing *standing = &peer->core->standing;
    struct rbuf_standing_in *in = peer->standing_in;

    while (standing->borrower[in->number] != NULL) { /* there are no more than numbers */
        in->number++;
    }
    standing->borrower[in->number] = peer;
    in->immediate = rbuf_immediate_of_lane(in->number, standing->lent);
}

/* Lends the peer a lane, if there is room for it. */
static bool lend(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_arena *arena = &core->receive_arena;
    uint32_t place_blocks = core->options.standing.place_blocks;
    struct rbuf_standing_in *in;
    struct rbuf_standing_offer offer;
    uint32_t first;

    if (peer->unordered) {
        return true; /* heads are looked for by flags, and lanes are for others */
    }
    if (core->standing.out >= core->standing.lanes || !place_lane(core, &first)) {
        return false;
    }
    in = calloc(1, sizeof(*in));
    if (in == NULL) {
        rbuf_arena_give(arena, first, rbuf_standing_lane_blocks(&core->options.standing));
        return true; /* it was not necessary */
    }
    in->first = first;
    in->place_blocks = place_blocks;
    core->standing.out++;
    core->standing.lent++;
    in->flag = FLAG_LANE | core->standing.lent << LANE_BITS;
    in->use_first = core->standing.lent << LANE_BITS;
    in->announced = in->tail = in->use_first;
    in->told = in->tail + RBUF_STANDING_PLACES;
    in->last_grants = core->stats.grants;
    peer->standing_in = in;
    number_lane(peer);
    core->stats.standing_lent++;
    offer = (struct rbuf_standing_offer){.base = (uintptr_t) rbuf_arena_block(arena, in->first),
                                         .flag = in->flag,
                                         .first = in->use_first,
                                         .rkey = rbuf_arena_rkey(arena, in->first),
                                         .place_blocks = place_blocks,
                                         .schedule = rbuf_standing_in_schedule(peer)};
    if (core->options.arrival == RBUF_ARRIVAL_IMMEDIATE) {
        offer.immediate = in->immediate;
    }
    rbuf_channel_send_own(peer, RBUF_MESSAGE_STANDING, &offer, sizeof(offer));
    return true;
}

/* The peer whose lane was not used for longest. */
static struct rbuf_peer *least_recent(const struct rbuf_core *core)
{
    struct rbuf_peer *found = NULL;

    for (uint32_t i = 0; i < core->peer_count; i++) {
        struct rbuf_peer *peer = core->peers[i];

        if (peer != NULL && peer->standing_in != NULL &&
            peer->standing_in->state == RBUF_STANDING_LENT &&
            (found == NULL || peer->standing_in->last_grants < found->standing_in->last_grants)) {
            found = peer;
        }
    }
    return found;
}

static struct rbuf_use *use_of(struct rbuf_standing_in *in, uint64_t use)
{
    return &in->uses[use % RBUF_STANDING_PLACES];
}

/* A head that nobody will take up. */
static void in_vain(struct rbuf_peer *peer, uint64_t use)
{
    peer->core->stats.heads_in_vain++;
    rbuf_standing_in_over(peer, use);
}

/* Nobody has come for the heads that were kept. */
static void let_go(struct rbuf_peer *peer)
{
    struct rbuf_standing_in *in = peer->standing_in;

    for (uint64_t use = in->tail + 1; use <= in->announced; use++) {
        if (use_of(in, use)->state == RBUF_USE_KEPT) {
            in_vain(peer, use);
        }
    }
}

/* If all places are in use, the oldest head that is kept, of a use before `end`, makes place for
 * one to come. */
static void make_place(struct rbuf_peer *peer, uint64_t end)
{
    struct rbuf_standing_in *in = peer->standing_in;
    uint64_t use = in->tail + 1;

    if (in->announced < in->tail + RBUF_STANDING_PLACES) {
        return;
    }
    while (use < end && use_of(in, use)->state != RBUF_USE_KEPT) {
        use++;
    }
    if (use < end) {
        in_vain(peer, use);
    }
}

/* Asks for the lane that was not used for longest, if that is long enough. */
static void recall(struct rbuf_core *core)
{
    uint64_t patience = (uint64_t) IDLE_GRANTS * core->standing.lanes;
    struct rbuf_peer *peer;

    if (core->stats.grants < core->standing.next_recall) {
        return;
    }
    core->standing.next_recall = core->stats.grants + IDLE_GRANTS; /* all peers were looked at */
    peer = least_recent(core);
    if (peer != NULL && core->stats.grants - peer->standing_in->last_grants >= patience) {
        let_go(peer);
        peer->standing_in->state = RBUF_STANDING_RECALLED;
        core->stats.standing_recalled++;
        rbuf_channel_send_own(peer, RBUF_MESSAGE_STANDING_RECALL, NULL, 0);
    }
}

/* There is no room for a lane: true if there may be, as soon as the arena has grown or messages
 * have gone. */
static bool may_have_room(struct rbuf_core *core)
{
    bool crowded = core->standing.out < core->standing.lanes;

    if (crowded || core->standing.lanes < wanted_lanes(core)) {
        return rbuf_staging_want(core, &core->receive_arena) || crowded;
    }
    return false;
}

void rbuf_standing_in_prompt(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;

    if (peer->standing_in != NULL) {
        let_go(peer);
        return;
    }
    if (wanted_lanes(core) == 0 || peer->state != RBUF_PEER_CONNECTED ||
        ++peer->prompt_grants < PROMPT_GRANTS) {
        return;
    }
    peer->prompt_grants = PROMPT_GRANTS;
    if (!lend(peer) && !may_have_room(core)) {
        recall(core);
    }
}

/* The count of what the immediate announces, which begins if another one's was there. */
static struct rbuf_head_arrivals *arrivals_of(struct rbuf_standing_in *in, uint32_t immediate)
{
    struct rbuf_head_arrivals *arrivals =
        &in->arrivals[(immediate >> RBUF_IMMEDIATE_INDEX_BITS) % RBUF_STANDING_PLACES];

    if (arrivals->immediate != immediate) {
        *arrivals = (struct rbuf_head_arrivals){.immediate = immediate};
    }
    return arrivals;
}

/* Credits come back at once: the memory is the lane's, and not that of the receive queue. */
void rbuf_standing_in_immediate(struct rbuf_core *core, uint32_t immediate)
{
    uint32_t number = immediate & ((1u << RBUF_IMMEDIATE_LANE_BITS) - 1);
    uint32_t of_lane = immediate & ((1u << RBUF_IMMEDIATE_INDEX_BITS) - 1);
    struct rbuf_peer *peer = core->standing.borrower[number];

    if (peer == NULL || peer->standing_in->immediate != of_lane) {
        core->stats.messages_refused++;
        return;
    }
    arrivals_of(peer->standing_in, immediate)->chunks++;
    rbuf_credit_consumed(peer, RBUF_FLOW_BULK);
}

uint32_t rbuf_standing_in_arrived(const struct rbuf_peer *peer, uint64_t use)
{
    const struct rbuf_standing_in *in = peer->standing_in;
    const struct rbuf_head_arrivals *arrivals = &in->arrivals[use % RBUF_STANDING_PLACES];

    return arrivals->immediate == rbuf_immediate_of_use(in->immediate, use) ? arrivals->chunks : 0;
}

uint8_t rbuf_standing_in_announced(struct rbuf_peer *peer, uint64_t bytes)
{
    struct rbuf_standing_in *in = peer->standing_in;

    if (in == NULL || in->state == RBUF_STANDING_BACK || in->announced == in->told) {
        return 0;
    }
    in->announced++;
    *use_of(in, in->announced) = (struct rbuf_use){.state = RBUF_USE_ANNOUNCED, .bytes = bytes};
    (void) arrivals_of(in, rbuf_immediate_of_use(in->immediate, in->announced));
    return (uint8_t) (1 + in->announced % RBUF_STANDING_PLACES);
}

uint64_t rbuf_standing_in_use(const struct rbuf_peer *peer, uint8_t place)
{
    uint64_t first = peer->standing_in->tail + 1;

    return first + (place - 1u - first) % RBUF_STANDING_PLACES;
}

void rbuf_standing_in_back(struct rbuf_peer *peer)
{
    struct rbuf_standing_in *in = peer->standing_in;

    if (in == NULL || in->state != RBUF_STANDING_RECALLED) {
        peer->core->stats.messages_refused++;
        return;
    }
    in->state = RBUF_STANDING_BACK;
    if (in->tail == in->announced) {
        free_lane(peer);
    }
}

void rbuf_standing_in_keep(struct rbuf_peer *peer, uint64_t use)
{
    struct rbuf_standing_in *in = peer->standing_in;

    if (in->state == RBUF_STANDING_LENT) {
        use_of(in, use)->state = RBUF_USE_KEPT;
    } else {
        in_vain(peer, use);
    }
}

/* The oldest use that is kept and has so many bytes; 0: there is none. */
static uint64_t find_kept(struct rbuf_standing_in *in, uint64_t bytes)
{
    for (uint64_t use = in->tail + 1; use <= in->announced; use++) {
        const struct rbuf_use *kept = use_of(in, use);

        if (kept->state == RBUF_USE_KEPT && kept->bytes == bytes) {
            return use;
        }
    }
    return 0;
}

uint64_t rbuf_standing_in_kept(struct rbuf_peer *peer, uint64_t bytes)
{
    struct rbuf_standing_in *in = peer->standing_in;
    uint64_t use;

    if (in == NULL) {
        return 0;
    }
    use = find_kept(in, bytes);
    if (in->passes > 0) {
        in->passes--;
        if (use != 0) {
            in_vain(peer, use);
        }
        return 0;
    }
    if (use != 0) {
        in->mistakes -= in->mistakes > 0;
        use_of(in, use)->state = RBUF_USE_ANNOUNCED;
    }
    make_place(peer, use != 0 ? use : in->announced + 1);
    return use;
}

void rbuf_standing_in_mistaken(struct rbuf_peer *peer)
{
    struct rbuf_standing_in *in = peer->standing_in;

    if (in != NULL && in->passes == 0) { /* else it was a guess from before the last mistake */
        let_go(peer);                    /* the head that was meant may be one of them */
        in->mistakes = least(2 * (uint64_t) in->mistakes + FIRST_PASSES, MOST_PASSES);
        in->passes = in->mistakes;
    }
}

uint64_t rbuf_standing_in_tell(struct rbuf_peer *peer, bool taken)
{
    struct rbuf_standing_in *in = peer->standing_in;

    if (in == NULL || in->state != RBUF_STANDING_LENT) {
        return 0;
    }
    if (taken) {
        in->told = in->tail + RBUF_STANDING_PLACES;
    } else if (in->told < in->tail + RBUF_STANDING_PLACES) {
        in->told++;
    }
    return in->told;
}

uint32_t rbuf_standing_in_place(const struct rbuf_peer *peer, uint64_t use)
{
    const struct rbuf_standing_in *in = peer->standing_in;

    return in->first + (uint32_t) (use % RBUF_STANDING_PLACES) * in->place_blocks;
}

uint64_t rbuf_standing_in_flag(const struct rbuf_peer *peer, uint64_t use)
{
    const struct rbuf_standing_in *in = peer->standing_in;

    return in->flag + (use - in->use_first) * in->place_blocks;
}

void rbuf_standing_in_over(struct rbuf_peer *peer, uint64_t use)
{
    struct rbuf_standing_in *in = peer->standing_in;

    assert(in != NULL && use > in->tail && use <= in->announced);
    use_of(in, use)->state = RBUF_USE_OVER;
    while (in->tail < in->announced && use_of(in, in->tail + 1)->state == RBUF_USE_OVER) {
        in->tail++;
    }
    in->last_grants = peer->core->stats.grants;
    if (in->state == RBUF_STANDING_BACK && in->tail == in->announced) {
        free_lane(peer);
    }
}

void rbuf_standing_in_remove(struct rbuf_peer *peer)
{
    if (peer->standing_in != NULL) {
        free_lane(peer);
    }
}
