/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What fabrics without time have in common, on which a write is a copy and everything is complete
 * when it is posted. Only what small messages need; the rest says DEAD, so that its use would show.
 *
 * Included by such a fabric.h, which has NULL_FABRIC_INLINE (bytes), NULL_FABRIC_ROOM (requests),
 * its struct rbuf_fab_queue, rbuf_fab_send(), and null_fabric_wrote().
 */
#ifndef RBUF_TESTS_NULL_FABRIC_H
#define RBUF_TESTS_NULL_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/fab.h"

struct rbuf_fab_queue;

struct rbuf_fab_request {
    uint32_t nothing;
};

/* Something was written into the memory at the other end. */
static inline void null_fabric_wrote(struct rbuf_fab_queue *queue);

static inline uint32_t rbuf_fab_inline_max(const struct rbuf_fab_queue *queue)
{
    (void) queue;
    return NULL_FABRIC_INLINE;
}

static inline uint32_t rbuf_fab_outstanding(const struct rbuf_fab_queue *queue)
{
    (void) queue;
    return 0;
}

static inline uint32_t rbuf_fab_room(const struct rbuf_fab_queue *queue)
{
    (void) queue;
    return NULL_FABRIC_ROOM;
}

static inline bool rbuf_fab_is_roomy(const struct rbuf_fab_queue *queue)
{
    (void) queue;
    return true;
}

static inline bool rbuf_fab_has_room(const struct rbuf_fab_queue *queue, bool signalled)
{
    (void) queue, (void) signalled;
    return true;
}

static inline enum rbuf_fab_status
null_fabric_write(struct rbuf_fab_queue *queue, const void *local, uint32_t bytes, uint64_t remote)
{
    memcpy((void *) (uintptr_t) remote, local, bytes);
    null_fabric_wrote(queue);
    return RBUF_FAB_OK;
}

static inline void rbuf_fab_prepare_write(struct rbuf_fab_request *request, uint32_t lkey,
                                          uint32_t rkey)
{
    (void) request, (void) lkey, (void) rkey;
}

static inline enum rbuf_fab_status rbuf_fab_post_write(struct rbuf_fab_queue *queue,
                                                       struct rbuf_fab_request *request,
                                                       const void *local, uint32_t bytes,
                                                       uint64_t remote, bool inlined)
{
    (void) request, (void) inlined;
    return null_fabric_write(queue, local, bytes, remote);
}

static inline enum rbuf_fab_status rbuf_fab_write_inline(struct rbuf_fab_queue *queue,
                                                         const void *data, uint32_t bytes,
                                                         uint64_t remote, uint32_t rkey,
                                                         struct rbuf_work *work)
{
    (void) rkey, (void) work;
    return null_fabric_write(queue, data, bytes, remote);
}

static inline enum rbuf_fab_status rbuf_fab_write(struct rbuf_fab_queue *queue, const void *local,
                                                  uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                  uint32_t rkey, struct rbuf_work *work)
{
    (void) queue, (void) local, (void) lkey, (void) bytes, (void) remote, (void) rkey, (void) work;
    return RBUF_FAB_DEAD;
}

static inline enum rbuf_fab_status rbuf_fab_gather(struct rbuf_fab_queue *queue,
                                                   const struct rbuf_fab_piece *pieces,
                                                   unsigned count, uint64_t remote, uint32_t rkey,
                                                   struct rbuf_work *work)
{
    (void) queue, (void) pieces, (void) count, (void) remote, (void) rkey, (void) work;
    return RBUF_FAB_DEAD;
}

static inline enum rbuf_fab_status rbuf_fab_write_immediate(struct rbuf_fab_queue *queue,
                                                            const void *local, uint32_t lkey,
                                                            uint32_t bytes, uint64_t remote,
                                                            uint32_t rkey, uint32_t immediate,
                                                            struct rbuf_work *work)
{
    (void) queue, (void) local, (void) lkey, (void) bytes, (void) remote, (void) rkey;
    (void) immediate, (void) work;
    return RBUF_FAB_DEAD;
}

static inline enum rbuf_fab_status rbuf_fab_post_list(struct rbuf_fab_queue *queue,
                                                      const struct rbuf_fab_rma *list,
                                                      unsigned count, unsigned *posted)
{
    (void) queue, (void) list, (void) count;
    *posted = 0;
    return RBUF_FAB_DEAD;
}

#endif
