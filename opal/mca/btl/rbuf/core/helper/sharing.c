/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The policies: which ranks of the node have a helper, and on which core (core/helper/sharing.h
 * lists them).
 */
#include "core/helper/sharing.h"

#include <stdbool.h>

static uint64_t draw(uint64_t seed, uint32_t rank)
{
    uint64_t hash = (seed ^ rank) * UINT64_C(0x9e3779b97f4a7c15);

    return (hash ^ hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool is_before(const struct rbuf_sharing_rank *rank, uint64_t seed, uint32_t a, uint32_t b)
{
    if (rank[a].registered_bytes != rank[b].registered_bytes) {
        return rank[a].registered_bytes > rank[b].registered_bytes;
    }
    return draw(seed, a) != draw(seed, b) ? draw(seed, a) < draw(seed, b) : a < b;
}

/* The rank that comes behind `before` in the order of registrations; the first one behind `ranks`.
 * Returns `ranks` at the end. */
static uint32_t next_of(const struct rbuf_sharing_rank *rank, uint32_t ranks, uint64_t seed,
                        uint32_t before)
{
    uint32_t best = ranks;

    for (uint32_t i = 0; i < ranks; i++) {
        if ((before == ranks || is_before(rank, seed, before, i)) &&
            (best == ranks || is_before(rank, seed, i, best))) {
            best = i;
        }
    }
    return best;
}

/* n of equation 2 where that many helpers are on a core. */
static uint32_t sharers_of(uint32_t helpers)
{
    return helpers > 1 ? helpers : 0;
}

/* Equation 2 for this rank where that many helpers are on its core. A rank that has had no helper
 * knows no period: it gets one, and learns. */
static bool meets(const struct rbuf_sharing_rank *rank, const struct rbuf_sharing_node *node,
                  uint32_t helpers)
{
    return rank->period_ns == 0 ||
           rank->work_ns + sharers_of(helpers) * node->slice_ns <= rank->period_ns;
}

/* The core with the fewest helpers on which this rank and those can meet their deadlines. */
static int32_t shared_core(const struct rbuf_sharing_node *node,
                           const struct rbuf_sharing_rank *rank, uint32_t ranks,
                           const struct rbuf_sharing_assignment *assignment, uint32_t who)
{
    int32_t best = RBUF_SHARING_NONE;
    uint32_t fewest = UINT32_MAX;

    for (uint32_t core = 0; core < node->idle; core++) {
        uint32_t there = 1; /* with this rank's */
        bool met = true;

        for (uint32_t i = 0; i < ranks; i++) {
            there += assignment[i].core == (int32_t) core;
        }
        for (uint32_t i = 0; i < ranks; i++) {
            met = met && ((assignment[i].core != (int32_t) core && i != who) ||
                          meets(&rank[i], node, there));
        }
        if (met && there < fewest) {
            fewest = there;
            best = (int32_t) core;
        }
    }
    return best;
}

static int32_t core_for(enum rbuf_sharing policy, const struct rbuf_sharing_node *node,
                        const struct rbuf_sharing_rank *rank, uint32_t ranks,
                        const struct rbuf_sharing_assignment *assignment, uint32_t who,
                        uint32_t position)
{
    if (policy == RBUF_SHARING_OFF) {
        return RBUF_SHARING_NONE;
    }
    if (node->idle == 0) {
        return policy == RBUF_SHARING_FORCE ? RBUF_SHARING_ANY : RBUF_SHARING_NONE;
    }
    if (position < node->idle || policy == RBUF_SHARING_AGGRESSIVE ||
        policy == RBUF_SHARING_FORCE) {
        return (int32_t) (position % node->idle);
    }
    return policy == RBUF_SHARING_COORDINATED ? shared_core(node, rank, ranks, assignment, who)
                                              : RBUF_SHARING_NONE;
}

void rbuf_sharing_assign(enum rbuf_sharing policy, const struct rbuf_sharing_node *node,
                         const struct rbuf_sharing_rank *rank, uint32_t ranks,
                         struct rbuf_sharing_assignment *assignment)
{
    uint32_t who = ranks;

    for (uint32_t i = 0; i < ranks; i++) {
        assignment[i] = (struct rbuf_sharing_assignment){.core = RBUF_SHARING_NONE};
    }
    for (uint32_t position = 0; position < ranks; position++) {
        who = next_of(rank, ranks, node->seed, who);
        assignment[who].core = core_for(policy, node, rank, ranks, assignment, who, position);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t there = 0;

        for (uint32_t j = 0; j < ranks; j++) {
            there += assignment[i].core >= 0 && assignment[j].core == assignment[i].core;
        }
        assignment[i].sharers = sharers_of(there);
    }
}
