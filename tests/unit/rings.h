/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests of eager rings do with a world: small messages both ways, until there are rings.
 */
#ifndef RBUF_TEST_RINGS_H
#define RBUF_TEST_RINGS_H

#include "case.h"
#include "core/eager/ring.h"

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

/* Both have a ring to the other, and nothing is under way. */
static inline void rings_open(struct world *world)
{
    rings_exchange(world, 20, 40);
    case_settle(world);
    ck_assert_ptr_nonnull(world->nodes[0].links[1].peer->eager.ring_in);
    ck_assert_ptr_nonnull(world->nodes[1].links[0].peer->eager.ring_in);
}

#endif
