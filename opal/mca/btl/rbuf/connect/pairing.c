/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Finds the best kind of subnet that both sides have, takes from each side the ports that are like
 * the best one, and pairs them row by row (pairing.h has the rules).
 */
#include "connect/pairing.h"

#include <stddef.h>

#define MOST RBUF_PORTS_MAX

/* Ports of one side that are alike and have no partner yet, in order. */
struct row {
    uint32_t port[MOST];
    uint32_t count;
};

typedef bool (*alike_t)(const struct rbuf_port_address *one, const struct rbuf_port_address *other);

/* Limited members of a partition are, though they do not reach each other. */
static bool of_one_fabric(const struct rbuf_port_address *one,
                          const struct rbuf_port_address *other)
{
    const enum rbuf_reach reach = rbuf_address_reach(one, other);

    return reach == RBUF_REACHABLE || reach == RBUF_LIMITED_MEMBERS;
}

static bool of_one_subnet(const struct rbuf_port_address *one,
                          const struct rbuf_port_address *other)
{
    return of_one_fabric(one, other) && one->subnet == other->subnet;
}

/* What counts of the ports of a side that are alike: of the fastest ones the first place. */
struct offer {
    uint32_t count;  /* of ports that are alike; 0: there is none */
    bool full;       /* they are full members of their partition, else limited ones */
    bool link_local; /* one of them has a link-local address only */
    unsigned speed;
    unsigned place;
};

static bool is_full(const struct rbuf_port_address *port)
{
    return (port->pkey & RBUF_PKEY_FULL) != 0;
}

static bool is_link_local(const struct rbuf_port_address *port)
{
    return port->link_layer == RBUF_LINK_ETHERNET && rbuf_gid_is_link_local(port->gid);
}

/* True of a limited member if the side has a full one of the same fabric. */
static bool is_outdone(const struct rbuf_pairing_side *side, const struct rbuf_port_address *port)
{
    for (uint32_t i = 0; i < side->count && !is_full(port); i++) {
        if (is_full(&side->port[i]) && of_one_fabric(&side->port[i], port)) {
            return true;
        }
    }
    return false;
}

static struct offer offer_of(const struct rbuf_pairing_side *side,
                             const struct rbuf_port_address *like, alike_t alike)
{
    struct offer offer = {.count = 0};

    for (uint32_t i = 0; i < side->count; i++) {
        const struct rbuf_port_address *port = &side->port[i];

        if (!alike(port, like) || is_outdone(side, port)) {
            continue;
        }
        offer.full = is_full(port);
        offer.link_local |= is_link_local(port);
        if (offer.count++ == 0 || port->speed > offer.speed ||
            (port->speed == offer.speed && port->place < offer.place)) {
            offer.speed = port->speed;
            offer.place = port->place;
        }
    }
    return offer;
}

static bool reach_each_other(const struct offer *mine, const struct offer *other)
{
    return mine->count != 0 && other->count != 0 && (mine->full || other->full);
}

/* Ports of both sides that are alike, as far as both see the same of them. */
struct match {
    const struct rbuf_port_address *like; /* NULL: there is none */
    bool link_local;                      /* on either side: it may lead nowhere */
    unsigned speed;                       /* the slower side's */
    unsigned place;                       /* both sides' added up */
};

static struct match match_of(const struct rbuf_pairing_side *ours,
                             const struct rbuf_pairing_side *theirs,
                             const struct rbuf_port_address *like, alike_t alike)
{
    const struct offer mine = offer_of(ours, like, alike);
    const struct offer other = offer_of(theirs, like, alike);

    if (!reach_each_other(&mine, &other)) {
        return (struct match){.like = NULL};
    }
    return (struct match){.like = like,
                          .link_local = mine.link_local || other.link_local,
                          .speed = mine.speed < other.speed ? mine.speed : other.speed,
                          .place = mine.place + other.place};
}

static int compare(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

/* Less than 0: `one` is to be preferred, more: `other` is, 0: they are equally good, which only
 * Ethernet networks can be. */
static int compare_matches(const struct match *one, const struct match *other)
{
    const struct rbuf_port_address *a = one->like;
    const struct rbuf_port_address *b = other->like;

    if (one->link_local != other->link_local) {
        return one->link_local ? 1 : -1;
    }
    if (one->speed != other->speed) {
        return compare(other->speed, one->speed);
    }
    if (a->link_layer != b->link_layer) {
        return a->link_layer == RBUF_LINK_INFINIBAND ? -1 : 1;
    }
    if (a->link_layer == RBUF_LINK_INFINIBAND) {
        return a->subnet != b->subnet
                   ? compare(a->subnet, b->subnet)
                   : compare(a->pkey & RBUF_PKEY_PARTITION, b->pkey & RBUF_PKEY_PARTITION);
    }
    if (a->gid_kind != b->gid_kind) {
        return compare(b->gid_kind, a->gid_kind); /* RoCE v2 before v1 */
    }
    if (rbuf_gid_is_ipv4(a->gid) != rbuf_gid_is_ipv4(b->gid)) {
        return rbuf_gid_is_ipv4(a->gid) ? -1 : 1;
    }
    return compare(one->place, other->place);
}

static struct match best_match(const struct rbuf_pairing_side *ours,
                               const struct rbuf_pairing_side *theirs, alike_t alike)
{
    struct match best = {.like = NULL};

    for (uint32_t i = 0; i < ours->count; i++) {
        const struct match match = match_of(ours, theirs, &ours->port[i], alike);

        if (match.like != NULL && (best.like == NULL || compare_matches(&match, &best) < 0)) {
            best = match;
        }
    }
    return best;
}

struct state {
    const struct rbuf_pairing_side *ours;
    const struct rbuf_pairing_side *theirs;
    bool all; /* the user has named ports: slower ones and those of other adapters count too */
    bool our_taken[MOST];
    bool their_taken[MOST];
    struct rbuf_pairs pairs;
};

static struct row row_of(const struct rbuf_pairing_side *side, const bool *taken, bool all,
                         const struct rbuf_port_address *like, alike_t alike)
{
    const struct offer offer = offer_of(side, like, alike);
    struct row row = {.count = 0};

    for (uint32_t i = 0; i < side->count; i++) {
        const struct rbuf_port_address *port = &side->port[i];

        if (!taken[i] && alike(port, like) && !is_outdone(side, port) &&
            (all || (port->speed == offer.speed && port->place == offer.place))) {
            row.port[row.count++] = i;
        }
    }
    return row;
}

/* The position in a row of `count` at which the one with `fewer` ports begins, whose rank it is. */
static uint32_t first_of(uint32_t count, uint32_t fewer, uint32_t rank)
{
    return count > fewer ? rank % count : 0;
}

/* Pairs what is left of the ports that are alike. */
static void pair_rows(struct state *state, const struct rbuf_port_address *like, alike_t alike)
{
    const struct offer mine = offer_of(state->ours, like, alike);
    const struct offer other = offer_of(state->theirs, like, alike);
    const struct row ours = row_of(state->ours, state->our_taken, state->all, like, alike);
    const struct row theirs = row_of(state->theirs, state->their_taken, state->all, like, alike);
    const uint32_t least = ours.count < theirs.count ? ours.count : theirs.count;
    const uint32_t count = reach_each_other(&mine, &other) ? least : 0;
    const uint32_t our_first = first_of(ours.count, count, state->theirs->rank);
    const uint32_t their_first = first_of(theirs.count, count, state->ours->rank);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t our_port = ours.port[(our_first + i) % ours.count];
        uint32_t their_port = theirs.port[(their_first + i) % theirs.count];

        state->our_taken[our_port] = true;
        state->their_taken[their_port] = true;
        state->pairs.partner[our_port] = (int8_t) their_port;
        state->pairs.count++;
    }
}

/* True if ports of this fabric are paired already. */
static bool is_served(const struct state *state, const struct rbuf_port_address *like)
{
    for (uint32_t i = 0; i < state->ours->count; i++) {
        if (state->our_taken[i] && of_one_fabric(&state->ours->port[i], like)) {
            return true;
        }
    }
    return false;
}

/* Every fabric that both have; in each the ports of one subnet, else any. */
static void pair_all(struct state *state)
{
    const struct rbuf_pairing_side *ours = state->ours;

    for (uint32_t i = 0; i < ours->count; i++) {
        pair_rows(state, &ours->port[i], of_one_subnet);
    }
    for (uint32_t i = 0; i < ours->count; i++) {
        if (!is_served(state, &ours->port[i])) {
            pair_rows(state, &ours->port[i], of_one_fabric);
        }
    }
}

/* What is best of the ports that are alike, and what is as good. */
static void pair_best(struct state *state, alike_t alike)
{
    const struct match best = best_match(state->ours, state->theirs, alike);

    for (uint32_t i = 0; best.like != NULL && i < state->ours->count; i++) {
        const struct rbuf_port_address *like = &state->ours->port[i];
        const struct match match = match_of(state->ours, state->theirs, like, alike);

        if (match.like != NULL && compare_matches(&match, &best) == 0) {
            pair_rows(state, like, alike);
        }
    }
}

struct rbuf_pairs rbuf_pair(const struct rbuf_pairing_side *ours,
                            const struct rbuf_pairing_side *theirs)
{
    struct state state = {.ours = ours, .theirs = theirs, .all = ours->chosen || theirs->chosen};

    for (uint32_t i = 0; i < MOST; i++) {
        state.pairs.partner[i] = -1;
    }
    if (state.all) {
        pair_all(&state);
        return state.pairs;
    }
    pair_best(&state, of_one_subnet);
    if (state.pairs.count == 0) {
        pair_best(&state, of_one_fabric);
    }
    return state.pairs;
}

struct rbuf_obstacle rbuf_pairing_obstacle(const struct rbuf_pairing_side *ours,
                                           const struct rbuf_pairing_side *theirs)
{
    struct rbuf_obstacle least = {.reach = RBUF_REACHABLE};

    for (uint32_t i = 0; i < ours->count; i++) {
        for (uint32_t j = 0; j < theirs->count; j++) {
            const enum rbuf_reach reach = rbuf_address_reach(&ours->port[i], &theirs->port[j]);

            if (reach > least.reach) {
                least = (struct rbuf_obstacle){reach, i, j};
            }
        }
    }
    return least;
}
