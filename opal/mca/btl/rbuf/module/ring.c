/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory for eager rings: found when core asks for it, one ring at a time, and kept as long as the
 * module. A process pins as many rings as it has had partners at once, in both directions: at most
 * three times the polling set.
 */
#include "module/module.h"

#include <stdlib.h>

#include "params/help.h"
#include "params/params.h"
#include "core/eager/ring_long.h"

/* Memory for one ring, leased to core. */
struct mca_btl_rbuf_ring {
    SLIST_ENTRY(mca_btl_rbuf_ring) link;
    struct rbuf_memory memory;
    struct rbuf_ring_memory core;
};

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

/* RBUF_EVENT_RING_MEMORY. Not to have any is no error: messages go over send/receive. */
void mca_btl_rbuf_ring_wanted(mca_btl_rbuf_module_t *module)
{
    const struct rbuf_ring_options *options = &module->core.options.ring;
    size_t stagger = module->ring_count % RBUF_RING_STEPS * RBUF_RING_STAGGER;
    struct mca_btl_rbuf_ring *ring = calloc(1, sizeof(*ring));
    struct rbuf_problem problem;

    if (ring != NULL &&
        mca_btl_rbuf_memory_allocate(&module->registrar, stagger + rbuf_ring_memory_bytes(options),
                                     IBV_ACCESS_REMOTE_WRITE, &ring->memory, &problem) != 0) {
        mca_btl_rbuf_verbose("rbuf: no memory can be pinned for a further ring of %u slots of %u "
                             "bytes (btl_rbuf_ring_slots, btl_rbuf_ring_slot_size): its peer's "
                             "messages go over send/receive",
                             options->slots, options->slot_bytes);
        free(ring);
        ring = NULL;
    }
    mca_btl_rbuf_lock(module);
    if (ring != NULL) {
        ring->core =
            (struct rbuf_ring_memory){.base = (unsigned char *) ring->memory.base + stagger,
                                      .lkey = ring->memory.mr->lkey,
                                      .rkey = ring->memory.mr->rkey};
        SLIST_INSERT_HEAD(&module->rings, ring, link);
        module->ring_count++;
    }
    rbuf_ring_memory_give(&module->core, ring != NULL ? &ring->core : NULL);
    mca_btl_rbuf_unlock(module);
}

void mca_btl_rbuf_rings_close(mca_btl_rbuf_module_t *module)
{
    struct mca_btl_rbuf_ring *ring;

    while ((ring = SLIST_FIRST(&module->rings)) != NULL) {
        SLIST_REMOVE_HEAD(&module->rings, link);
        rbuf_memory_free(&ring->memory);
        free(ring);
    }
}
