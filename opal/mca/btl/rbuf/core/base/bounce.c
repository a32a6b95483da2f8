/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The list of free bounce buffers (core/base/bounce.h).
 */
#include "core/base/bounce.h"

#include <assert.h>

#include "core/base/wire.h"

static_assert(sizeof(struct rbuf_ring_offer) <= sizeof(struct rbuf_offer),
              "no message of core's own has a longer payload");
static_assert(sizeof(struct rbuf_early_window) <= sizeof(struct rbuf_offer), "nor has this one");
static_assert(RBUF_INLINE_ENOUGH <= sizeof(struct rbuf_bounce), "each of them fits into a buffer");

void rbuf_bounces_open(struct rbuf_bounces *bounces, const struct rbuf_region *region)
{
    struct rbuf_bounce *all = region->base;

    SLIST_INIT(&bounces->free);
    bounces->lkey = region->lkey;
    for (size_t i = 0; i < region->bytes / sizeof(*all); i++) {
        rbuf_bounce_give(bounces, &all[i]);
    }
}

struct rbuf_bounce *rbuf_bounce_take(struct rbuf_bounces *bounces)
{
    struct rbuf_bounce *bounce = SLIST_FIRST(&bounces->free);

    if (bounce != NULL) {
        SLIST_REMOVE_HEAD(&bounces->free, link);
    }
    return bounce;
}

void rbuf_bounce_give(struct rbuf_bounces *bounces, struct rbuf_bounce *bounce)
{
    SLIST_INSERT_HEAD(&bounces->free, bounce, link);
}
