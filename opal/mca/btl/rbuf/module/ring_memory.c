/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Owns the memory of eager rings. It is registered when core asks for it, one ring at a time, and
 * kept as long as the module: core leases it to one peer after the other. A process pins as many
 * rings as it has had partners at once, in both directions: at most three times the polling set.
 *
 * Invariants: `rings` has `ring_count` rings, and none leaves it before the module closes.
 * Threads: the module's lock guards `rings`. Memory is registered without it. Core asks for one
 * ring at a time, so `ring_count` has one writer, who reads it without the lock.
 */
#include "module/module.h"

#include <stdlib.h>

#include "params/help.h"

/* Memory for one ring, leased to core. */
struct mca_btl_rbuf_ring {
    SLIST_ENTRY(mca_btl_rbuf_ring) link;
    struct rbuf_memory memory;
    struct rbuf_ring_memory core;
};

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
