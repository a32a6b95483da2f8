/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Bounce buffers: registered memory for what core itself sends, and the adapter does not take
 * inside the request.
 *
 * Core's own messages (grants, offers of rings, ...) and words (credits, acknowledgements) stand in
 * memory that is not registered. Most adapters take all of them inline, and there are no bounce
 * buffers. One that takes less gets what does not fit out of these; one that takes nothing, all of
 * it. If none is free the message or word waits, as for room in the send queue.
 *
 * Invariant: a bounce buffer is free, or its request is posted and not back.
 */
#ifndef RBUF_CORE_BOUNCE_H
#define RBUF_CORE_BOUNCE_H

#include <stdint.h>
#include <sys/queue.h>

#include "core/base/arena.h"
#include "core/base/wire.h"

#define RBUF_BOUNCE_BYTES 256u /* of a buffer */

/* Inline room with which there is no need for any, bytes. */
#define RBUF_INLINE_ENOUGH                                                                         \
    ((uint32_t) (sizeof(struct rbuf_message_header) + sizeof(struct rbuf_offer)))

/* A buffer; while it is free it holds its place in the list of those. */
struct rbuf_bounce {
    union {
        unsigned char data[RBUF_BOUNCE_BYTES];
        SLIST_ENTRY(rbuf_bounce) link;
    };
};

struct rbuf_bounces {
    uint32_t lkey;
    SLIST_HEAD(, rbuf_bounce) free;
};

/* Makes buffers of `region`, which may be empty. */
void rbuf_bounces_open(struct rbuf_bounces *bounces, const struct rbuf_region *region);

/* NULL: none is free. */
struct rbuf_bounce *rbuf_bounce_take(struct rbuf_bounces *bounces);
void rbuf_bounce_give(struct rbuf_bounces *bounces, struct rbuf_bounce *bounce);

#endif
