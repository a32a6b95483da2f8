/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests of eager rings do with a world: small messages both ways, until there are rings.
 */
#ifndef RBUF_TEST_RINGS_H
#define RBUF_TEST_RINGS_H

#include "case.h"
#include "core/eager/ring.h"
#include "core/link/credit.h"
#include "inspect/eager.h"

static inline const struct rbuf_stats *rings_stats(const struct world *world, unsigned node)
{
    return &world->nodes[node].core.stats;
}

/* Messages both ways, in pairs: one of two goes by the control channel. */
static inline void rings_exchange(struct world *world, int count, uint64_t largest)
{
    struct sim_random random = {(uint64_t) count};

    for (int i = 0; i < 2 * count; i++) {
        unsigned from = (unsigned) i / 2 % 2;

        world_send(world, WORLD_EAGER, from, 1 - from, sim_random_size(&random, largest));
    }
    case_run(world);
}

/* What the next header to the peer says of slots that it may use again, modulo 2^16. */
static inline uint16_t rings_credited(const struct rbuf_peer *peer)
{
    uint16_t counts[RBUF_COUNTS];

    rbuf_credit_advertise(peer, counts);
    return counts[RBUF_FLOW_RING];
}

/* Both have a ring to the other, and nothing is under way. */
static inline void rings_open(struct world *world)
{
    rings_exchange(world, 20, 40);
    case_settle(world);
    ck_assert(inspect_is_polled(world->nodes[0].links[1].peer));
    ck_assert(inspect_is_polled(world->nodes[1].links[0].peer));
}

#endif
