/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of protocols (params/protocol.h), and the schedule by which they cut. Protocol copy is
 * the naive one: a message leaves when all of it is copied, and so nothing of it is early. Where
 * all is registered the schedule is for what cannot be.
 */
#include "params/protocol.h"

#include <unistd.h>

#include "opal/util/proc.h"

const struct mca_btl_rbuf_protocol_row mca_btl_rbuf_protocols[] = {
    [MCA_BTL_RBUF_SUPERPIPELINE] = {MCA_BTL_RBUF_TRAVEL_STAGED, MCA_BTL_RBUF_CUT_GROWING, true},
    [MCA_BTL_RBUF_PIPELINE] = {MCA_BTL_RBUF_TRAVEL_STAGED, MCA_BTL_RBUF_CUT_EQUAL, true},
    [MCA_BTL_RBUF_COPY] = {MCA_BTL_RBUF_TRAVEL_STAGED, MCA_BTL_RBUF_CUT_WHOLE, false},
    [MCA_BTL_RBUF_REGISTER] = {MCA_BTL_RBUF_TRAVEL_IN_PLACE, MCA_BTL_RBUF_CUT_GROWING, false},
    [MCA_BTL_RBUF_RCACHE] = {MCA_BTL_RBUF_TRAVEL_IN_PLACE, MCA_BTL_RBUF_CUT_GROWING, false},
    [MCA_BTL_RBUF_AUTO] = {MCA_BTL_RBUF_TRAVEL_CHOSEN, MCA_BTL_RBUF_CUT_GROWING, true},
    [MCA_BTL_RBUF_HELPER] = {MCA_BTL_RBUF_TRAVEL_IN_PLACE, MCA_BTL_RBUF_CUT_GROWING, false},
    /* Superpipeline or auto. */
    [MCA_BTL_RBUF_DEFAULT] = {MCA_BTL_RBUF_TRAVEL_CHOSEN, MCA_BTL_RBUF_CUT_GROWING, true}};

const struct mca_btl_rbuf_cut_settings *mca_btl_rbuf_cut_settings(void)
{
    static const struct mca_btl_rbuf_cut_settings by_cut[] = {
        [MCA_BTL_RBUF_CUT_GROWING] = {"c0", "c0, q, largest_chunk, buffers"},
        [MCA_BTL_RBUF_CUT_EQUAL] = {"pipeline_chunk", "pipeline_chunk, largest_chunk, buffers"},
        [MCA_BTL_RBUF_CUT_WHOLE] = {NULL, "staging_size"}};
    static const struct mca_btl_rbuf_cut_settings by_length = {
        NULL, "pipeline_gap, largest_chunk, buffers"};
    const enum mca_btl_rbuf_cut cut = mca_btl_rbuf_protocol()->cut;

    return cut == MCA_BTL_RBUF_CUT_EQUAL && mca_btl_rbuf_params.pipeline_gap > 0 ? &by_length
                                                                                 : &by_cut[cut];
}

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
    const enum mca_btl_rbuf_cut cut = mca_btl_rbuf_protocol()->cut;

    if (cut == MCA_BTL_RBUF_CUT_WHOLE) {
        return (struct rbuf_schedule){.block_bytes = (uint32_t) params->block_size,
                                      .growth = RBUF_GROWTH_ONE,
                                      .first_blocks = RBUF_BUFFER_BLOCKS,
                                      .buffer_blocks = RBUF_BUFFER_BLOCKS,
                                      .buffers = 1};
    }
    return (struct rbuf_schedule){
        .block_bytes = (uint32_t) params->block_size,
        .growth = cut == MCA_BTL_RBUF_CUT_EQUAL ? RBUF_GROWTH_ONE : (uint32_t) params->q,
        .first_blocks =
            (uint16_t) ((cut == MCA_BTL_RBUF_CUT_EQUAL ? params->pipeline_chunk : params->c0) /
                        params->block_size),
        .buffer_blocks = (uint16_t) (params->largest_chunk / params->block_size),
        .buffers = buffers_of(params)};
}
