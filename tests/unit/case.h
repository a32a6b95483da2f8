/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests do with a world: run it, and be sure that nothing is wrong or left over.
 */
#ifndef RBUF_CASE_H
#define RBUF_CASE_H

#include "inspect/eager.h"
#include "inspect/onesided.h"
#include "inspect/rendezvous.h"
#include "world.h"
#include "unit.h"

/* Little of everything, so that a few messages have to wait for all of it. */
static inline struct world_options case_busy(void)
{
    struct world_options options = world_defaults();

    options.core.schedule.block_bytes = 1024;
    options.core.schedule.buffer_blocks = 8;
    options.model.packet_bytes = 1024;
    options.core.window[0] = options.core.window[1] = 8;
    options.depth = 16;
    options.send_bytes = 40 * 1024;
    options.receive_bytes = 60 * 1024;
    options.followers = 1;
    return options;
}

/* A schedule small enough to try every length of it. */
static inline struct world_options case_small_blocks(void)
{
    struct world_options options = world_defaults();

    options.core.schedule.block_bytes = 64;
    options.core.schedule.first_blocks = 2;
    options.core.schedule.buffer_blocks = 6;
    options.core.quantum = 200;
    options.send_bytes = options.receive_bytes = 4096;
    options.model.packet_bytes = 64;
    return options;
}

/* Both nodes expect whatever they have that was not, until there is no more. */
static inline void case_expect_all(struct world *world)
{
    world_settle(world);
    for (unsigned node = 0; node < 2; node++) {
        while (world->nodes[node].unexpected != NULL) {
            world_expect(world, node);
            world_settle(world);
        }
    }
}

/* All open messages arrive, with the right bytes. */
static inline void case_run(struct world *world)
{
    ck_assert_msg(world_run(world) == WORLD_DONE, "deadlock: %u messages open at %llu ns",
                  world->open, (unsigned long long) world_now(world));
    ck_assert_msg(world->corrupt == 0, "%u messages arrived wrong", world->corrupt);
    ck_assert_uint_eq(world->failed, 0);
}

/* What core has counted is what there is. */
static inline void case_holds(const struct world_node *node)
{
    const struct rbuf_core *core = &node->core;
    const char *fault = inspect_rendezvous_fault(core);

    fault = fault != NULL ? fault : inspect_rings_fault(core, node->ring_memory_count);
    for (uint32_t i = 0; fault == NULL && i < core->peer_count; i++) {
        fault = core->peers[i] != NULL ? inspect_onesided_fault(core->peers[i]) : NULL;
    }
    ck_assert_msg(fault == NULL, "does not hold: %s", fault);
}

static inline void case_settle(struct world *world)
{
    const char *left;

    world_settle(world);
    left = world_leftover(world);
    ck_assert_msg(left == NULL, "%s", left);
    for (unsigned node = 0; node < world->options.nodes; node++) {
        case_holds(&world->nodes[node]);
    }
}

static inline void case_close(struct world *world)
{
    case_settle(world);
    world_close(world);
}

#endif
