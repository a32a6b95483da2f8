/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A bounded queue with a turn in each cell (core/helper/use_queue.h says who writes and who reads
 * a turn).
 */
#include "core/helper/use_queue.h"

#include <errno.h>
#include <stdlib.h>

int rbuf_use_queue_open(struct rbuf_use_queue *queue, uint32_t cells)
{
    *queue =
        (struct rbuf_use_queue){.cell = calloc(cells, sizeof(queue->cell[0])), .mask = cells - 1};
    if (queue->cell == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < cells; i++) {
        atomic_init(&queue->cell[i].turn, i);
    }
    return 0;
}

void rbuf_use_queue_close(struct rbuf_use_queue *queue)
{
    free(queue->cell);
    queue->cell = NULL;
}

bool rbuf_use_queue_put(struct rbuf_use_queue *queue, const struct rbuf_use *use)
{
    uint64_t at = atomic_load_explicit(&queue->tail, memory_order_relaxed);

    for (;;) {
        struct rbuf_use_cell *cell = &queue->cell[at & queue->mask];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);

        if (turn < at) { /* not read yet: a whole round is full */
            atomic_fetch_add_explicit(&queue->lost, 1, memory_order_relaxed);
            return false;
        }
        if (turn > at) { /* another writer was here */
            at = atomic_load_explicit(&queue->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(
                       &queue->tail, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
            cell->use = *use;
            atomic_store_explicit(&cell->turn, at + 1, memory_order_release);
            return true;
        }
    }
}

/* The cell half a round ahead is free for its writer unless what was written half a round ago is
 * unread. */
bool rbuf_use_queue_half_full(const struct rbuf_use_queue *queue)
{
    const uint64_t ahead =
        atomic_load_explicit(&queue->tail, memory_order_relaxed) + (queue->mask + 1) / 2;

    return atomic_load_explicit(&queue->cell[ahead & queue->mask].turn, memory_order_relaxed) <
           ahead;
}

bool rbuf_use_queue_get(struct rbuf_use_queue *queue, struct rbuf_use *use)
{
    struct rbuf_use_cell *cell = &queue->cell[queue->head & queue->mask];

    if (atomic_load_explicit(&cell->turn, memory_order_acquire) != queue->head + 1) {
        return false;
    }
    *use = cell->use;
    atomic_store_explicit(&cell->turn, queue->head + queue->mask + 1, memory_order_release);
    queue->head++;
    return true;
}
