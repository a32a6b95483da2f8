/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests of standing lanes share: what a node has counted, and the ways in which a head's
 * chunks are found.
 */
#ifndef RBUF_TEST_HEADS_H
#define RBUF_TEST_HEADS_H

#include "case.h"
#include "core/standing.h"

static inline const struct rbuf_stats *stats_of(const struct world *world, unsigned node)
{
    return &world->nodes[node].core.stats;
}

/* By flags, or as they are announced. */
static const enum rbuf_arrival arrivals[] = {RBUF_ARRIVAL_BLOCK, RBUF_ARRIVAL_IMMEDIATE};

#endif
