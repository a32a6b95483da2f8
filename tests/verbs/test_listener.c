/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The listener over loopback: calls between two listeners of one process, strangers of every sort
 * at the door, peers that end and peers that die.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "messages.h"
#include "verbs/listener.h"

#define TIMEOUT_MS  300 /* of the listeners' steps */
#define PATIENCE_MS 10000
#define FLOOD       500

struct side {
    struct rbuf_listener *listener;
    uint8_t token[RBUF_TOKEN_BYTES];
    struct rbuf_address_list addresses;
};

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static void sleep_ms(unsigned ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000};

    nanosleep(&wait, NULL);
}

static struct side side_open_with(struct rbuf_listener_options options)
{
    struct rbuf_problem problem;
    struct side side;

    if (options.timeout_ms == 0) {
        options.timeout_ms = TIMEOUT_MS;
    }
    ck_assert_msg(
        rbuf_listener_open(&options, side.token, &side.addresses, &side.listener, &problem) == 0,
        "%s: %s %s", problem.topic, problem.what, problem.value);
    return side;
}

static struct side side_open(void)
{
    return side_open_with((struct rbuf_listener_options){0});
}

static struct rbuf_call_event *wait_event(const struct side *side, unsigned patience_ms)
{
    uint64_t end = now_ms() + patience_ms;

    for (;;) {
        struct rbuf_call_event *event = rbuf_listener_next(side->listener);

        if (event != NULL || now_ms() >= end) {
            return event;
        }
        sleep_ms(1);
    }
}

/* The next event, which must be of that kind. */
static struct rbuf_call_event expect(const struct side *side, enum rbuf_call_event_kind kind)
{
    struct rbuf_call_event *event = wait_event(side, PATIENCE_MS);
    struct rbuf_call_event copy;

    ck_assert_msg(event != NULL, "no event, kind %d was due", kind);
    copy = *event;
    rbuf_call_event_free(event);
    ck_assert_msg(copy.kind == kind, "event %d (%s) where %d was due", copy.kind, copy.text, kind);
    return copy;
}

static void expect_nothing(const struct side *side)
{
    ck_assert_ptr_null(wait_event(side, 30));
}

static void wait_count(const _Atomic uint64_t *counter, uint64_t count)
{
    uint64_t end = now_ms() + PATIENCE_MS;

    while (atomic_load(counter) < count && now_ms() < end) {
        sleep_ms(1);
    }
    ck_assert_uint_eq(atomic_load(counter), count);
}

static struct rbuf_call *call(const struct side *from, const struct side *to, uint32_t seed,
                              void *user)
{
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_HELLO, to->token, seed);
    struct rbuf_call *made = NULL;

    ck_assert_int_eq(rbuf_listener_call(from->listener, &to->addresses, &hello, user, &made), 0);
    return made;
}

struct pair {
    struct rbuf_call *caller;
    struct rbuf_call *called;
};

/* A whole exchange; users are the addresses of the sides. */
static struct pair connect_sides(struct side *a, struct side *b)
{
    struct pair pair = {.caller = call(a, b, 11, a)};
    struct rbuf_call_event event = expect(b, RBUF_INCOMING_HELLO);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b->token, 22);

    pair.called = event.call;
    ck_assert_ptr_null(event.user);
    ck_assert_uint_eq(event.theirs.side.rank, 11);
    ck_assert_uint_eq(event.theirs.side.queue[RBUF_BULK].qpn, 311);
    rbuf_call_accept(pair.called, &accept, b);
    event = expect(a, RBUF_CALL_ACCEPTED);
    ck_assert_ptr_eq(event.call, pair.caller);
    ck_assert_ptr_eq(event.user, a);
    ck_assert_uint_eq(event.theirs.side.rank, 22);
    ck_assert_int_eq(memcmp(&event.theirs.side, &accept.side, sizeof(accept.side)), 0);
    rbuf_call_ready(pair.caller);
    event = expect(b, RBUF_INCOMING_READY);
    ck_assert_ptr_eq(event.call, pair.called);
    ck_assert_ptr_eq(event.user, b);
    return pair;
}

static unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

/* A plain connection to the listener, as a stranger makes it. */
static int stranger(const struct side *side)
{
    const struct rbuf_address *address = &side->addresses.address[0];
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(address->port)};
    struct timeval wait = {.tv_sec = PATIENCE_MS / 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(address->family, RBUF_ADDRESS_IPV4);
    memcpy(&name.sin_addr, address->address, 4);
    ck_assert_int_eq(connect(fd, (struct sockaddr *) &name, sizeof(name)), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    return fd;
}

/* Bytes that come until the listener closes, which it must do. */
static size_t read_until_closed(int fd)
{
    char buffer[256];
    size_t all = 0;

    for (;;) {
        ssize_t got = recv(fd, buffer, sizeof(buffer), 0);

        if (got > 0) {
            all += (size_t) got;
            continue;
        }
        ck_assert_msg(got == 0 || errno == ECONNRESET, "not closed: %s", strerror(errno));
        close(fd);
        return all;
    }
}

START_TEST(call_accept_ready_bye)
{
    unsigned before = open_descriptors();
    struct side a = side_open(), b = side_open();
    struct pair pair = connect_sides(&a, &b);
    struct rbuf_call_event event;

    expect_nothing(&a);
    expect_nothing(&b);
    rbuf_call_close(pair.caller);
    event = expect(&b, RBUF_PEER_BYE);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_call_close(pair.called);
    expect_nothing(&a);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
    ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

/* Who leaves is told that its BYE was heard, and not before the other side has it. */
START_TEST(leaving_is_heard)
{
    struct side a = side_open(), b = side_open();

    for (int i = 0; i < 50; i++) {
        struct pair pair = connect_sides(&a, &b);
        struct rbuf_call_event event;

        rbuf_call_leave(pair.caller);
        event = expect(&a, RBUF_PEER_BYE);
        ck_assert_ptr_eq(event.call, pair.caller);
        ck_assert(rbuf_listener_pending(b.listener));
        event = expect(&b, RBUF_PEER_BYE);
        ck_assert_ptr_eq(event.call, pair.called);
        rbuf_call_leave(pair.called); /* too late: changes nothing */
        expect_nothing(&b);
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
        struct pair pair = connect_sides(&a, &b);

        rbuf_call_leave(pair.caller);
        rbuf_call_leave(pair.called);
        (void) expect(&a, RBUF_PEER_BYE);
        (void) expect(&b, RBUF_PEER_BYE);
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

    (void) connect_sides(&a, &b);
    (void) connect_sides(&b, &a);
    rbuf_listener_close(a.listener);
    (void) expect(&b, RBUF_PEER_BYE);
    (void) expect(&b, RBUF_PEER_BYE);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(close_with_everything_under_way)
{
    unsigned before = open_descriptors();
    struct side a = side_open(), b = side_open();

    (void) connect_sides(&a, &b);
    for (int i = 0; i < 20; i++) {
        (void) call(&a, &b, 30, NULL);
        (void) stranger(&a);
    }
    sleep_ms(5);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
    ck_assert_uint_eq(open_descriptors(), before + 20);
}
END_TEST

START_TEST(refused)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = call(&a, &b, 1, &a);
    struct rbuf_call_event event = expect(&b, RBUF_INCOMING_HELLO);

    rbuf_call_refuse(event.call, RBUF_REFUSAL_SIMULTANEOUS);
    event = expect(&a, RBUF_CALL_REFUSED);
    ck_assert_int_eq(event.refusal, RBUF_REFUSAL_SIMULTANEOUS);
    ck_assert_ptr_eq(event.user, &a);
    rbuf_call_close(made);
    expect_nothing(&b);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(both_directions_at_once)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *from_a = call(&a, &b, 1, &a);
    struct rbuf_call *from_b = call(&b, &a, 2, &b);
    struct rbuf_call_event at_a = expect(&a, RBUF_INCOMING_HELLO);
    struct rbuf_call_event at_b = expect(&b, RBUF_INCOMING_HELLO);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

    ck_assert_uint_eq(at_a.theirs.side.rank, 2);
    ck_assert_uint_eq(at_b.theirs.side.rank, 1);
    rbuf_call_refuse(at_a.call, RBUF_REFUSAL_SIMULTANEOUS);
    rbuf_call_accept(at_b.call, &accept, &b);
    (void) expect(&a, RBUF_CALL_ACCEPTED);
    (void) expect(&b, RBUF_CALL_REFUSED);
    rbuf_call_close(from_b);
    rbuf_call_ready(from_a);
    (void) expect(&b, RBUF_INCOMING_READY);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

/* A process may compute for long before it takes the HELLO, and before it says READY. */
START_TEST(modules_may_take_their_time)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = call(&a, &b, 1, &a);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);
    struct rbuf_call_event event;

    sleep_ms(3 * TIMEOUT_MS);
    event = expect(&b, RBUF_INCOMING_HELLO);
    rbuf_call_accept(event.call, &accept, &b);
    sleep_ms(3 * TIMEOUT_MS);
    (void) expect(&a, RBUF_CALL_ACCEPTED);
    rbuf_call_ready(made);
    (void) expect(&b, RBUF_INCOMING_READY);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(caller_withdraws)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = call(&a, &b, 1, &a);
    struct rbuf_call_event event = expect(&b, RBUF_INCOMING_HELLO);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

    rbuf_call_accept(event.call, &accept, &b);
    (void) expect(&a, RBUF_CALL_ACCEPTED);
    rbuf_call_close(made);
    event = expect(&b, RBUF_INCOMING_LOST);
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
    struct rbuf_call *made = call(&a, &b, 1, &a);
    struct rbuf_call_event event = expect(&b, RBUF_INCOMING_HELLO);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

    rbuf_call_close(made);
    sleep_ms(50); /* its end is queued */
    rbuf_call_accept(event.call, &accept, &b);
    event = expect(&b, RBUF_INCOMING_LOST);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_call_close(event.call);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(called_drops_the_call)
{
    struct side a = side_open(), b = side_open();
    struct rbuf_call *made = call(&a, &b, 1, &a);
    struct rbuf_call_event event = expect(&b, RBUF_INCOMING_HELLO);

    rbuf_call_close(event.call);
    event = expect(&a, RBUF_CALL_FAILED);
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
        struct rbuf_call *made = call(&a, &b, 1, &a);
        struct rbuf_call_event event = expect(&b, RBUF_INCOMING_HELLO);
        struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);

        rbuf_call_accept(event.call, &accept, NULL);
        if (i % 2 == 0) {
            sleep_ms(2);
        }
        rbuf_call_close(made);
        rbuf_call_close(event.call);
    }
    expect_nothing(&a);
    expect_nothing(&b);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(wrong_token)
{
    struct side a = side_open(), b = side_open();
    struct side liar = b;
    struct rbuf_call *made;
    struct rbuf_call_event event;

    liar.token[3] ^= 1;
    made = call(&a, &liar, 1, NULL);
    event = expect(&a, RBUF_CALL_FAILED);
    ck_assert_ptr_eq(event.call, made);
    ck_assert_int_lt(event.error, 0);
    ck_assert_uint_gt(strlen(event.text), 10);
    rbuf_call_close(made);
    wait_count(&rbuf_listener_counters(b.listener)->fault[RBUF_FAULT_TOKEN], b.addresses.count);
    expect_nothing(&b);
    (void) connect_sides(&a, &b);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(bad_hellos_are_closed_and_counted)
{
    struct side b = side_open();
    const struct rbuf_listener_counters *counters = rbuf_listener_counters(b.listener);
    struct rbuf_exchange good = message_make(RBUF_EXCHANGE_HELLO, b.token, 1);
    struct rbuf_exchange bad[RBUF_FAULTS];

    for (int i = 0; i < RBUF_FAULTS; i++) {
        bad[i] = good;
    }
    bad[RBUF_FAULT_GARBAGE].header.magic[0] = 'x';
    bad[RBUF_FAULT_BYTE_ORDER].header.byte_order = 0x0201;
    bad[RBUF_FAULT_VERSION].header.version = 99;
    bad[RBUF_FAULT_KIND] = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 1);
    bad[RBUF_FAULT_SIZE].header.bytes = 1u << 31;
    bad[RBUF_FAULT_FIELD].side.address.mtu = 99;
    bad[RBUF_FAULT_TOKEN].side.token[0] ^= 0xff;
    for (int i = RBUF_FAULT_GARBAGE; i < RBUF_FAULTS; i++) {
        int fd = stranger(&b);

        ck_assert_int_eq(send(fd, &bad[i], sizeof(bad[i]), 0), sizeof(bad[i]));
        ck_assert_uint_eq(read_until_closed(fd), 0);
        wait_count(&counters->fault[i], 1);
    }
    expect_nothing(&b);
    rbuf_listener_close(b.listener);
}
END_TEST

/* A good HELLO with a megabyte behind it: the module hears of the caller, then of its loss. */
START_TEST(hello_with_garbage_behind)
{
    struct side b = side_open();
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_HELLO, b.token, 1);
    char *much = calloc(1, 1 << 20);
    int fd = stranger(&b);
    struct rbuf_call_event event;

    ck_assert_int_eq(send(fd, &hello, sizeof(hello), 0), sizeof(hello));
    (void) !send(fd, much, 1 << 20, MSG_NOSIGNAL);
    event = expect(&b, RBUF_INCOMING_HELLO);
    event = expect(&b, RBUF_INCOMING_LOST);
    rbuf_call_close(event.call);
    (void) read_until_closed(fd);
    free(much);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(slow_and_silent_strangers)
{
    struct side b = side_open();
    const struct rbuf_listener_counters *counters = rbuf_listener_counters(b.listener);
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_HELLO, b.token, 1);
    int silent = stranger(&b);
    int slow = stranger(&b);
    uint64_t start = now_ms();

    /* A byte every 20 ms: never silent for long, and never done in time. */
    for (size_t i = 0; i < sizeof(hello); i++) {
        if (send(slow, (char *) &hello + i, 1, MSG_NOSIGNAL) != 1) {
            break;
        }
        sleep_ms(20);
        ck_assert_uint_lt(i, sizeof(hello) - 1);
    }
    ck_assert_uint_lt(now_ms() - start, 5 * TIMEOUT_MS);
    (void) read_until_closed(silent);
    (void) read_until_closed(slow);
    wait_count(&counters->slow, 2);
    expect_nothing(&b);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(byte_by_byte_in_time)
{
    struct side b = side_open_with((struct rbuf_listener_options){.timeout_ms = PATIENCE_MS});
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_HELLO, b.token, 9);
    int fd = stranger(&b);

    for (size_t i = 0; i < sizeof(hello); i++) {
        ck_assert_int_eq(send(fd, (char *) &hello + i, 1, MSG_NOSIGNAL), 1);
        sleep_ms(1);
    }
    ck_assert_uint_eq(expect(&b, RBUF_INCOMING_HELLO).theirs.side.rank, 9);
    close(fd);
    (void) expect(&b, RBUF_INCOMING_LOST);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(stranger_that_leaves)
{
    struct side b = side_open();
    int fd = stranger(&b);

    (void) !send(fd, "rbuf", 4, 0);
    close(fd);
    wait_count(&rbuf_listener_counters(b.listener)->closed_early, 1);
    expect_nothing(&b);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(flood_of_garbage)
{
    struct side a = side_open(), b = side_open();
    int sockets[FLOOD];
    uint64_t seen;

    for (int i = 0; i < FLOOD; i++) {
        sockets[i] = stranger(&b);
        (void) !send(sockets[i], "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL);
        if (i == FLOOD / 2) {
            (void) connect_sides(&a, &b);
        }
    }
    for (int i = 0; i < FLOOD; i++) {
        (void) read_until_closed(sockets[i]);
    }
    seen = atomic_load(&rbuf_listener_counters(b.listener)->fault[RBUF_FAULT_GARBAGE]) +
           atomic_load(&rbuf_listener_counters(b.listener)->crowded_out);
    ck_assert_uint_eq(seen, FLOOD);
    (void) connect_sides(&b, &a);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

/* More silent strangers than there are places: the oldest go, a good call comes through. */
START_TEST(crowd_at_the_door)
{
    struct side a = side_open();
    struct side b = side_open_with(
        (struct rbuf_listener_options){.timeout_ms = PATIENCE_MS, .max_strangers = 16});
    int sockets[64];

    for (int i = 0; i < 64; i++) {
        sockets[i] = stranger(&b);
    }
    wait_count(&rbuf_listener_counters(b.listener)->crowded_out, 64 - 16);
    (void) connect_sides(&a, &b);
    ck_assert_uint_eq(atomic_load(&rbuf_listener_counters(b.listener)->crowded_out), 64 - 16 + 1);
    for (int i = 0; i < 64; i++) {
        close(sockets[i]);
    }
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

/* No descriptor is left for those who knock: they wait, the thread does not spin, and all is well
 * as soon as there are some again. */
START_TEST(descriptors_run_out)
{
    struct side b = side_open_with((struct rbuf_listener_options){.timeout_ms = PATIENCE_MS});
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_HELLO, b.token, 9);
    struct rlimit limit, none;
    int fd = stranger(&b);
    int late;
    struct rbuf_call_event event;

    wait_count(&rbuf_listener_counters(b.listener)->connections, 1);
    late = socket(AF_INET, SOCK_STREAM, 0);
    close(late);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = (rlim_t) late + 1; /* one more for us, none for the listener */
    setrlimit(RLIMIT_NOFILE, &none);
    late = stranger(&b);
    ck_assert_int_eq(send(late, &hello, sizeof(hello), 0), sizeof(hello));
    wait_count(&rbuf_listener_counters(b.listener)->accept_pauses, 1);
    sleep_ms(350);
    ck_assert_uint_le(atomic_load(&rbuf_listener_counters(b.listener)->accept_pauses), 8);
    setrlimit(RLIMIT_NOFILE, &limit);
    event = expect(&b, RBUF_INCOMING_HELLO);
    rbuf_call_refuse(event.call, RBUF_REFUSAL_CLOSING);
    ck_assert_uint_eq(read_until_closed(late), 2 * sizeof(struct rbuf_exchange_header));
    close(fd);
    rbuf_listener_close(b.listener);
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
    struct side a = side_open(), b = side_open();
    int fd = deaf_socket(&b.addresses);
    uint64_t start = now_ms();
    struct rbuf_call *made = call(&a, &b, 1, NULL);
    struct rbuf_call_event event = expect(&a, RBUF_CALL_FAILED);

    ck_assert_int_eq(event.error, -ETIMEDOUT);
    ck_assert_uint_ge(now_ms() - start, TIMEOUT_MS - 50);
    rbuf_call_close(made);
    close(fd);
    made = call(&a, &b, 1, NULL);
    event = expect(&a, RBUF_CALL_FAILED);
    ck_assert_int_eq(event.error, -ECONNREFUSED);
    rbuf_call_close(made);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
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
    (void) connect_sides(&a, &b);
    close(fd);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(malformed_address_lists)
{
    struct side a = side_open();
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_HELLO, a.token, 1);
    struct rbuf_address_list bad = a.addresses;
    struct rbuf_call *made;
    struct rbuf_call_event event;

    bad.count = RBUF_ADDRESSES_MAX + 1;
    ck_assert_int_eq(rbuf_listener_call(a.listener, &bad, &hello, NULL, &made), -EINVAL);
    bad.count = 0;
    ck_assert_int_eq(rbuf_listener_call(a.listener, &bad, &hello, NULL, &made), -EINVAL);
    bad = a.addresses;
    bad.address[0].family = 5;
    ck_assert_int_eq(rbuf_listener_call(a.listener, &bad, &hello, NULL, &made), -EINVAL);
    /* Loopback of another machine leads nowhere. */
    bad = a.addresses;
    bad.machine++;
    bad.count = 1;
    bad.address[0].scope = RBUF_ADDRESS_LOOPBACK;
    ck_assert_int_eq(rbuf_listener_call(a.listener, &bad, &hello, NULL, &made), 0);
    event = expect(&a, RBUF_CALL_FAILED);
    ck_assert_int_eq(event.error, -EHOSTUNREACH);
    rbuf_call_close(made);
    rbuf_listener_close(a.listener);
}
END_TEST

/* The peer: connects to the parent, then sits there until it is killed. */
static void peer_process(int in, int out)
{
    struct side a = side_open(), b;

    (void) !read(in, &b, sizeof(b));
    (void) call(&a, &b, 11, NULL);
    (void) expect(&a, RBUF_CALL_ACCEPTED);
    (void) !write(out, "1", 1);
    for (;;) {
        pause();
    }
}

START_TEST(killed_peer_is_lost)
{
    int down[2], up[2];
    struct rbuf_exchange accept;
    struct rbuf_call_event event;
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
    event = expect(&b, RBUF_INCOMING_HELLO);
    accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);
    rbuf_call_accept(event.call, &accept, &b);
    ck_assert_int_eq(read(up[0], &byte, 1), 1);
    start = now_ms();
    kill(child, SIGKILL);
    event = expect(&b, RBUF_INCOMING_LOST);
    ck_assert_uint_lt(now_ms() - start, 2000);
    ck_assert_ptr_eq(event.user, &b);
    rbuf_call_close(event.call);
    waitpid(child, NULL, 0);
    rbuf_listener_close(b.listener);
}
END_TEST

/* The same after READY, and the other way round: the killed process was called. */
static void called_process(int out)
{
    struct side b = side_open();
    struct rbuf_exchange accept;
    struct rbuf_call_event event;

    (void) !write(out, &b, sizeof(b));
    event = expect(&b, RBUF_INCOMING_HELLO);
    accept = message_make(RBUF_EXCHANGE_ACCEPT, b.token, 2);
    rbuf_call_accept(event.call, &accept, NULL);
    (void) expect(&b, RBUF_INCOMING_READY);
    (void) !write(out, "1", 1);
    for (;;) {
        pause();
    }
}

START_TEST(killed_connected_peer_is_lost)
{
    int up[2];
    struct side a, b;
    struct rbuf_call *made;
    struct rbuf_call_event event;
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
    made = call(&a, &b, 1, &a);
    (void) expect(&a, RBUF_CALL_ACCEPTED);
    rbuf_call_ready(made);
    ck_assert_int_eq(read(up[0], &byte, 1), 1);
    start = now_ms();
    kill(child, SIGKILL);
    event = expect(&a, RBUF_PEER_LOST);
    ck_assert_uint_lt(now_ms() - start, 2000);
    ck_assert_ptr_eq(event.user, &a);
    ck_assert_int_lt(event.error, 0);
    wait_count(&rbuf_listener_counters(a.listener)->peers_lost, 1);
    rbuf_call_close(made);
    waitpid(child, NULL, 0);
    rbuf_listener_close(a.listener);
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
    (void) connect_sides(&a, &b);
    rbuf_listener_close(a.listener);
    rbuf_listener_close(b.listener);
}
END_TEST

START_TEST(many_calls)
{
    struct side a = side_open(), b = side_open();
    unsigned accepted = 0, ready = 0;
    uint64_t end = now_ms() + PATIENCE_MS;

    for (uint32_t i = 0; i < 100; i++) {
        (void) call(&a, &b, i, NULL);
    }
    while (ready < 100 && now_ms() < end) {
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
        (void) expect(&b, RBUF_PEER_BYE);
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
    unit_add(suite, wrong_token);
    unit_add(suite, bad_hellos_are_closed_and_counted);
    unit_add(suite, hello_with_garbage_behind);
    unit_add(suite, slow_and_silent_strangers);
    unit_add(suite, byte_by_byte_in_time);
    unit_add(suite, stranger_that_leaves);
    unit_add(suite, flood_of_garbage);
    unit_add(suite, crowd_at_the_door);
    unit_add(suite, descriptors_run_out);
    unit_add(suite, nobody_answers);
    unit_add(suite, addresses_are_tried_in_turn);
    unit_add(suite, malformed_address_lists);
    unit_add(suite, killed_peer_is_lost);
    unit_add(suite, killed_connected_peer_is_lost);
    unit_add(suite, bad_options);
    unit_add(suite, ports_come_from_the_range);
    unit_add(suite, many_calls);
    return unit_run(suite);
}
