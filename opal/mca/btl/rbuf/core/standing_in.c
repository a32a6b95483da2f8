/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/standing.h"

#include <assert.h>
#include <stdlib.h>

#include "core/channel.h"
#include "core/grant.h"

#define PROMPT_GRANTS 2u /* before a peer is lent a lane */
#define FLAG_LANE     ((uint64_t) 1 << 63)
#define LANE_BITS     40u /* of a flag, and of a use: 10^11 heads of a lane, and 2^23 lanes */

/* Grants of all peers, for each peer that may have a lane, without one of the lane's: it is idle.
 */
#define IDLE_GRANTS 8u

static uint32_t lane_blocks(uint32_t place_blocks)
{
    return place_blocks * RBUF_STANDING_PLACES;
}

uint32_t rbuf_standing_open(struct rbuf_core *core, uint32_t blocks)
{
    const struct rbuf_schedule *schedule = &core->options.schedule;
    const struct rbuf_standing_options *options = &core->options.standing;
    uint64_t largest = (uint64_t) schedule->buffers * schedule->buffer_blocks;
    uint64_t keep = largest > blocks / 2 ? largest : blocks / 2;
    uint64_t lanes;

    /* A head is looked for by its flags, and is a chunk at least. */
    if (options->peers == 0 || core->options.arrival == RBUF_ARRIVAL_IMMEDIATE ||
        options->place_blocks < schedule->first_blocks || keep >= blocks) {
        return blocks;
    }
    lanes = (blocks - keep) / lane_blocks(options->place_blocks);
    lanes = lanes < options->peers ? lanes : options->peers;
    core->standing.lanes =
        lanes < RBUF_STANDING_PEERS_MAX ? (uint32_t) lanes : RBUF_STANDING_PEERS_MAX;
    return blocks - core->standing.lanes * lane_blocks(options->place_blocks);
}

static void free_lane(struct rbuf_peer *peer)
{
    struct rbuf_standing_in *in = peer->standing_in;
    struct rbuf_core *core = peer->core;

    core->standing.taken &= ~(1ull << in->lane);
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

static bool has_room(const struct rbuf_core *core)
{
    return (uint32_t) __builtin_popcountll(core->standing.taken) < core->standing.lanes;
}

static void lend(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;
    struct rbuf_arena *arena = &core->receive_arena;
    uint32_t place_blocks = core->options.standing.place_blocks;
    struct rbuf_standing_in *in = calloc(1, sizeof(*in));
    struct rbuf_standing_offer offer;

    if (in == NULL) {
        return; /* it was not necessary */
    }
    in->lane = (uint32_t) __builtin_ctzll(~core->standing.taken);
    core->standing.taken |= 1ull << in->lane;
    in->first = arena->blocks + in->lane * lane_blocks(place_blocks);
    in->place_blocks = place_blocks;
    core->standing.lent++;
    in->flag = FLAG_LANE | core->standing.lent << LANE_BITS;
    in->use_first = core->standing.lent << LANE_BITS;
    in->announced = in->tail = in->use_first;
    in->told = in->tail + RBUF_STANDING_PLACES;
    in->last_grants = core->stats.grants;
    peer->standing_in = in;
    core->stats.standing_lent++;
    offer = (struct rbuf_standing_offer){.base = (uintptr_t) rbuf_arena_block(arena, in->first),
                                         .flag = in->flag,
                                         .first = in->use_first,
                                         .rkey = arena->rkey,
                                         .place_blocks = place_blocks,
                                         .schedule = rbuf_standing_in_schedule(peer)};
    rbuf_channel_send_own(peer, RBUF_MESSAGE_STANDING, &offer, sizeof(offer));
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
        peer->standing_in->state = RBUF_STANDING_RECALLED;
        core->stats.standing_recalled++;
        rbuf_channel_send_own(peer, RBUF_MESSAGE_STANDING_RECALL, NULL, 0);
    }
}

void rbuf_standing_in_prompt(struct rbuf_peer *peer)
{
    struct rbuf_core *core = peer->core;

    if (peer->standing_in != NULL || core->standing.lanes == 0 ||
        peer->state != RBUF_PEER_CONNECTED || ++peer->prompt_grants < PROMPT_GRANTS) {
        return;
    }
    peer->prompt_grants = PROMPT_GRANTS;
    if (has_room(core)) {
        lend(peer);
    } else {
        recall(core);
    }
}

uint8_t rbuf_standing_in_announced(struct rbuf_peer *peer, uint64_t bytes)
{
    struct rbuf_standing_in *in = peer->standing_in;

    if (in == NULL || in->state == RBUF_STANDING_BACK || in->announced == in->told) {
        return 0;
    }
    in->announced++;
    in->bytes[in->announced % RBUF_STANDING_PLACES] = bytes;
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
    in->over |= 1u << (use - in->tail - 1);
    while ((in->over & 1u) != 0) {
        in->over >>= 1;
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
