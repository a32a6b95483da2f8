/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "core/helper/use_queue.h"

#include <errno.h>
#include <stdlib.h>

int rbuf_points_open(struct rbuf_points *points, uint32_t cells)
{
    *points =
        (struct rbuf_points){.cell = calloc(cells, sizeof(points->cell[0])), .mask = cells - 1};
    if (points->cell == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < cells; i++) {
        atomic_init(&points->cell[i].turn, i);
    }
    return 0;
}

void rbuf_points_close(struct rbuf_points *points)
{
    free(points->cell);
    points->cell = NULL;
}

bool rbuf_points_put(struct rbuf_points *points, const struct rbuf_point *point)
{
    uint64_t at = atomic_load_explicit(&points->tail, memory_order_relaxed);

    for (;;) {
        struct rbuf_points_cell *cell = &points->cell[at & points->mask];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);

        if (turn < at) { /* not read yet: a whole round is full */
            atomic_fetch_add_explicit(&points->lost, 1, memory_order_relaxed);
            return false;
        }
        if (turn > at) { /* another writer was here */
            at = atomic_load_explicit(&points->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(
                       &points->tail, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
            cell->point = *point;
            atomic_store_explicit(&cell->turn, at + 1, memory_order_release);
            return true;
        }
    }
}

/* The cell half a round ahead is free for its writer unless what was written half a round ago is
 * unread. */
bool rbuf_points_half_full(const struct rbuf_points *points)
{
    const uint64_t ahead =
        atomic_load_explicit(&points->tail, memory_order_relaxed) + (points->mask + 1) / 2;

    return atomic_load_explicit(&points->cell[ahead & points->mask].turn, memory_order_relaxed) <
           ahead;
}

bool rbuf_points_get(struct rbuf_points *points, struct rbuf_point *point)
{
    struct rbuf_points_cell *cell = &points->cell[points->head & points->mask];

    if (atomic_load_explicit(&cell->turn, memory_order_acquire) != points->head + 1) {
        return false;
    }
    *point = cell->point;
    atomic_store_explicit(&cell->turn, points->head + points->mask + 1, memory_order_release);
    points->head++;
    return true;
}
