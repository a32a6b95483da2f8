/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The listener over loopback: calls between two listeners of one process, from the first word to
 * the last.
 */
#include "sides.h"
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

START_TEST(call_accept_ready_bye)
{
    unsigned before = unit_descriptors();
    struct side a = side_open(), b = side_open();
    struct pair pair = sides_connect(&a, &b);
    struct rbuf_call_event event;

    side_expect_nothing(&a);
    side_expect_nothing(&b);
    rbuf_call_close(pair.caller);
    event = side_expect(&b, RBUF_PEER_BYE);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_call_close(pair.called);
    side_expect_nothing(&a);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

/* Who leaves is told that its BYE was heard, and not before the other side has it. */
START_TEST(leaving_is_heard)
{
    struct side a = side_open(), b = side_open();

    for (int i = 0; i < 50; i++) {
        struct pair pair = sides_connect(&a, &b);
        struct rbuf_call_event event;

        rbuf_call_leave(pair.caller);
        event = side_expect(&a, RBUF_PEER_BYE);
        ck_assert_ptr_eq(event.call, pair.caller);
        ck_assert(rbuf_listener_pending(b.listener));
        event = side_expect(&b, RBUF_PEER_BYE);
        ck_assert_ptr_eq(event.call, pair.called);
        rbuf_call_leave(pair.called); /* too late: changes nothing */
        side_expect_nothing(&b);
        rbuf_call_close(pair.caller);
        rbuf_call_close(pair.called);
    }
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(a.listener)->peers_lost), 0);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(b.listener)->peers_lost), 0);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(both_leave_at_once)
{
    struct side a = side_open(), b = side_open();

    for (int i = 0; i < 50; i++) {
        struct pair pair = sides_connect(&a, &b);

        rbuf_call_leave(pair.caller);
        rbuf_call_leave(pair.called);
        (void) side_expect(&a, RBUF_PEER_BYE);
        (void) side_expect(&b, RBUF_PEER_BYE);
        rbuf_call_close(pair.caller);
        rbuf_call_close(pair.called);
    }
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(close_of_a_listener_says_bye)
{
    struct side a = side_open(), b = side_open();

    (void) sides_connect(&a, &b);
    (void) sides_connect(&b, &a);
    rbuf_listener_close(a.listener);
    (void) side_expect(&b, RBUF_PEER_BYE);
    (void) side_expect(&b, RBUF_PEER_BYE);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(close_with_everything_under_way)
{
    unsigned before = unit_descriptors();
    struct side a = side_open(), b = side_open();

    (void) sides_connect(&a, &b);
    for (int i = 0; i < 20; i++) {
        (void) side_call(&a, &b, 30, NULL);
        (void) stranger_open(&a);
    }
    sleep_ms(5);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
    ck_assert_uint_eq(unit_descriptors(), before + 20);
}
END_TEST

START_TEST(refused)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = side_call(&a, &b, 1, &a);
    struct rbuf_call_event event = side_expect(&b, RBUF_INCOMING_HELLO);

    rbuf_call_refuse(event.call, RBUF_REFUSAL_SIMULTANEOUS);
    event = side_expect(&a, RBUF_CALL_REFUSED);
    ck_assert_int_eq(event.refusal, RBUF_REFUSAL_SIMULTANEOUS);
    ck_assert_ptr_eq(event.user, &a);
    rbuf_call_close(made);
    side_expect_nothing(&b);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(both_directions_at_once)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *from_a = side_call(&a, &b, 1, &a);
    struct rbuf_call *from_b = side_call(&b, &a, 2, &b);
    struct rbuf_call_event at_a = side_expect(&a, RBUF_INCOMING_HELLO);
    struct rbuf_call_event at_b = side_expect(&b, RBUF_INCOMING_HELLO);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

    ck_assert_uint_eq(at_a.theirs.side.rank, 2);
    ck_assert_uint_eq(at_b.theirs.side.rank, 1);
    rbuf_call_refuse(at_a.call, RBUF_REFUSAL_SIMULTANEOUS);
    rbuf_call_accept(at_b.call, &accept, &b);
    (void) side_expect(&a, RBUF_CALL_ACCEPTED);
    (void) side_expect(&b, RBUF_CALL_REFUSED);
    rbuf_call_close(from_b);
    rbuf_call_ready(from_a);
    (void) side_expect(&b, RBUF_INCOMING_READY);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

/* A process may compute for long before it takes the HELLO, and before it says READY. */
START_TEST(modules_may_take_their_time)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = side_call(&a, &b, 1, &a);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);
    struct rbuf_call_event event;

    sleep_ms(3 * TIMEOUT_MS);
    event = side_expect(&b, RBUF_INCOMING_HELLO);
    rbuf_call_accept(event.call, &accept, &b);
    sleep_ms(3 * TIMEOUT_MS);
    (void) side_expect(&a, RBUF_CALL_ACCEPTED);
    rbuf_call_ready(made);
    (void) side_expect(&b, RBUF_INCOMING_READY);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(caller_withdraws)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = side_call(&a, &b, 1, &a);
    struct rbuf_call_event event = side_expect(&b, RBUF_INCOMING_HELLO);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

    rbuf_call_accept(event.call, &accept, &b);
    (void) side_expect(&a, RBUF_CALL_ACCEPTED);
    rbuf_call_close(made);
    event = side_expect(&b, RBUF_INCOMING_LOST);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_call_close(event.call);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

/* The caller is gone before the module gets to its HELLO and accepts it. */
START_TEST(caller_withdraws_unanswered)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = side_call(&a, &b, 1, &a);
    struct rbuf_call_event event = side_expect(&b, RBUF_INCOMING_HELLO);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

    rbuf_call_close(made);
    sleep_ms(50); /* its end is queued */
    rbuf_call_accept(event.call, &accept, &b);
    event = side_expect(&b, RBUF_INCOMING_LOST);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_call_close(event.call);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(called_drops_the_call)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = side_call(&a, &b, 1, &a);
    struct rbuf_call_event event = side_expect(&b, RBUF_INCOMING_HELLO);

    rbuf_call_close(event.call);
    event = side_expect(&a, RBUF_CALL_FAILED);
    ck_assert_int_lt(event.error, 0);
    rbuf_call_close(made);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

/* Ending a call takes its events with it, those queued and those still to come. */
START_TEST(ended_calls_are_silent)
{
    struct side a = side_open(), b = side_open();

    for (int i = 0; i < 50; i++) {
        struct rbuf_call *made = side_call(&a, &b, 1, &a);
        struct rbuf_call_event event = side_expect(&b, RBUF_INCOMING_HELLO);
        struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

        rbuf_call_accept(event.call, &accept, NULL);
        if (i % 2 == 0) {
            sleep_ms(2);
        }
        rbuf_call_close(made);
        rbuf_call_close(event.call);
    }
    side_expect_nothing(&a);
    side_expect_nothing(&b);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(bad_options)
{
    struct rbuf_listener_options options = {.timeout_ms = TIMEOUT_MS, .interfaces = "nope0"};
    struct side b = side_open_with((struct rbuf_listener_options){.interfaces = "lo"});
    struct rbuf_listener *listener = NULL;
    struct rbuf_address_list list;
    struct rbuf_problem problem;
    uint8_t token[RBUF_TOKEN_BYTES];

    ck_assert_int_eq(rbuf_listener_open(&options, token, &list, &listener, &problem),
                     -EADDRNOTAVAIL);
    ck_assert_str_eq(problem.topic, "listener-address");
    ck_assert_str_eq(problem.what, "nope0");
    ck_assert_ptr_nonnull(strstr(problem.value, "lo "));
    options.interfaces = "lo, 192.0.2.77";
    ck_assert_int_lt(rbuf_listener_open(&options, token, &list, &listener, &problem), 0);
    ck_assert_str_eq(problem.what, "192.0.2.77");
    options.interfaces = NULL;
    options.port_min = 5000;
    options.port_max = 4000;
    ck_assert_int_eq(rbuf_listener_open(&options, token, &list, &listener, &problem), -EINVAL);
    ck_assert_str_eq(problem.topic, "listener-port");
    options.interfaces = "127.0.0.1";
    options.port_min = options.port_max = b.addresses.address[0].port;
    ck_assert_int_eq(rbuf_listener_open(&options, token, &list, &listener, &problem), -EADDRINUSE);
    ck_assert_str_eq(problem.topic, "listener-port");
    ck_assert_ptr_null(listener);
    rbuf_listener_close(b.listener);
    rbuf_listener_close(NULL);
}
END_TEST

START_TEST(ports_come_from_the_range)
{
    struct rbuf_listener_options options = {
        .interfaces = "lo", .port_min = 45100, .port_max = 45163};
    struct side a = side_open_with(options), b = side_open_with(options);

    for (unsigned i = 0; i < b.addresses.count; i++) {
        ck_assert_uint_ge(b.addresses.address[i].port, 45100);
        ck_assert_uint_le(b.addresses.address[i].port, 45163);
    }
    ck_assert_uint_ne(a.addresses.address[0].port, b.addresses.address[0].port);
    ck_assert_int_ne(memcmp(a.token, b.token, RBUF_TOKEN_BYTES), 0);
    ck_assert_uint_eq(a.addresses.machine, b.addresses.machine);
    (void) sides_connect(&a, &b);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(many_calls)
{
    struct side a = side_open(), b = side_open();
    unsigned accepted = 0, ready = 0;
    uint64_t end = wall_ms() + PATIENCE_MS;

    for (uint32_t i = 0; i < 100; i++) {
        (void) side_call(&a, &b, i, NULL);
    }
    while (ready < 100 && wall_ms() < end) {
        struct rbuf_call_event *event = rbuf_listener_next(b.listener);
        struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

        if (event != NULL && event->kind == RBUF_INCOMING_HELLO) {
            accept.side.rank = event->theirs.side.rank;
            rbuf_call_accept(event->call, &accept, NULL);
        } else if (event != NULL) {
            ck_assert_int_eq(event->kind, RBUF_INCOMING_READY);
            ready++;
        }
        rbuf_call_event_free(event);
        event = rbuf_listener_next(a.listener);
        if (event != NULL) {
            ck_assert_int_eq(event->kind, RBUF_CALL_ACCEPTED);
            rbuf_call_ready(event->call);
            accepted++;
        }
        rbuf_call_event_free(event);
    }
    ck_assert_uint_eq(accepted, 100);
    ck_assert_uint_eq(ready, 100);
    rbuf_listener_close(a.listener);
    for (int i = 0; i < 100; i++) {
        (void) side_expect(&b, RBUF_PEER_BYE);
    }
    rbuf_listener_close(b.listener);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listener");

    unit_add(suite, call_accept_ready_bye);
    unit_add(suite, leaving_is_heard);
    unit_add(suite, both_leave_at_once);
    unit_add(suite, close_of_a_listener_says_bye);
    unit_add(suite, close_with_everything_under_way);
    unit_add(suite, refused);
    unit_add(suite, both_directions_at_once);
    unit_add(suite, modules_may_take_their_time);
    unit_add(suite, caller_withdraws);
    unit_add(suite, caller_withdraws_unanswered);
    unit_add(suite, called_drops_the_call);
    unit_add(suite, ended_calls_are_silent);
    unit_add(suite, bad_options);
    unit_add(suite, ports_come_from_the_range);
    unit_add(suite, many_calls);
    return unit_run(suite);
}
