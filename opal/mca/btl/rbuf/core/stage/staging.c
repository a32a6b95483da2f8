/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Growing staging (core/stage/staging.h), by the arena's state:
 *
 *     READY -> ASKED -> READY or GROWN, as there is room for a further extent; ASKED -> REFUSED
 */
#include "core/stage/staging.h"

bool rbuf_staging_take(struct rbuf_core *core, struct rbuf_arena *arena, uint32_t count,
                       uint32_t *first)
{
    if (rbuf_arena_take(arena, count, first)) {
        return true;
    }
    (void) rbuf_staging_want(core, arena);
    return false;
}

bool rbuf_staging_want(struct rbuf_core *core, struct rbuf_arena *arena)
{
    if (arena->growth == RBUF_ARENA_READY && rbuf_core_ask(core, RBUF_EVENT_STAGING, NULL, arena)) {
        arena->growth = RBUF_ARENA_ASKED;
    }
    return arena->growth == RBUF_ARENA_ASKED || arena->growth == RBUF_ARENA_READY;
}

void rbuf_staging_refuse(struct rbuf_arena *arena)
{
    arena->growth = RBUF_ARENA_REFUSED;
}
