/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests of packed data that is sent ahead do with a world: three short pieces are.
 */
#ifndef RBUF_TEST_PIECES_H
#define RBUF_TEST_PIECES_H

#include "case.h"
#include "core/ahead.h"

static inline struct world_options pieces_options(void)
{
    struct world_options options = world_defaults();

    options.ahead = 3;
    options.piece_bytes = 1000;
    options.core.pieces_kept = 8;
    return options;
}

static inline const struct rbuf_stats *pieces_stats(const struct world *world, unsigned node)
{
    return &world->nodes[node].core.stats;
}

#endif
