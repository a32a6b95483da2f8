/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Memory for eager rings (core/eager/ring.h), which the user supplies when it is asked for.
 */
#include "core/eager/ring.h"

#include "core/state/state.h"

void rbuf_ring_memory_give(struct rbuf_core *core, struct rbuf_ring_memory *memory)
{
    core->eager.rings.supply = memory != NULL ? RBUF_RING_SUPPLY_ASK : RBUF_RING_SUPPLY_ENDED;
    if (memory != NULL) {
        SLIST_INSERT_HEAD(&core->eager.rings.spare, memory, link);
    }
    rbuf_ring_out_supplied(core);
}

struct rbuf_ring_memory *rbuf_ring_memory_take(struct rbuf_core *core)
{
    struct rbuf_ring_memory *memory = SLIST_FIRST(&core->eager.rings.spare);

    if (memory != NULL) {
        SLIST_REMOVE_HEAD(&core->eager.rings.spare, link);
    } else if (core->eager.rings.supply == RBUF_RING_SUPPLY_ASK &&
               rbuf_core_ask(core, RBUF_EVENT_RING_MEMORY, NULL, NULL)) {
        core->eager.rings.supply = RBUF_RING_SUPPLY_ASKED;
    }
    return memory;
}

void rbuf_ring_memory_return(struct rbuf_core *core, struct rbuf_ring_memory *memory)
{
    SLIST_INSERT_HEAD(&core->eager.rings.spare, memory, link);
}
