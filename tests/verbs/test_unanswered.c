/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Connecting to peers that do not answer, not yet or no more, over loopback: tries again and their
 * end, addresses that lead nowhere, and processes that are stopped or killed.
 */
#include "sides.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A port that nobody listens on, on loopback. */
static struct rbuf_address_list nobody_there(const struct side *side, int *fd)
{
    struct rbuf_address_list list = {.machine = side->addresses.machine, .count = 1};
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(name);

    *fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(*fd, (struct sockaddr *) &name, length), 0);
    ck_assert_int_eq(getsockname(*fd, (struct sockaddr *) &name, &length), 0);
    list.address[0] = (struct rbuf_address){
        .family = RBUF_ADDRESS_IPV4, .scope = RBUF_ADDRESS_LOOPBACK, .port = ntohs(name.sin_port)};
    memcpy(list.address[0].address, &name.sin_addr, 4);
    return list;
}

/* Refused calls are tried again until the time is up, less and less often. */
START_TEST(tried_again_until_the_time_is_up)
{
    struct side a =
        side_open_with((struct rbuf_listener_options){.timeout_ms = 1000, .retry_ms = 700});
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, a.token, 1);
    struct rbuf_address_list list;
    struct rbuf_connection *call;
    uint64_t start = wall_ms();
    uint64_t tries;
    int fd;

    list = nobody_there(&a, &fd);
    ck_assert_int_eq(rbuf_listener_connect(a.listener, &list, &hello, &a, &call), 0);
    (void) side_expect(&a, RBUF_CONNECT_FAILED);
    tries = atomic_load(&rbuf_listener_counters(a.listener)->connects_retried);
    ck_assert_uint_ge(tries, 3); /* 20, 40, 80, 160, 320 ms on average */
    ck_assert_uint_le(tries, 10);
    ck_assert_uint_lt(wall_ms() - start, 3000);
    rbuf_connection_close(call);
    close(fd);
    rbuf_listener_close(a.listener);
}
END_TEST

/* Who listens a moment later is called. And a call may be given up between two tries. */
START_TEST(tried_again_and_accepted)
{
    struct side a =
        side_open_with((struct rbuf_listener_options){.timeout_ms = 5000, .retry_ms = 20000});
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, a.token, 1);
    struct rbuf_address_list list;
    struct rbuf_connection *call, *other;
    int fd, taken;

    list = nobody_there(&a, &fd);
    ck_assert_int_eq(rbuf_listener_connect(a.listener, &list, &hello, &a, &call), 0);
    ck_assert_int_eq(rbuf_listener_connect(a.listener, &list, &hello, &a, &other), 0);
    count_passes(&rbuf_listener_counters(a.listener)->connects_retried, 4);
    rbuf_connection_close(other);
    ck_assert_int_eq(listen(fd, 8), 0);
    taken = accept(fd, NULL, NULL);
    ck_assert_int_ge(taken, 0);
    ck_assert_int_eq(recv(taken, &hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
    close(taken);
    close(fd);
    rbuf_connection_close(call);
    rbuf_listener_close(a.listener);
}
END_TEST

static atomic_bool thread_is_held;

/* Keeps the listener's thread, as a machine does that has stopped the process. */
static unsigned hold_thread(void)
{
    while (atomic_load(&thread_is_held)) {
        sleep_ms(1);
    }
    return 0;
}

/* A process is away for a while: who has connected to it meanwhile, had no answer and has tried
 * again, gets in by its last request. The others are not announced: the first would be answered,
 * the last be rejected for that, and the loss of the first be taken for the peer's end. */
START_TEST(withdrawn_requests_are_not_announced)
{
    struct side a =
        side_open_with((struct rbuf_listener_options){.timeout_ms = 50, .retry_ms = 20000});
    struct side b = side_open_with((struct rbuf_listener_options){
        .timeout_ms = PATIENCE_MS, .tick = hold_thread, .tick_ms = 1});
    struct rbuf_connect_event event;
    struct rbuf_connection *connection;

    atomic_store(&thread_is_held, true);
    rbuf_listener_arm(b.listener);
    sleep_ms(50);
    connection = side_connect(&a, &b, 1, &a);
    count_passes(&rbuf_listener_counters(a.listener)->connects_retried, 3);
    ck_assert(!rbuf_listener_pending(b.listener));
    atomic_store(&thread_is_held, false);
    event = side_expect(&b, RBUF_CONNECT_REQUEST);
    side_accept(&b, &event, 2);
    (void) side_expect(&a, RBUF_CONNECT_UNANSWERED);
    (void) side_expect(&a, RBUF_CONNECT_RESPONSE);
    rbuf_connection_establish(connection);
    ck_assert_ptr_eq(side_expect(&b, RBUF_CONNECT_ESTABLISHED).connection, event.connection);
    side_expect_nothing(&b);
    ck_assert_uint_ge(atomic_load(&rbuf_listener_counters(b.listener)->withdrawn), 3);
    rbuf_connection_close(event.connection);
    rbuf_connection_close(connection);
    sides_close(&a, &b);
}
END_TEST

/* A socket that is connected by the kernel and never answered by anybody. */
static int deaf_socket(struct rbuf_address_list *list)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(name);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *) &name, sizeof(name)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &name, &length), 0);
    list->count = 1;
    list->address[0] = (struct rbuf_address){.family = RBUF_ADDRESS_IPV4,
                                             .scope = RBUF_ADDRESS_LOOPBACK,
                                             .port = ntohs(name.sin_port),
                                             .address = {127, 0, 0, 1}};
    return fd;
}

START_TEST(nobody_answers)
{
    const unsigned answer_ms = 3 * TIMEOUT_MS;
    struct side a = side_open_with((struct rbuf_listener_options){.answer_ms = answer_ms});
    struct side b = side_open();
    int fd = deaf_socket(&b.addresses);
    uint64_t start = wall_ms();
    struct rbuf_connection *made = side_connect(&a, &b, 1, NULL);
    struct rbuf_connect_event event;

    (void) side_expect(&a, RBUF_CONNECT_UNANSWERED);
    event = side_expect(&a, RBUF_CONNECT_FAILED);
    ck_assert_int_eq(event.error, -ETIMEDOUT);
    ck_assert_uint_ge(wall_ms() - start, answer_ms - 50);
    rbuf_connection_close(made);
    close(fd);
    made = side_connect(&a, &b, 1, NULL);
    event = side_expect(&a, RBUF_CONNECT_FAILED);
    ck_assert_int_eq(event.error, -ECONNREFUSED);
    rbuf_connection_close(made);
    sides_close(&a, &b);
}
END_TEST

/* A process is stopped for longer than a host is called again that does not answer. */
START_TEST(stopped_process_is_waited_for)
{
    struct side a =
        side_open_with((struct rbuf_listener_options){.timeout_ms = 30, .retry_ms = 90});
    struct side b = side_open_with((struct rbuf_listener_options){
        .timeout_ms = PATIENCE_MS, .tick = hold_thread, .tick_ms = 1});
    struct rbuf_connect_event event;

    atomic_store(&thread_is_held, true);
    rbuf_listener_arm(b.listener);
    sleep_ms(50);
    (void) side_connect(&a, &b, 1, &a);
    ck_assert_ptr_eq(side_expect(&a, RBUF_CONNECT_UNANSWERED).user, &a);
    sleep_ms(1000);
    side_expect_nothing(&a);
    atomic_store(&thread_is_held, false);
    event = side_expect(&b, RBUF_CONNECT_REQUEST);
    side_accept(&b, &event, 2);
    (void) side_expect(&a, RBUF_CONNECT_RESPONSE);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(a.listener)->connects_unanswered), 1);
    sides_close(&a, &b);
}
END_TEST

/* What listens there closes at once: it is another's, and not waited for. */
START_TEST(another_listener_is_not_waited_for)
{
    struct side a =
        side_open_with((struct rbuf_listener_options){.timeout_ms = 200, .retry_ms = 600});
    struct side b = side_open();
    struct side wrong = b;
    const uint64_t start = wall_ms();
    struct rbuf_connection *call;

    memset(wrong.token, 0, sizeof(wrong.token));
    call = side_connect(&a, &wrong, 1, &a);
    ck_assert_int_eq(side_expect(&a, RBUF_CONNECT_FAILED).error, -ECONNRESET);
    ck_assert_uint_lt(wall_ms() - start, 5000);
    rbuf_connection_close(call);
    sides_close(&a, &b);
}
END_TEST

static void calling_process(int in, int out)
{
    struct side a =
        side_open_with((struct rbuf_listener_options){.timeout_ms = 500, .retry_ms = 300});
    struct side there = a;

    (void) !read(in, &there.addresses, sizeof(there.addresses));
    (void) side_connect(&a, &there, 1, NULL);
    (void) !write(out, "1", 1);
    for (;;) {
        pause();
    }
}

/* The calling process is stopped itself, and finds its request closed: it calls again. */
START_TEST(stopped_caller_calls_again)
{
    struct pollfd call = {.events = POLLIN};
    struct side there;
    int down[2], up[2];
    int first;
    pid_t child;
    char byte;

    ck_assert_int_eq(pipe(down) | pipe(up), 0);
    child = fork();
    if (child == 0) {
        calling_process(down[0], up[1]);
    }
    there = side_open();
    call.fd = deaf_socket(&there.addresses);
    ck_assert_int_eq(write(down[1], &there.addresses, sizeof(there.addresses)),
                     sizeof(there.addresses));
    ck_assert_int_eq(read(up[0], &byte, 1), 1);
    first = accept(call.fd, NULL, NULL);
    ck_assert_int_eq(recv(first, &byte, 1, 0), 1);
    kill(child, SIGSTOP);
    close(first);
    sleep_ms(1500);
    kill(child, SIGCONT);
    ck_assert_int_eq(poll(&call, 1, PATIENCE_MS), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(call.fd);
    rbuf_listener_close(there.listener);
}
END_TEST

/* The first addresses are dead or deaf, the last is right. */
START_TEST(addresses_are_tried_in_turn)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_address_list good = b.addresses;
    int fd = deaf_socket(&b.addresses);

    b.addresses.address[1] = b.addresses.address[0];
    b.addresses.address[1].port = 1;
    b.addresses.address[2] = good.address[0];
    b.addresses.count = 3;
    (void) sides_connect(&a, &b);
    close(fd);
    sides_close(&a, &b);
}
END_TEST

START_TEST(malformed_address_lists)
{
    struct side a = side_open();
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, a.token, 1);
    struct rbuf_address_list bad = a.addresses;
    struct rbuf_connection *made;
    struct rbuf_connect_event event;

    bad.count = RBUF_ADDRESSES_MAX + 1;
    ck_assert_int_eq(rbuf_listener_connect(a.listener, &bad, &hello, NULL, &made), -EINVAL);
    bad.count = 0;
    ck_assert_int_eq(rbuf_listener_connect(a.listener, &bad, &hello, NULL, &made), -EINVAL);
    bad = a.addresses;
    bad.address[0].family = 5;
    ck_assert_int_eq(rbuf_listener_connect(a.listener, &bad, &hello, NULL, &made), -EINVAL);
    /* Loopback of another machine leads nowhere. */
    bad = a.addresses;
    bad.machine++;
    bad.count = 1;
    bad.address[0].scope = RBUF_ADDRESS_LOOPBACK;
    ck_assert_int_eq(rbuf_listener_connect(a.listener, &bad, &hello, NULL, &made), 0);
    event = side_expect(&a, RBUF_CONNECT_FAILED);
    ck_assert_int_eq(event.error, -EHOSTUNREACH);
    rbuf_connection_close(made);
    rbuf_listener_close(a.listener);
}
END_TEST

/* The peer: connects to the parent, then sits there until it is killed. */
static void peer_process(int in, int out)
{
    struct side a = side_open(), b;

    (void) !read(in, &b, sizeof(b));
    (void) side_connect(&a, &b, 11, NULL);
    (void) side_expect(&a, RBUF_CONNECT_RESPONSE);
    (void) !write(out, "1", 1);
    for (;;) {
        pause();
    }
}

START_TEST(killed_peer_is_lost)
{
    int down[2], up[2];
    struct rbuf_exchange accept;
    struct rbuf_connect_event event;
    struct side b;
    uint64_t start;
    char byte;
    pid_t child;

    ck_assert_int_eq(pipe(down) | pipe(up), 0);
    child = fork();
    if (child == 0) {
        peer_process(down[0], up[1]);
    }
    b = side_open();
    ck_assert_int_eq(write(down[1], &b, sizeof(b)), sizeof(b));
    event = side_expect(&b, RBUF_CONNECT_REQUEST);
    accept = message_make(RBUF_EXCHANGE_REP, b.token, 2);
    rbuf_connection_accept(event.connection, &accept, &b);
    ck_assert_int_eq(read(up[0], &byte, 1), 1);
    start = wall_ms();
    kill(child, SIGKILL);
    event = side_expect(&b, RBUF_CONNECT_ABANDONED);
    ck_assert_uint_lt(wall_ms() - start, 2000);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_connection_close(event.connection);
    waitpid(child, NULL, 0);
    rbuf_listener_close(b.listener);
}
END_TEST

/* The same after RTU, and the other way round: the killed process was called. */
static void called_process(int out)
{
    struct side b = side_open();
    struct rbuf_exchange accept;
    struct rbuf_connect_event event;

    (void) !write(out, &b, sizeof(b));
    event = side_expect(&b, RBUF_CONNECT_REQUEST);
    accept = message_make(RBUF_EXCHANGE_REP, b.token, 2);
    rbuf_connection_accept(event.connection, &accept, NULL);
    (void) side_expect(&b, RBUF_CONNECT_ESTABLISHED);
    (void) !write(out, "1", 1);
    for (;;) {
        pause();
    }
}

START_TEST(killed_connected_peer_is_lost)
{
    int up[2];
    struct side a, b;
    struct rbuf_connection *made;
    struct rbuf_connect_event event;
    uint64_t start;
    char byte;
    pid_t child;

    ck_assert_int_eq(pipe(up), 0);
    child = fork();
    if (child == 0) {
        called_process(up[1]);
    }
    a = side_open();
    ck_assert_int_eq(read(up[0], &b, sizeof(b)), sizeof(b));
    made = side_connect(&a, &b, 1, &a);
    (void) side_expect(&a, RBUF_CONNECT_RESPONSE);
    rbuf_connection_establish(made);
    ck_assert_int_eq(read(up[0], &byte, 1), 1);
    start = wall_ms();
    kill(child, SIGKILL);
    event = side_expect(&a, RBUF_PEER_LOST);
    ck_assert_uint_lt(wall_ms() - start, 2000);
    ck_assert_ptr_eq(event.user, &a);
    ck_assert_int_lt(event.error, 0);
    count_reaches(&rbuf_listener_counters(a.listener)->peers_lost, 1);
    rbuf_connection_close(made);
    waitpid(child, NULL, 0);
    rbuf_listener_close(a.listener);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unanswered");

    unit_add(suite, tried_again_until_the_time_is_up);
    unit_add(suite, tried_again_and_accepted);
    unit_add(suite, withdrawn_requests_are_not_announced);
    unit_add(suite, nobody_answers);
    unit_add(suite, stopped_process_is_waited_for);
    unit_add(suite, another_listener_is_not_waited_for);
    unit_add(suite, stopped_caller_calls_again);
    unit_add(suite, addresses_are_tried_in_turn);
    unit_add(suite, malformed_address_lists);
    unit_add(suite, killed_peer_is_lost);
    unit_add(suite, killed_connected_peer_is_lost);
    return unit_run(suite);
}
