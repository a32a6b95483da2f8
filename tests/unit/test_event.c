/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The ring of events: first in, first out, across growth and across the wrap of its counters, and
 * answers, which go ahead; also where the ring cannot grow.
 */
#include "core/base/event.h"
#include "random.h"
#include "unit.h"

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

static bool no_memory; /* for rings: Check itself wants some */

void *__wrap_malloc(size_t bytes)
{
    return no_memory && bytes >= 256 * sizeof(struct rbuf_event) ? NULL : __real_malloc(bytes);
}

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

static void push_answer(struct rbuf_events *events, uint32_t number)
{
    struct rbuf_event event = {.kind = RBUF_EVENT_DELIVER,
                               .delivery = {.bytes = number, .extra = RBUF_EXTRA_ANSWER}};

    ck_assert(rbuf_events_push_ahead(events, &event));
}

static void pop_answer(struct rbuf_events *events, uint32_t number)
{
    struct rbuf_event event;

    ck_assert(rbuf_events_pop(events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_DELIVER);
    ck_assert_uint_eq(event.delivery.bytes, number);
}

/* Among themselves they keep their order, also across the wrap and growth. */
START_TEST(answers_go_ahead)
{
    for (uint32_t first = UINT32_MAX - 300; first != 10; first++) {
        struct rbuf_events events;

        ck_assert_int_eq(rbuf_events_open(&events), 0);
        events.head = events.tail = first;
        for (int i = 0; i < 120; i++) {
            push(&events, i);
        }
        for (uint32_t i = 0; i < 20; i++) {
            push_answer(&events, i);
        }
        pop_answer(&events, 0);
        push_answer(&events, 20);
        push(&events, 120);
        for (uint32_t i = 1; i <= 20; i++) {
            pop_answer(&events, i);
        }
        pop(&events, 0);
        push_answer(&events, 21);
        pop_answer(&events, 21);
        for (int i = 1; i <= 120; i++) {
            pop(&events, i);
        }
        ck_assert(rbuf_events_empty(&events));
        push_answer(&events, 22);
        push_answer(&events, 23);
        pop_answer(&events, 22);
        pop_answer(&events, 23);
        rbuf_events_close(&events);
    }
}
END_TEST

/* Thousands cost no more each than a few: those beyond wait behind the others. */
START_TEST(many_answers_wait_like_others)
{
    struct rbuf_events events;
    uint32_t ahead = 0;

    ck_assert_int_eq(rbuf_events_open(&events), 0);
    push(&events, 0);
    for (uint32_t i = 0; i < 100000; i++) {
        push_answer(&events, i);
    }
    while (rbuf_events_first(&events).kind == RBUF_EVENT_DELIVER) {
        pop_answer(&events, ahead++);
    }
    ck_assert_uint_gt(ahead, 1);
    ck_assert_uint_le(ahead, 64);
    pop(&events, 0);
    while (ahead < 100000) {
        pop_answer(&events, ahead++);
    }
    ck_assert(rbuf_events_empty(&events));
    rbuf_events_close(&events);
}
END_TEST

/* It takes what it has room for; what is refused leaves the others as they are. */
START_TEST(nothing_is_lost_without_memory)
{
    struct rbuf_event answer = {.kind = RBUF_EVENT_DELIVER, .delivery.extra = RBUF_EXTRA_ANSWER};
    struct rbuf_event other = {.kind = RBUF_EVENT_SENT};
    struct rbuf_events events;
    int pushed = 0, size;

    ck_assert_int_eq(rbuf_events_open(&events), 0);
    size = (int) events.size;
    no_memory = true;
    while (pushed < size - 1) {
        push(&events, pushed++);
    }
    push_answer(&events, 0);
    ck_assert(!rbuf_events_push_ahead(&events, &answer));
    ck_assert(!rbuf_events_push(&events, &other));
    no_memory = false;
    push_answer(&events, 1);
    pop_answer(&events, 0);
    pop_answer(&events, 1);
    for (int i = 0; i < pushed; i++) {
        pop(&events, i);
    }
    ck_assert(rbuf_events_empty(&events));
    no_memory = true;
    rbuf_events_close(&events);
    ck_assert_int_lt(rbuf_events_open(&events), 0);
    no_memory = false;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event");

    unit_add(suite, order_survives_growth);
    unit_add(suite, counters_wrap);
    unit_add(suite, answers_go_ahead);
    unit_add(suite, many_answers_wait_like_others);
    unit_add(suite, nothing_is_lost_without_memory);
    return unit_run(suite);
}
