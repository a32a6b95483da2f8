/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Items in order of when they are due, with room for each between them
 * (core/helper/registration_queue.h has the rule).
 */
#include "core/helper/registration_queue.h"

#include <errno.h>
#include <stdlib.h>

int rbuf_registration_queue_open(struct rbuf_registration_queue *queue, uint32_t slots)
{
    *queue = (struct rbuf_registration_queue){.item = calloc(slots, sizeof(queue->item[0]))};
    TAILQ_INIT(&queue->order);
    return queue->item == NULL ? -ENOMEM : 0;
}

void rbuf_registration_queue_close(struct rbuf_registration_queue *queue)
{
    free(queue->item);
    *queue = (struct rbuf_registration_queue){0};
}

static void put_in(struct rbuf_registration_queue *queue, struct rbuf_queue_item *item)
{
    struct rbuf_queue_item *later = TAILQ_FIRST(&queue->order);

    while (later != NULL && later->deadline_ns <= item->deadline_ns) {
        later = TAILQ_NEXT(later, link);
    }
    if (later != NULL) {
        TAILQ_INSERT_BEFORE(later, item, link);
    } else {
        TAILQ_INSERT_TAIL(&queue->order, item, link);
    }
    queue->count++;
}

/* From the last one back, each leaves the next one the time that it takes. */
static void adjust(struct rbuf_registration_queue *queue, uint64_t gap_ns)
{
    uint64_t latest = UINT64_MAX;
    struct rbuf_queue_item *item;

    TAILQ_FOREACH_REVERSE(item, &queue->order, rbuf_queue_order, link)
    {
        item->due_ns = item->deadline_ns;
        if (item->kind == RBUF_QUEUED_REGISTER) {
            uint64_t takes = item->cost_ns + gap_ns;

            item->due_ns = item->due_ns < latest ? item->due_ns : latest;
            latest = item->due_ns > takes ? item->due_ns - takes : 0;
        }
    }
}

void rbuf_registration_queue_set(struct rbuf_registration_queue *queue, uint32_t slot,
                                 const struct rbuf_queue_item *item, uint64_t gap_ns)
{
    struct rbuf_queue_item *here = &queue->item[slot];

    if (here->kind != RBUF_QUEUED_NOTHING) {
        TAILQ_REMOVE(&queue->order, here, link);
        queue->count--;
    }
    *here = *item;
    if (here->kind != RBUF_QUEUED_NOTHING) {
        put_in(queue, here);
    }
    adjust(queue, gap_ns);
}

uint32_t rbuf_registration_queue_first(const struct rbuf_registration_queue *queue,
                                       enum rbuf_queued kind)
{
    const struct rbuf_queue_item *item;

    TAILQ_FOREACH(item, &queue->order, link)
    {
        if (item->kind == kind) {
            return (uint32_t) (item - queue->item);
        }
    }
    return RBUF_QUEUE_EMPTY;
}
