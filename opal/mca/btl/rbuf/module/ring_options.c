/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The geometry of eager rings, by the parameters and by what the port's adapter keeps of the order
 * of writes. Pure.
 */
#include "module/module.h"

#include "params/params.h"
#include "core/eager/ring_long.h"

/* Payload of the longest message, bytes. */
static uint32_t longest(void)
{
    const uint64_t asked = mca_btl_rbuf_params.ring_longest;
    const uint64_t eager = mca_btl_rbuf_eager_most(&mca_btl_rbuf_process.module_template);
    const uint64_t bytes = asked < eager ? asked : eager; /* auto is more than any */

    return (uint32_t) (bytes < RBUF_RING_BYTES_MAX ? bytes : RBUF_RING_BYTES_MAX);
}

struct rbuf_ring_options mca_btl_rbuf_ring_options(const struct rbuf_port *port)
{
    const struct mca_btl_rbuf_params *params = &mca_btl_rbuf_params;

    /* A message is found by its last word, which is trusted or has a checksum. */
    if (params->polling_set == 0 || port->subblock == RBUF_SUBBLOCK_OFF) {
        return (struct rbuf_ring_options){0};
    }
    return (struct rbuf_ring_options){.slots = (uint32_t) params->ring_slots,
                                      .slot_bytes = (uint32_t) params->ring_slot_size,
                                      .set = (uint32_t) params->polling_set,
                                      .threshold = (uint32_t) params->ring_threshold,
                                      .longest = longest()};
}
