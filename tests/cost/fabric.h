/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A fabric that costs nothing: a write is a copy, a send waits in the queue pair of the other side,
 * everything is complete when it is posted. For counting what core itself spends on a message.
 *
 * Only what small messages need; the rest says DEAD, so that its use would show.
 */
#ifndef RBUF_COST_FABRIC_H
#define RBUF_COST_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/work.h"

#define COST_SENDS      64u
#define COST_SEND_BYTES 256u

enum rbuf_fab_status { RBUF_FAB_OK, RBUF_FAB_AGAIN, RBUF_FAB_DEAD };

/* A queue pair: what was sent to this side and not taken yet. */
struct rbuf_fab_queue {
    struct rbuf_fab_queue *other;
    uint32_t first;
    uint32_t count;
    uint32_t bytes[COST_SENDS];
    _Alignas(16) unsigned char sent[COST_SENDS][COST_SEND_BYTES];
};

struct rbuf_fab_request {
    uint32_t nothing;
};

struct rbuf_fab_piece {
    const void *address;
    uint32_t bytes;
    uint32_t lkey;
};

static inline uint32_t rbuf_fab_inline_max(const struct rbuf_fab_queue *queue)
{
    (void) queue;
    return COST_SEND_BYTES;
}

static inline uint32_t rbuf_fab_outstanding(const struct rbuf_fab_queue *queue)
{
    (void) queue;
    return 0;
}

static inline uint32_t rbuf_fab_room(const struct rbuf_fab_queue *queue)
{
    (void) queue;
    return 1024;
}

static inline bool rbuf_fab_has_room(const struct rbuf_fab_queue *queue, bool signalled)
{
    (void) queue;
    (void) signalled;
    return true;
}

static inline enum rbuf_fab_status rbuf_fab_place(const void *local, uint32_t bytes,
                                                  uint64_t remote)
{
    memcpy((void *) (uintptr_t) remote, local, bytes);
    return RBUF_FAB_OK;
}

static inline void rbuf_fab_prepare_write(struct rbuf_fab_request *request, uint32_t lkey,
                                          uint32_t rkey)
{
    (void) request;
    (void) lkey;
    (void) rkey;
}

static inline enum rbuf_fab_status rbuf_fab_post_write(struct rbuf_fab_queue *queue,
                                                       struct rbuf_fab_request *request,
                                                       const void *local, uint32_t bytes,
                                                       uint64_t remote, bool inlined)
{
    (void) queue;
    (void) request;
    (void) inlined;
    return rbuf_fab_place(local, bytes, remote);
}

static inline enum rbuf_fab_status rbuf_fab_write_inline(struct rbuf_fab_queue *queue,
                                                         const void *data, uint32_t bytes,
                                                         uint64_t remote, uint32_t rkey,
                                                         struct rbuf_work *work)
{
    (void) queue;
    (void) rkey;
    (void) work;
    return rbuf_fab_place(data, bytes, remote);
}

/* One piece, unsignalled: what core sends small messages with. */
static inline enum rbuf_fab_status rbuf_fab_send(struct rbuf_fab_queue *queue,
                                                 const struct rbuf_fab_piece *pieces,
                                                 unsigned count, bool inlined,
                                                 struct rbuf_work *work)
{
    struct rbuf_fab_queue *other = queue->other;
    uint32_t place = (other->first + other->count) % COST_SENDS;

    if (count != 1 || !inlined || work != NULL || other->count == COST_SENDS) {
        return RBUF_FAB_DEAD;
    }
    memcpy(other->sent[place], pieces->address, pieces->bytes);
    other->bytes[place] = pieces->bytes;
    other->count++;
    return RBUF_FAB_OK;
}

static inline enum rbuf_fab_status rbuf_fab_write(struct rbuf_fab_queue *queue, const void *local,
                                                  uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                  uint32_t rkey, struct rbuf_work *work)
{
    (void) queue, (void) local, (void) lkey, (void) bytes, (void) remote, (void) rkey, (void) work;
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

static inline enum rbuf_fab_status rbuf_fab_read(struct rbuf_fab_queue *queue, void *local,
                                                 uint32_t lkey, uint32_t bytes, uint64_t remote,
                                                 uint32_t rkey, struct rbuf_work *work)
{
    (void) queue, (void) local, (void) lkey, (void) bytes, (void) remote, (void) rkey, (void) work;
    return RBUF_FAB_DEAD;
}

static inline enum rbuf_fab_status rbuf_fab_fetch_add(struct rbuf_fab_queue *queue, uint64_t *local,
                                                      uint32_t lkey, uint64_t remote, uint32_t rkey,
                                                      uint64_t operand, struct rbuf_work *work)
{
    (void) queue, (void) local, (void) lkey, (void) remote, (void) rkey, (void) operand;
    (void) work;
    return RBUF_FAB_DEAD;
}

static inline enum rbuf_fab_status
rbuf_fab_compare_swap(struct rbuf_fab_queue *queue, uint64_t *local, uint32_t lkey, uint64_t remote,
                      uint32_t rkey, uint64_t compare, uint64_t swap, struct rbuf_work *work)
{
    (void) queue, (void) local, (void) lkey, (void) remote, (void) rkey, (void) compare;
    (void) swap, (void) work;
    return RBUF_FAB_DEAD;
}

#endif
