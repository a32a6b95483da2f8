/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the listener does for async progress: its tick, and events that are picked out of the
 * others.
 */
#include "sides.h"
#include "unit.h"

#include <string.h>
#include <time.h>

static atomic_uint ticks;
static atomic_uint wanted_ticks; /* returned a time for the next one so often */

static unsigned tick(void)
{
    return atomic_fetch_add(&ticks, 1) + 1 < atomic_load(&wanted_ticks) ? 2 : 0;
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static void expect_ticks(unsigned count)
{
    const uint64_t start = now_ms();

    while (atomic_load(&ticks) < count && now_ms() - start < 10000) {
        sleep_ms(1);
    }
    sleep_ms(30);
    ck_assert_uint_eq(atomic_load(&ticks), count);
}

static struct rbuf_listener *open_ticking(unsigned ms)
{
    const struct rbuf_listener_options options = {.timeout_ms = 1000, .tick = tick, .tick_ms = ms};
    uint8_t token[RBUF_TOKEN_BYTES];
    struct rbuf_address_list addresses;
    struct rbuf_listener *listener;
    struct rbuf_problem problem;

    ck_assert_int_eq(rbuf_listener_open(&options, token, &addresses, &listener, &problem), 0);
    return listener;
}

/* Not before it is armed; as often as it asks for; not more often if it is armed twice. */
START_TEST(ticks_as_asked)
{
    struct rbuf_listener *listener = open_ticking(1);

    expect_ticks(0);
    atomic_store(&wanted_ticks, 1);
    rbuf_listener_arm(listener);
    expect_ticks(1);
    atomic_store(&wanted_ticks, 6);
    rbuf_listener_arm(listener);
    rbuf_listener_arm(listener);
    expect_ticks(6);
    rbuf_listener_arm(listener);
    rbuf_listener_close(listener);
    ck_assert_uint_le(atomic_load(&ticks), 7);
}
END_TEST

/* The first one comes after the time that was set. */
START_TEST(first_tick_waits)
{
    struct rbuf_listener *listener = open_ticking(300);
    const uint64_t start = now_ms();

    rbuf_listener_arm(listener);
    while (atomic_load(&ticks) == 0 && now_ms() - start < 10000) {
        sleep_ms(1);
    }
    ck_assert_uint_ge(now_ms() - start, 299);
    rbuf_listener_close(listener);
}
END_TEST

enum { GAPS = 40 };

static uint64_t tick_us[GAPS + 1];

static unsigned tick_and_note(void)
{
    const unsigned count = atomic_load(&ticks);
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    tick_us[count] = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
    atomic_store(&ticks, count + 1);
    return count < GAPS ? 1 : 0;
}

/* A millisecond is one, also where the kernel's coarse clock has longer steps: of the gaps a
 * quarter is short, beside whatever other jobs do. */
START_TEST(ticks_keep_pace)
{
    const struct rbuf_listener_options options = {
        .timeout_ms = 1000, .tick = tick_and_note, .tick_ms = 1};
    uint8_t token[RBUF_TOKEN_BYTES];
    struct rbuf_address_list addresses;
    struct rbuf_listener *listener;
    struct rbuf_problem problem;
    unsigned brief = 0;

    ck_assert_int_eq(rbuf_listener_open(&options, token, &addresses, &listener, &problem), 0);
    rbuf_listener_arm(listener);
    expect_ticks(GAPS + 1);
    rbuf_listener_close(listener);
    for (unsigned i = 0; i < GAPS; i++) {
        brief += tick_us[i + 1] - tick_us[i] < 2500;
    }
    ck_assert_uint_ge(brief, GAPS / 4);
}
END_TEST

static bool is_from(const struct rbuf_connect_event *event, void *rank)
{
    return event->theirs.side.rank == *(const uint32_t *) rank;
}

/* From the middle, the end and the start; the rest stays in order. */
START_TEST(picked_events)
{
    static const uint32_t order[] = {3, 5, 1};
    struct side a = side_open(), b = side_open();
    uint32_t nobody = 9;

    for (uint32_t i = 1; i <= 5; i++) {
        (void) side_connect(&a, &b, i, NULL);
        while (atomic_load(&rbuf_listener_counters(b.listener)->authenticated) < i) {
            sleep_ms(1);
        }
    }
    sleep_ms(20); /* the event comes a moment after its count */
    ck_assert_ptr_null(rbuf_listener_pick(b.listener, is_from, &nobody));
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        uint32_t rank = order[i];
        struct rbuf_connect_event *event = rbuf_listener_pick(b.listener, is_from, &rank);

        ck_assert_ptr_nonnull(event);
        ck_assert_uint_eq(event->theirs.side.rank, rank);
        free(event);
        ck_assert_ptr_null(rbuf_listener_pick(b.listener, is_from, &rank));
    }
    (void) side_connect(&a, &b, 6, NULL); /* behind what is the last one now */
    ck_assert_uint_eq(side_expect(&b, RBUF_CONNECT_REQUEST).theirs.side.rank, 2);
    ck_assert_uint_eq(side_expect(&b, RBUF_CONNECT_REQUEST).theirs.side.rank, 4);
    ck_assert_uint_eq(side_expect(&b, RBUF_CONNECT_REQUEST).theirs.side.rank, 6);
    ck_assert(!rbuf_listener_pending(b.listener));
    sides_close(&a, &b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tick");

    unit_add(suite, ticks_as_asked);
    unit_add(suite, first_tick_waits);
    unit_add(suite, ticks_keep_pace);
    unit_add(suite, picked_events);
    return unit_run(suite);
}
