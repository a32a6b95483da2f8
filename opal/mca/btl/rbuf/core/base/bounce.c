/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The list of free bounce buffers (core/base/bounce.h).
 */
#include "core/base/bounce.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/wire.h"

static_assert(sizeof(struct rbuf_ring_offer) <= sizeof(struct rbuf_offer),
              "no message of core's own has a longer payload");
static_assert(sizeof(struct rbuf_early_window) <= sizeof(struct rbuf_offer), "nor has this one");
static_assert(RBUF_INLINE_ENOUGH <= RBUF_BOUNCE_BYTES, "each of them fits into a buffer");

int rbuf_bounces_open(struct rbuf_bounces *bounces, const struct rbuf_region *region)
{
    const size_t count = region->bytes / RBUF_BOUNCE_BYTES;

    SLIST_INIT(&bounces->free);
    if (count == 0) {
        return 0;
    }
    bounces->all = calloc(count, sizeof(*bounces->all));
    if (bounces->all == NULL) {
        return -ENOMEM;
    }
    bounces->lkey = region->lkey;
    for (size_t i = 0; i < count; i++) {
        struct rbuf_bounce *bounce = &bounces->all[i];

        bounce->data = (unsigned char *) region->base + i * RBUF_BOUNCE_BYTES;
        SLIST_INSERT_HEAD(&bounces->free, bounce, link);
    }
    return 0;
}

void rbuf_bounces_close(struct rbuf_bounces *bounces)
{
    free(bounces->all);
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
