/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The paper's protocols as plans, and early data for a plan.
 */
#include "model/plan.h"

#include <math.h>

#include "model/equations.h"

struct rbuf_plan rbuf_plan_copy(uint64_t bytes, uint32_t block_bytes)
{
    uint32_t payload = block_bytes - RBUF_FLAG_BYTES;
    uint64_t blocks = bytes > 0 ? (bytes - 1) / payload + 1 : 1;

    return (struct rbuf_plan){.schedule = {.block_bytes = block_bytes,
                                           .growth = RBUF_GROWTH_ONE,
                                           .first_blocks = (uint16_t) blocks,
                                           .buffer_blocks = (uint16_t) blocks,
                                           .buffers = 1},
                              .arrival = RBUF_ARRIVAL_CHUNK};
}

struct rbuf_plan rbuf_plan_pipeline(const struct rbuf_machine *machine, uint64_t bytes,
                                    uint32_t block_bytes)
{
    struct rbuf_plan plan = rbuf_plan_copy(bytes, block_bytes);
    double blocks = rbuf_equation_best_chunk(machine, (double) bytes) / block_bytes;

    if (blocks < plan.schedule.first_blocks) {
        plan.schedule.first_blocks = blocks < 1 ? 1 : (uint16_t) lround(blocks);
        plan.schedule.buffer_blocks = plan.schedule.first_blocks;
    }
    plan.schedule.buffers = RBUF_BUFFERS_MAX;
    return plan;
}

void rbuf_plan_early(struct rbuf_plan *plan, uint32_t early_bytes, uint32_t opening_bytes)
{
    struct rbuf_schedule *schedule = &plan->schedule;
    uint32_t opening = (opening_bytes + schedule->block_bytes - 1) / schedule->block_bytes;
    uint32_t room = (early_bytes + schedule->block_bytes - 1) / schedule->block_bytes;

    schedule->opening_blocks = opening < schedule->first_blocks ? (uint16_t) opening : 0;
    plan->early_blocks = room > schedule->first_blocks ? room : schedule->first_blocks + 1u;
}
