/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The queue of events (core/base/event.h): opening, growing and the slow way to push.
 */
#include "core/base/event.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SIZE 256u

int rbuf_events_open(struct rbuf_events *events)
{
    struct rbuf_event *ring = malloc(FIRST_SIZE * sizeof(*ring));

    if (ring == NULL) {
        return -ENOMEM;
    }
    *events = (struct rbuf_events){.ring = ring, .size = FIRST_SIZE};
    return 0;
}

void rbuf_events_close(struct rbuf_events *events)
{
    free(events->ring);
    *events = (struct rbuf_events){0};
}

/* Moves the events to a ring twice as large, the oldest first. */
static bool grow(struct rbuf_events *events)
{
    uint32_t count = events->tail - events->head;
    struct rbuf_event *ring = malloc(2 * (size_t) events->size * sizeof(*ring));

    if (ring == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        ring[i] = events->ring[(events->head + i) & (events->size - 1)];
    }
    free(events->ring);
    *events = (struct rbuf_events){.ring = ring, .tail = count, .size = 2 * events->size};
    return true;
}

/* Long before it is full: an event that has no place would be an end that nobody hears of. */
bool rbuf_events_make_room(struct rbuf_events *events)
{
    return grow(events) || events->tail - events->head < events->size;
}

bool rbuf_events_push(struct rbuf_events *events, const struct rbuf_event *event)
{
    struct rbuf_event *place = rbuf_events_add(events);

    if (place == NULL) {
        return false;
    }
    *place = *event;
    return true;
}
