/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Items in order of when they are due, with room for each between them
 * (core/helper/registration_queue.h has the rule).
 */
#include "core/helper/registration_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rbuf_registration_queue_open(struct rbuf_registration_queue *queue, uint32_t places)
{
    *queue = (struct rbuf_registration_queue){.item = calloc(places, sizeof(queue->item[0])),
                                              .order = calloc(places, sizeof(queue->order[0]))};
    if (queue->item == NULL || queue->order == NULL) {
        rbuf_registration_queue_close(queue);
        return -ENOMEM;
    }
    return 0;
}

void rbuf_registration_queue_close(struct rbuf_registration_queue *queue)
{
    free(queue->item);
    free(queue->order);
    *queue = (struct rbuf_registration_queue){0};
}

static void take_out(struct rbuf_registration_queue *queue, uint32_t place)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        if (queue->order[i] == place) {
            queue->count--;
            memmove(&queue->order[i], &queue->order[i + 1],
                    (queue->count - i) * sizeof(queue->order[0]));
            return;
        }
    }
}

static void put_in(struct rbuf_registration_queue *queue, uint32_t place)
{
    uint32_t at = queue->count++;

    while (at > 0 &&
           queue->item[queue->order[at - 1]].deadline_ns > queue->item[place].deadline_ns) {
        queue->order[at] = queue->order[at - 1];
        at--;
    }
    queue->order[at] = place;
}

/* From the last one back, each leaves the next one the time that it takes. */
static void adjust(struct rbuf_registration_queue *queue, uint64_t gap_ns)
{
    uint64_t latest = UINT64_MAX;

    for (uint32_t i = queue->count; i-- > 0;) {
        struct rbuf_queue_item *item = &queue->item[queue->order[i]];

        item->due_ns = item->deadline_ns;
        if (item->kind == RBUF_QUEUED_REGISTER) {
            uint64_t takes = item->cost_ns + gap_ns;

            item->due_ns = item->due_ns < latest ? item->due_ns : latest;
            latest = item->due_ns > takes ? item->due_ns - takes : 0;
        }
    }
}

void rbuf_registration_queue_set(struct rbuf_registration_queue *queue, uint32_t place,
                                 const struct rbuf_queue_item *item, uint64_t gap_ns)
{
    if (queue->item[place].kind != RBUF_QUEUED_NOTHING) {
        take_out(queue, place);
    }
    queue->item[place] = *item;
    if (item->kind != RBUF_QUEUED_NOTHING) {
        put_in(queue, place);
    }
    adjust(queue, gap_ns);
}

uint32_t rbuf_registration_queue_first(const struct rbuf_registration_queue *queue,
                                       enum rbuf_queued kind)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        if (queue->item[queue->order[i]].kind == kind) {
            return queue->order[i];
        }
    }
    return RBUF_QUEUE_EMPTY;
}
