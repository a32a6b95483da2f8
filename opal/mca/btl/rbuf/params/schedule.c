/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Makes a schedule out of the parameters and of how the protocol cuts (params/schedule.h). */
#include "params/schedule.h"

#include <stdbool.h>
#include <unistd.h>

#include "params/params.h"
#include "params/protocol.h"
#include "opal/util/proc.h"

/* More processes of this job on the node than there are processors in it. */
static bool takes_turns(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors > 0 && (long) opal_process_info.num_local_peers + 1 > processors;
}

static uint8_t buffers_of(const struct mca_btl_rbuf_params *params)
{
    if (params->buffers != 0) {
        return (uint8_t) params->buffers;
    }
    return takes_turns() ? RBUF_BUFFERS_MAX : 3;
}

struct rbuf_schedule mca_btl_rbuf_schedule(void)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;
    struct rbuf_schedule schedule = {.block_bytes = (uint32_t) params->block_size,
                                     .growth = (uint32_t) params->q,
                                     .first_blocks = (uint16_t) (params->c0 / params->block_size),
                                     .buffer_blocks =
                                         (uint16_t) (params->largest_chunk / params->block_size),
                                     .buffers = buffers_of(params)};

    switch (mca_btl_rbuf_protocol()->cut) {
    case MCA_BTL_RBUF_CUT_GROWING:
        break;
    case MCA_BTL_RBUF_CUT_EQUAL:
        schedule.first_blocks = (uint16_t) (params->pipeline_chunk / params->block_size);
        schedule.growth = RBUF_GROWTH_ONE;
        break;
    case MCA_BTL_RBUF_CUT_WHOLE:
        schedule.first_blocks = RBUF_BUFFER_BLOCKS;
        schedule.buffer_blocks = RBUF_BUFFER_BLOCKS;
        schedule.growth = RBUF_GROWTH_ONE;
        schedule.buffers = 1;
        break;
    }
    return schedule;
}
