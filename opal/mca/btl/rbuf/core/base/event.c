/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The queue of events (core/base/event.h): opening, growing, and the slow paths of push.
 */
#include "core/base/event.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SIZE 256u
#define AHEAD_MOST 32u /* more come when many were not acted on for long: one can wait then */

int rbuf_events_open(struct rbuf_events *events)
{
    struct rbuf_event *ring = malloc(FIRST_SIZE * sizeof(*ring));

    if (ring == NULL) {
        return -ENOMEM;
    }
    *events = (struct rbuf_events){.ring = ring, .size = FIRST_SIZE, .limit = FIRST_SIZE / 2};
    STAILQ_INIT(&events->late);
    return 0;
}

void rbuf_events_close(struct rbuf_events *events)
{
    free(events->ring);
    *events = (struct rbuf_events){0};
}

/* Moves the events to a ring twice as large, the oldest first. Long before the one that there is is
 * full. True if there is room for one more. */
static bool grow(struct rbuf_events *events)
{
    uint32_t count = rbuf_events_count(events);
    struct rbuf_event *ring = malloc(2 * (size_t) events->size * sizeof(*ring));

    if (ring == NULL) {
        return count < events->size;
    }
    for (uint32_t i = 0; i < count; i++) {
        ring[i] = events->ring[(events->head + i) & (events->size - 1)];
    }
    free(events->ring);
    events->ring = ring;
    events->head = 0;
    events->tail = count;
    events->size *= 2;
    return true;
}

/* What is late goes first. */
bool rbuf_events_make_room(struct rbuf_events *events)
{
    if (rbuf_events_are_late(events) || !grow(events)) {
        return false;
    }
    events->limit = events->size / 2;
    return true;
}

static void move(struct rbuf_events *events, const struct rbuf_event_place *place)
{
    events->ring[events->tail++ & (events->size - 1)] = (struct rbuf_event){
        .kind = place->kind, .status = place->status, .peer = place->peer, .am = place->subject};
}

bool rbuf_events_catch_up(struct rbuf_events *events)
{
    struct rbuf_event_place *place;

    if (!rbuf_events_are_late(events)) {
        return true;
    }
    while ((place = STAILQ_FIRST(&events->late)) != NULL &&
           (rbuf_events_count(events) < events->size / 2 || grow(events))) {
        STAILQ_REMOVE_HEAD(&events->late, link);
        move(events, place);
    }
    events->limit = place == NULL ? events->size / 2 : 0;
    return place == NULL;
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

void rbuf_events_add_late(struct rbuf_events *events, struct rbuf_event_place *place)
{
    STAILQ_INSERT_TAIL(&events->late, place, link);
    events->limit = 0;
}

/* Answers that are first in the queue, which move up for one more: no more than AHEAD_MOST. */
static uint32_t answers_first(const struct rbuf_events *events)
{
    uint32_t count = 0;

    while (count < AHEAD_MOST && count < rbuf_events_count(events)) {
        const struct rbuf_event *event = &events->ring[(events->head + count) & (events->size - 1)];

        if (event->kind != RBUF_EVENT_DELIVER || event->delivery.extra != RBUF_EXTRA_ANSWER) {
            break;
        }
        count++;
    }
    return count;
}

bool rbuf_events_push_ahead(struct rbuf_events *events, const struct rbuf_event *answer)
{
    const uint32_t first = answers_first(events);
    uint32_t mask;

    if (first == AHEAD_MOST || first == rbuf_events_count(events)) {
        return rbuf_events_push(events, answer);
    }
    if (rbuf_events_count(events) >= events->limit && !rbuf_events_make_room(events)) {
        return false;
    }
    mask = events->size - 1;
    events->head--;
    for (uint32_t i = 0; i < first; i++) {
        events->ring[(events->head + i) & mask] = events->ring[(events->head + i + 1) & mask];
    }
    events->ring[(events->head + first) & mask] = *answer;
    return true;
}
