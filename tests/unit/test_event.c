/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The ring of events: first in, first out, across growth and across the wrap of its counters.
 */
#include "core/base/event.h"
#include "random.h"
#include "unit.h"

static void push(struct rbuf_events *events, int number)
{
    struct rbuf_event event = {.kind = RBUF_EVENT_SENT, .status = number};

    ck_assert(rbuf_events_push(events, &event));
}

static void pop(struct rbuf_events *events, int number)
{
    struct rbuf_event event;

    ck_assert(rbuf_events_pop(events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_SENT);
    ck_assert_int_eq(event.status, number);
}

START_TEST(order_survives_growth)
{
    struct sim_random random = {9};
    struct rbuf_events events;
    struct rbuf_event event;
    int pushed = 0, popped = 0;

    ck_assert_int_eq(rbuf_events_open(&events), 0);
    ck_assert(!rbuf_events_pop(&events, &event));
    for (int round = 0; round < 2000; round++) {
        for (uint64_t i = sim_random_below(&random, 40); i > 0; i--) {
            push(&events, pushed++);
        }
        for (uint64_t i = sim_random_below(&random, 38); i > 0 && popped < pushed; i--) {
            pop(&events, popped++);
        }
    }
    ck_assert_uint_gt(events.size, 256);
    while (popped < pushed) {
        pop(&events, popped++);
    }
    ck_assert(!rbuf_events_pop(&events, &event));
    rbuf_events_close(&events);
}
END_TEST

START_TEST(counters_wrap)
{
    struct rbuf_events events;

    ck_assert_int_eq(rbuf_events_open(&events), 0);
    events.head = events.tail = UINT32_MAX - 100;
    for (int i = 0; i < 1000; i++) { /* full across the wrap, and growing there */
        push(&events, i);
    }
    for (int i = 0; i < 1000; i++) {
        pop(&events, i);
    }
    rbuf_events_close(&events);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event");

    unit_add(suite, order_survives_growth);
    unit_add(suite, counters_wrap);
    return unit_run(suite);
}
