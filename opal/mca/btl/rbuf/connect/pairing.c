/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See pairing.h. */
#include "connect/pairing.h"

#include <stddef.h>

#define MOST RBUF_PORTS_MAX

/* Ports of one side that are alike and have no partner yet, in order. */
struct row {
    uint32_t port[MOST];
    uint32_t count;
};

typedef bool (*alike_t)(const struct rbuf_port_address *one, const struct rbuf_port_address *other);

static bool of_one_fabric(const struct rbuf_port_address *one,
                          const struct rbuf_port_address *other)
{
    return rbuf_address_reach(one, other) == RBUF_REACHABLE;
}

static bool of_one_subnet(const struct rbuf_port_address *one,
                          const struct rbuf_port_address *other)
{
    return of_one_fabric(one, other) && one->subnet == other->subnet;
}

static unsigned fastest_in_fabric(const struct rbuf_pairing_side *side,
                                  const struct rbuf_port_address *fabric)
{
    unsigned speed = 0;

    for (uint32_t i = 0; i < side->count; i++) {
        if (of_one_fabric(&side->port[i], fabric) && side->port[i].speed > speed) {
            speed = side->port[i].speed;
        }
    }
    return speed;
}

static bool has_fabric(const struct rbuf_pairing_side *side, const struct rbuf_port_address *fabric)
{
    for (uint32_t i = 0; i < side->count; i++) {
        if (of_one_fabric(&side->port[i], fabric)) {
            return true;
        }
    }
    return false;
}

/* True if fabric `one`, as fast as `speed` between the two, is to be preferred to `other`. What is
 * compared is the same on both sides. */
static bool is_better(const struct rbuf_port_address *one, unsigned speed,
                      const struct rbuf_port_address *other, unsigned other_speed)
{
    if (speed != other_speed) {
        return speed > other_speed;
    }
    if (one->link_layer != other->link_layer) {
        return one->link_layer == RBUF_LINK_INFINIBAND;
    }
    if (one->link_layer == RBUF_LINK_INFINIBAND) {
        return one->subnet < other->subnet;
    }
    if (one->gid_kind != other->gid_kind) {
        return one->gid_kind > other->gid_kind; /* RoCE v2 before v1 */
    }
    return rbuf_gid_is_ipv4(one->gid) && !rbuf_gid_is_ipv4(other->gid);
}

/* A port of ours in the best fabric that both have, NULL: there is none. */
static const struct rbuf_port_address *best_fabric(const struct rbuf_pairing_side *ours,
                                                   const struct rbuf_pairing_side *theirs)
{
    const struct rbuf_port_address *best = NULL;
    unsigned best_speed = 0;

    for (uint32_t i = 0; i < ours->count; i++) {
        const struct rbuf_port_address *fabric = &ours->port[i];
        unsigned mine = fastest_in_fabric(ours, fabric);
        unsigned speed = fastest_in_fabric(theirs, fabric);

        speed = mine < speed ? mine : speed;
        if (has_fabric(theirs, fabric) &&
            (best == NULL || is_better(fabric, speed, best, best_speed))) {
            best = fabric;
            best_speed = speed;
        }
    }
    return best;
}

static struct row row_of(const struct rbuf_pairing_side *side, const bool *taken,
                         const struct rbuf_port_address *like, alike_t alike)
{
    struct row row = {.count = 0};

    for (uint32_t i = 0; i < side->count; i++) {
        if (!taken[i] && alike(&side->port[i], like)) {
            row.port[row.count++] = i;
        }
    }
    return row;
}

/* The place in a row of `count` at which the one with `fewer` ports begins, whose rank it is. */
static uint32_t first_of(uint32_t count, uint32_t fewer, uint32_t rank)
{
    return count > fewer ? rank % count : 0;
}

struct state {
    const struct rbuf_pairing_side *ours;
    const struct rbuf_pairing_side *theirs;
    bool our_taken[MOST];
    bool their_taken[MOST];
    struct rbuf_pairs pairs;
};

/* Pairs what is left of the ports that are alike. */
static void pair_rows(struct state *state, const struct rbuf_port_address *like, alike_t alike)
{
    const struct row ours = row_of(state->ours, state->our_taken, like, alike);
    const struct row theirs = row_of(state->theirs, state->their_taken, like, alike);
    const uint32_t count = ours.count < theirs.count ? ours.count : theirs.count;
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

struct rbuf_pairs rbuf_pair(const struct rbuf_pairing_side *ours,
                            const struct rbuf_pairing_side *theirs)
{
    static const alike_t rounds[] = {of_one_subnet, of_one_fabric};
    const struct rbuf_port_address *best = best_fabric(ours, theirs);
    const bool all = ours->told || theirs->told;
    struct state state = {.ours = ours, .theirs = theirs};

    for (uint32_t i = 0; i < MOST; i++) {
        state.pairs.partner[i] = -1;
    }
    for (size_t round = 0; best != NULL && round < sizeof(rounds) / sizeof(rounds[0]); round++) {
        for (uint32_t i = 0; i < ours->count; i++) {
            if (!state.our_taken[i] && (all || of_one_fabric(&ours->port[i], best))) {
                pair_rows(&state, &ours->port[i], rounds[round]);
            }
        }
    }
    return state.pairs;
}
