/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Who else comes to the listener, over loopback: unauthenticated connections of every sort, and
 * more of them than there are descriptors. (Peers that do not answer: test_unanswered.c.)
 */
#include "connect/descriptors.h"
#include "sides.h"
#include "unit.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLOOD 500

START_TEST(wrong_token)
{
    struct side a = side_open(), b = side_open();
    struct side liar = b;
    struct rbuf_connection *made;
    struct rbuf_connect_event event;

    liar.token[3] ^= 1;
    made = side_connect(&a, &liar, 1, NULL);
    event = side_expect(&a, RBUF_CONNECT_FAILED);
    ck_assert_ptr_eq(event.connection, made);
    ck_assert_int_lt(event.error, 0);
    ck_assert_uint_gt(strlen(event.text), 10);
    rbuf_connection_close(made);
    count_reaches(&rbuf_listener_counters(b.listener)->fault[RBUF_FAULT_TOKEN], b.addresses.count);
    side_expect_nothing(&b);
    (void) sides_connect(&a, &b);
    sides_close(&a, &b);
}
END_TEST

START_TEST(bad_hellos_are_closed_and_counted)
{
    struct side b = side_open();
    const struct rbuf_listener_counters *counters = rbuf_listener_counters(b.listener);
    struct rbuf_exchange good = message_make(RBUF_EXCHANGE_REQ, b.token, 1);
    struct rbuf_exchange bad[RBUF_FAULTS];

    for (int i = 0; i < RBUF_FAULTS; i++) {
        bad[i] = good;
    }
    bad[RBUF_FAULT_GARBAGE].header.magic[0] = 'x';
    bad[RBUF_FAULT_BYTE_ORDER].header.byte_order = 0x0201;
    bad[RBUF_FAULT_VERSION].header.version = 99;
    bad[RBUF_FAULT_KIND] = message_make(RBUF_EXCHANGE_REP, b.token, 1);
    bad[RBUF_FAULT_SIZE].header.bytes = 1u << 31;
    bad[RBUF_FAULT_FIELD].side.address.mtu = 99;
    bad[RBUF_FAULT_TOKEN].side.token[0] ^= 0xff;
    for (int i = RBUF_FAULT_GARBAGE; i < RBUF_FAULTS; i++) {
        int fd = raw_open(&b);

        ck_assert_int_eq(send(fd, &bad[i], sizeof(bad[i]), 0), sizeof(bad[i]));
        ck_assert_uint_eq(raw_read(fd), 0);
        count_reaches(&counters->fault[i], 1);
    }
    side_expect_nothing(&b);
    rbuf_listener_close(b.listener);
}
END_TEST

/* A good REQ with a megabyte behind it: the module hears of the caller, then of its loss. */
START_TEST(hello_with_garbage_behind)
{
    struct side b = side_open();
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, b.token, 1);
    char *much = calloc(1, 1 << 20);
    int fd = raw_open(&b);
    struct rbuf_connect_event event;

    ck_assert_int_eq(send(fd, &hello, sizeof(hello), 0), sizeof(hello));
    (void) !send(fd, much, 1 << 20, MSG_NOSIGNAL);
    event = side_expect(&b, RBUF_CONNECT_REQUEST);
    event = side_expect(&b, RBUF_CONNECT_ABANDONED);
    rbuf_connection_close(event.connection);
    (void) raw_read(fd);
    free(much);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(slow_and_silent_connections)
{
    struct side b = side_open();
    const struct rbuf_listener_counters *counters = rbuf_listener_counters(b.listener);
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, b.token, 1);
    int silent = raw_open(&b);
    int slow = raw_open(&b);
    uint64_t start = wall_ms();

    /* A byte every 20 ms: never silent for long, and never done in time. */
    for (size_t i = 0; i < sizeof(hello); i++) {
        if (send(slow, (char *) &hello + i, 1, MSG_NOSIGNAL) != 1) {
            break;
        }
        sleep_ms(20);
        ck_assert_uint_lt(i, sizeof(hello) - 1);
    }
    ck_assert_uint_lt(wall_ms() - start, 5 * TIMEOUT_MS);
    (void) raw_read(silent);
    (void) raw_read(slow);
    count_reaches(&counters->slow, 2);
    side_expect_nothing(&b);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(byte_by_byte_in_time)
{
    struct side b = side_open_with((struct rbuf_listener_options){.timeout_ms = PATIENCE_MS});
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, b.token, 9);
    int fd = raw_open(&b);

    for (size_t i = 0; i < sizeof(hello); i++) {
        ck_assert_int_eq(send(fd, (char *) &hello + i, 1, MSG_NOSIGNAL), 1);
        sleep_ms(1);
    }
    ck_assert_uint_eq(side_expect(&b, RBUF_CONNECT_REQUEST).theirs.side.rank, 9);
    close(fd);
    (void) side_expect(&b, RBUF_CONNECT_ABANDONED);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(unauthenticated_that_leaves)
{
    struct side b = side_open();
    int fd = raw_open(&b);

    (void) !send(fd, "rbuf", 4, 0);
    close(fd);
    count_reaches(&rbuf_listener_counters(b.listener)->closed_early, 1);
    close(raw_open(&b));
    count_reaches(&rbuf_listener_counters(b.listener)->wordless, 1);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(b.listener)->closed_early), 1);
    side_expect_nothing(&b);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(flood_of_garbage)
{
    struct side a = side_open(), b = side_open();
    int sockets[FLOOD];
    uint64_t seen;

    for (int i = 0; i < FLOOD; i++) {
        sockets[i] = raw_open(&b);
        (void) !send(sockets[i], "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL);
        if (i == FLOOD / 2) {
            (void) sides_connect(&a, &b);
        }
    }
    for (int i = 0; i < FLOOD; i++) {
        (void) raw_read(sockets[i]);
    }
    seen = atomic_load(&rbuf_listener_counters(b.listener)->fault[RBUF_FAULT_GARBAGE]) +
           atomic_load(&rbuf_listener_counters(b.listener)->evicted);
    ck_assert_uint_eq(seen, FLOOD);
    (void) sides_connect(&b, &a);
    sides_close(&a, &b);
}
END_TEST

/* More silent connections than there are places: the oldest go, a good call comes through. */
START_TEST(more_than_there_are_places)
{
    struct side a = side_open();
    struct side b = side_open_with(
        (struct rbuf_listener_options){.timeout_ms = PATIENCE_MS, .max_unauthenticated = 16});
    int sockets[64];

    for (int i = 0; i < 64; i++) {
        sockets[i] = raw_open(&b);
    }
    count_reaches(&rbuf_listener_counters(b.listener)->evicted, 64 - 16);
    (void) sides_connect(&a, &b);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(b.listener)->evicted), 64 - 16 + 1);
    for (int i = 0; i < 64; i++) {
        close(sockets[i]);
    }
    sides_close(&a, &b);
}
END_TEST

/* No descriptor is left for those who knock: they wait, the thread does not spin, and all is well
 * as soon as there are some again. */
START_TEST(descriptors_run_out)
{
    struct side b = side_open_with((struct rbuf_listener_options){.timeout_ms = PATIENCE_MS});
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, b.token, 9);
    struct rlimit limit, none;
    int fd = raw_open(&b);
    int late;
    struct rbuf_connect_event event;

    count_reaches(&rbuf_listener_counters(b.listener)->connections, 1);
    late = socket(AF_INET, SOCK_STREAM, 0);
    close(late);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = (rlim_t) late + 1; /* one more for us, none for the listener */
    setrlimit(RLIMIT_NOFILE, &none);
    late = raw_open(&b);
    ck_assert_int_eq(send(late, &hello, sizeof(hello), 0), sizeof(hello));
    count_passes(&rbuf_listener_counters(b.listener)->accept_pauses, 1);
    sleep_ms(350);
    ck_assert_uint_le(atomic_load(&rbuf_listener_counters(b.listener)->accept_pauses), 8);
    setrlimit(RLIMIT_NOFILE, &limit);
    event = side_expect(&b, RBUF_CONNECT_REQUEST);
    rbuf_connection_reject(event.connection, RBUF_REJECT_CLOSING);
    ck_assert_uint_eq(raw_read(late), 2 * sizeof(struct rbuf_exchange_header));
    close(fd);
    rbuf_listener_close(b.listener);
}
END_TEST

/* The same where the limit may be raised: it is, by no more than is needed, and nobody waits. */
START_TEST(descriptors_are_raised)
{
    struct side b = side_open_with(
        (struct rbuf_listener_options){.timeout_ms = PATIENCE_MS, .raise_descriptors = true});
    struct rlimit limit, low, now;
    int sockets[100];

    getrlimit(RLIMIT_NOFILE, &limit);
    low = limit;
    low.rlim_cur = (rlim_t) unit_descriptors() + 2;
    setrlimit(RLIMIT_NOFILE, &low);
    for (int i = 0; i < 100; i++) {
        sockets[i] = raw_open(&b); /* which takes one of ours */
        count_reaches(&rbuf_listener_counters(b.listener)->connections, (uint64_t) i + 1);
    }
    getrlimit(RLIMIT_NOFILE, &now);
    ck_assert_uint_gt(now.rlim_cur, low.rlim_cur);
    ck_assert_uint_lt(now.rlim_cur, 1000);
    ck_assert_uint_eq(now.rlim_max, limit.rlim_max);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(b.listener)->accept_pauses), 0);
    for (int i = 0; i < 100; i++) {
        close(sockets[i]);
    }
    rbuf_listener_close(b.listener);
    setrlimit(RLIMIT_NOFILE, &limit);
}
END_TEST

/* What a process needs whose job has so many others, connected to all of them. */
START_TEST(descriptors_of_large_jobs)
{
    static const struct {
        rlim_t soft, hard;
        int peers;
        bool enough;
    } rows[] = {{1024, 1048576, 65535, true},
                {1024, 524288, 65535, true},
                {1024, 65536 + 100, 65535, true},
                {1024, 65536, 65535, false},
                {1024, 4096, 4000, true},
                {1024, 4096, 4096, false},
                {1024, 1024, 1023, false},
                {40, 20000, 63, true},
                {RLIM_INFINITY, RLIM_INFINITY, 65535, true}};
    enum { OTHERS = 30 }; /* files, and what Open MPI and the adapter have open */

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rlim_t soft = rows[i].soft;
        int fd;

        for (fd = OTHERS; fd < OTHERS + rows[i].peers && (rlim_t) fd < soft; fd++) {
            const rlim_t next = rbuf_descriptors_next(soft, rows[i].hard, fd);

            ck_assert_uint_ge(next, soft);
            ck_assert(next == soft || next <= rows[i].hard);
            ck_assert(next == soft || (rlim_t) fd + RBUF_DESCRIPTORS_SPARE >= soft);
            soft = next;
        }
        ck_assert_int_eq(fd == OTHERS + rows[i].peers, rows[i].enough);
    }
}
END_TEST

/* A thousand processes whose first word is for this one, which has places for few: all get in. The
 * other side answers all of them, as a module does. */
START_TEST(a_thousand_callers)
{
    enum { CALLERS = 1000 };
    const struct rbuf_listener_options callers = {
        .timeout_ms = 5000, .retry_ms = 30000, .raise_descriptors = true};
    struct side a = side_open_with(callers);
    struct side b = side_open_with((struct rbuf_listener_options){
        .timeout_ms = 5000, .max_unauthenticated = 16, .raise_descriptors = true});
    uint64_t start = wall_ms();
    int silent[32];
    unsigned received = 0;

    for (int i = 0; i < 32; i++) {
        silent[i] = raw_open(&b);
    }
    for (uint32_t i = 0; i < CALLERS; i++) {
        (void) side_connect(&a, &b, i, NULL);
    }
    while (received < CALLERS && wall_ms() - start < 30000) {
        struct rbuf_connect_event *event = rbuf_listener_next(b.listener);

        if (event == NULL) {
            sleep_ms(1);
            continue;
        }
        ck_assert_int_eq(event->kind, RBUF_CONNECT_REQUEST);
        received++;
        free(event);
    }
    printf("%u callers got in within %u ms, of places for 16; %u tries again, %u closed\n",
           received, (unsigned) (wall_ms() - start),
           (unsigned) atomic_load(&rbuf_listener_counters(a.listener)->connects_retried),
           (unsigned) atomic_load(&rbuf_listener_counters(b.listener)->evicted));
    ck_assert_uint_eq(received, CALLERS);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(a.listener)->connects_failed), 0);
    for (int i = 0; i < 32; i++) {
        close(silent[i]);
    }
    sides_close(&a, &b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unauthenticated");

    unit_add(suite, wrong_token);
    unit_add(suite, bad_hellos_are_closed_and_counted);
    unit_add(suite, hello_with_garbage_behind);
    unit_add(suite, slow_and_silent_connections);
    unit_add(suite, byte_by_byte_in_time);
    unit_add(suite, unauthenticated_that_leaves);
    unit_add(suite, flood_of_garbage);
    unit_add(suite, more_than_there_are_places);
    unit_add(suite, descriptors_run_out);
    unit_add(suite, descriptors_are_raised);
    unit_add(suite, descriptors_of_large_jobs);
    unit_add(suite, a_thousand_callers);
    return unit_run(suite);
}
