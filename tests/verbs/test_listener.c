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
    struct rbuf_connect_event event;

    side_expect_nothing(&a);
    side_expect_nothing(&b);
    rbuf_connection_close(pair.active);
    event = side_expect(&b, RBUF_PEER_DISCONNECTED);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_connection_close(pair.passive);
    side_expect_nothing(&a);
    sides_close(&a, &b);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

/* Who leaves learns that its DREQ was received, and not before the other side has it. */
START_TEST(leaving_is_heard)
{
    struct side a = side_open(), b = side_open();

    for (int i = 0; i < 50; i++) {
        struct pair pair = sides_connect(&a, &b);
        struct rbuf_connect_event event;

        rbuf_connection_disconnect(pair.active);
        event = side_expect(&a, RBUF_PEER_DISCONNECTED);
        ck_assert_ptr_eq(event.connection, pair.active);
        ck_assert(rbuf_listener_pending(b.listener));
        event = side_expect(&b, RBUF_PEER_DISCONNECTED);
        ck_assert_ptr_eq(event.connection, pair.passive);
        rbuf_connection_disconnect(pair.passive); /* too late: changes nothing */
        side_expect_nothing(&b);
        rbuf_connection_close(pair.active);
        rbuf_connection_close(pair.passive);
    }
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(a.listener)->peers_lost), 0);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(b.listener)->peers_lost), 0);
    sides_close(&a, &b);
}
END_TEST

START_TEST(both_leave_at_once)
{
    struct side a = side_open(), b = side_open();

    for (int i = 0; i < 50; i++) {
        struct pair pair = sides_connect(&a, &b);

        rbuf_connection_disconnect(pair.active);
        rbuf_connection_disconnect(pair.passive);
        (void) side_expect(&a, RBUF_PEER_DISCONNECTED);
        (void) side_expect(&b, RBUF_PEER_DISCONNECTED);
        rbuf_connection_close(pair.active);
        rbuf_connection_close(pair.passive);
    }
    sides_close(&a, &b);
}
END_TEST

START_TEST(close_of_a_listener_says_bye)
{
    struct side a = side_open(), b = side_open();

    (void) sides_connect(&a, &b);
    (void) sides_connect(&b, &a);
    rbuf_listener_close(a.listener);
    (void) side_expect(&b, RBUF_PEER_DISCONNECTED);
    (void) side_expect(&b, RBUF_PEER_DISCONNECTED);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(close_with_everything_under_way)
{
    unsigned before = unit_descriptors();
    struct side a = side_open(), b = side_open();

    (void) sides_connect(&a, &b);
    for (int i = 0; i < 20; i++) {
        (void) side_connect(&a, &b, 30, NULL);
        (void) raw_open(&a);
    }
    sleep_ms(5);
    sides_close(&a, &b);
    ck_assert_uint_eq(unit_descriptors(), before + 20);
}
END_TEST

START_TEST(refused)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_connection *made = side_connect(&a, &b, 1, &a);
    struct rbuf_connect_event event = side_expect(&b, RBUF_CONNECT_REQUEST);

    rbuf_connection_reject(event.connection, RBUF_REJECT_SIMULTANEOUS);
    event = side_expect(&a, RBUF_CONNECT_REJECTED);
    ck_assert_int_eq(event.reason, RBUF_REJECT_SIMULTANEOUS);
    ck_assert_ptr_eq(event.user, &a);
    rbuf_connection_close(made);
    side_expect_nothing(&b);
    sides_close(&a, &b);
}
END_TEST

START_TEST(both_directions_at_once)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_connection *from_a = side_connect(&a, &b, 1, &a);
    struct rbuf_connection *from_b = side_connect(&b, &a, 2, &b);
    struct rbuf_connect_event at_a = side_expect(&a, RBUF_CONNECT_REQUEST);
    struct rbuf_connect_event at_b = side_expect(&b, RBUF_CONNECT_REQUEST);

    ck_assert_uint_eq(at_a.theirs.side.rank, 2);
    ck_assert_uint_eq(at_b.theirs.side.rank, 1);
    rbuf_connection_reject(at_a.connection, RBUF_REJECT_SIMULTANEOUS);
    side_accept(&b, &at_b, 2);
    (void) side_expect(&a, RBUF_CONNECT_RESPONSE);
    (void) side_expect(&b, RBUF_CONNECT_REJECTED);
    rbuf_connection_close(from_b);
    rbuf_connection_establish(from_a);
    (void) side_expect(&b, RBUF_CONNECT_ESTABLISHED);
    sides_close(&a, &b);
}
END_TEST

/* A process may compute for long before it takes the REQ, and before it says RTU. */
START_TEST(modules_may_take_their_time)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_connection *made = side_connect(&a, &b, 1, &a);
    struct rbuf_connect_event event;

    sleep_ms(3 * TIMEOUT_MS);
    event = side_expect(&b, RBUF_CONNECT_REQUEST);
    side_accept(&b, &event, 2);
    sleep_ms(3 * TIMEOUT_MS);
    (void) side_expect(&a, RBUF_CONNECT_RESPONSE);
    rbuf_connection_establish(made);
    (void) side_expect(&b, RBUF_CONNECT_ESTABLISHED);
    sides_close(&a, &b);
}
END_TEST

START_TEST(caller_withdraws)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_connection *made = side_connect(&a, &b, 1, &a);
    struct rbuf_connect_event event = side_expect(&b, RBUF_CONNECT_REQUEST);

    side_accept(&b, &event, 2);
    (void) side_expect(&a, RBUF_CONNECT_RESPONSE);
    rbuf_connection_close(made);
    event = side_expect(&b, RBUF_CONNECT_ABANDONED);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_connection_close(event.connection);
    sides_close(&a, &b);
}
END_TEST

/* The caller is gone before the module gets to its REQ and accepts it. */
START_TEST(caller_withdraws_unanswered)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_connection *made = side_connect(&a, &b, 1, &a);
    struct rbuf_connect_event event = side_expect(&b, RBUF_CONNECT_REQUEST);

    rbuf_connection_close(made);
    sleep_ms(50); /* its end is queued */
    side_accept(&b, &event, 2);
    event = side_expect(&b, RBUF_CONNECT_ABANDONED);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_connection_close(event.connection);
    sides_close(&a, &b);
}
END_TEST

START_TEST(called_drops_the_call)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_connection *made = side_connect(&a, &b, 1, &a);
    struct rbuf_connect_event event = side_expect(&b, RBUF_CONNECT_REQUEST);

    rbuf_connection_close(event.connection);
    event = side_expect(&a, RBUF_CONNECT_FAILED);
    ck_assert_int_lt(event.error, 0);
    rbuf_connection_close(made);
    sides_close(&a, &b);
}
END_TEST

/* Ending a call takes its events with it, those queued and those still to come. */
START_TEST(ended_calls_are_silent)
{
    struct side a = side_open(), b = side_open();

    for (int i = 0; i < 50; i++) {
        struct rbuf_connection *made = side_connect(&a, &b, 1, &a);
        struct rbuf_connect_event event = side_expect(&b, RBUF_CONNECT_REQUEST);
        struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_REP, b.token, 2);

        rbuf_connection_accept(event.connection, &accept, NULL);
        if (i % 2 == 0) {
            sleep_ms(2);
        }
        rbuf_connection_close(made);
        rbuf_connection_close(event.connection);
    }
    side_expect_nothing(&a);
    side_expect_nothing(&b);
    sides_close(&a, &b);
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
    sides_close(&a, &b);
}
END_TEST

START_TEST(many_calls)
{
    struct side a = side_open(), b = side_open();
    unsigned accepted = 0, ready = 0;
    uint64_t end = wall_ms() + PATIENCE_MS;

    for (uint32_t i = 0; i < 100; i++) {
        (void) side_connect(&a, &b, i, NULL);
    }
    while (ready < 100 && wall_ms() < end) {
        struct rbuf_connect_event *event = rbuf_listener_next(b.listener);
        struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_REP, b.token, 2);

        if (event != NULL && event->kind == RBUF_CONNECT_REQUEST) {
            accept.side.rank = event->theirs.side.rank;
            rbuf_connection_accept(event->connection, &accept, NULL);
        } else if (event != NULL) {
            ck_assert_int_eq(event->kind, RBUF_CONNECT_ESTABLISHED);
            ready++;
        }
        free(event);
        event = rbuf_listener_next(a.listener);
        if (event != NULL) {
            ck_assert_int_eq(event->kind, RBUF_CONNECT_RESPONSE);
            rbuf_connection_establish(event->connection);
            accepted++;
        }
        free(event);
    }
    ck_assert_uint_eq(accepted, 100);
    ck_assert_uint_eq(ready, 100);
    rbuf_listener_close(a.listener);
    for (int i = 0; i < 100; i++) {
        (void) side_expect(&b, RBUF_PEER_DISCONNECTED);
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
