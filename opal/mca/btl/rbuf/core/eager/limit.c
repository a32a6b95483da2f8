/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * When the eager limit is lowered, and for how long (core/eager/limit.h).
 */
#include "core/eager/limit.h"

static uint32_t next_pause(const struct rbuf_eager *eager)
{
    if (eager->pause == 0 || eager->by_ring > eager->pause) {
        return RBUF_EAGER_PAUSE_LEAST;
    }
    return 2 * eager->pause < RBUF_EAGER_PAUSE_MOST ? 2 * eager->pause : RBUF_EAGER_PAUSE_MOST;
}

void rbuf_eager_missed(struct rbuf_eager *eager)
{
    if (eager->left == 0 && eager->least < eager->most) {
        eager->pause = next_pause(eager);
        eager->left = eager->pause;
    }
}

void rbuf_eager_rendezvous(struct rbuf_eager *eager, size_t bytes)
{
    if (eager->left > 0 && bytes <= eager->most && --eager->left == 0) {
        eager->by_ring = 0;
    }
}
