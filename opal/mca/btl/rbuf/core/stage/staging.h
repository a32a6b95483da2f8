/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Staging that grows: who finds an arena short of blocks asks for more, and goes on as it would
 * without. The user registers what is asked for (RBUF_EVENT_STAGING) and hands it in.
 *
 * Invariants: at most one request an arena is out; an arena whose memory was refused once is not
 * asked for again, and works on as it is. What must be possible always is possible with the first
 * extent alone.
 */
#ifndef RBUF_CORE_STAGING_H
#define RBUF_CORE_STAGING_H

#include "core/state/state.h"

/* As rbuf_arena_take(), of one of core's arenas; who gets none is a reason to grow. */
bool rbuf_staging_take(struct rbuf_core *core, struct rbuf_arena *arena, uint32_t count,
                       uint32_t *first);

/* Somebody waits for blocks. True if there may soon be more. */
bool rbuf_staging_want(struct rbuf_core *core, struct rbuf_arena *arena);

/* Answers RBUF_EVENT_STAGING, or rbuf_core_grow() does: no memory can be registered. */
void rbuf_staging_refuse(struct rbuf_arena *arena);

#endif
