/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A process dies while it connects: behind each byte of its part of the exchange, as the one that
 * calls and as the one that is called, with its connection closed or reset. Who has heard of the
 * connection hears of its end, once. The listener goes on, and keeps nothing.
 */
#include "sides.h"
#include "unit.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LONG = sizeof(struct rbuf_exchange),
    SHORT = sizeof(struct rbuf_exchange_header),
    CALLER = LONG + 2 * SHORT,    /* bytes of a caller: REQ, RTU, DREQ */
    CALLED = SHORT + LONG + SHORT /* likewise: MRA, REP, DREQ */
};

/* Closes or resets a connection, as the system does for a process that dies. */
static void die(int fd, bool resets)
{
    const struct linger at_once = {.l_onoff = 1};

    if (resets) {
        ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    }
    close(fd);
}

static void append(unsigned char *script, size_t *bytes, enum rbuf_exchange_kind kind,
                   const uint8_t token[RBUF_TOKEN_BYTES])
{
    const struct rbuf_exchange message = message_make(kind, token, 5);

    memcpy(script + *bytes, &message, message.header.bytes);
    *bytes += message.header.bytes;
}

static void send_all(int fd, const unsigned char *bytes, size_t count)
{
    ck_assert_int_eq(send(fd, bytes, count, MSG_NOSIGNAL), (int) count);
}

static void receive_all(int fd, size_t count)
{
    unsigned char bytes[LONG + SHORT];

    ck_assert_int_eq(recv(fd, bytes, count, MSG_WAITALL), (int) count);
}

/* ---- the side that lives ---- */

/* Answers events, until there is one that ends a connection, or for `patience_ms`. Whether there
 * was one: the connection is closed then. */
static bool answer_until_end(struct side *side, unsigned patience_ms)
{
    const uint64_t end = wall_ms() + patience_ms;

    while (wall_ms() < end) {
        struct rbuf_connect_event *event = rbuf_listener_next(side->listener);
        bool over = false;

        if (event == NULL) {
            sleep_ms(1);
            continue;
        }
        if (event->kind == RBUF_CONNECT_REQUEST) {
            side_accept(side, event, 6);
        } else if (event->kind == RBUF_CONNECT_RESPONSE) {
            rbuf_connection_establish(event->connection);
        } else if (event->kind != RBUF_CONNECT_ESTABLISHED) {
            over = true;
            rbuf_connection_close(event->connection);
        }
        free(event);
        if (over) {
            return true;
        }
    }
    return false;
}

static void accept_request(struct side *side)
{
    const struct rbuf_connect_event event = side_expect(side, RBUF_CONNECT_REQUEST);

    side_accept(side, &event, 6);
}

/* ---- the side that dies ---- */

/* Calls, and dies behind `bytes` bytes. */
static void die_as_caller(struct side *side, size_t bytes, bool resets)
{
    const struct rbuf_listener_counters *counters = rbuf_listener_counters(side->listener);
    const uint64_t withdrawn = atomic_load(&counters->withdrawn);
    const int fd = raw_open(side);
    unsigned char script[CALLER];
    size_t length = 0;

    append(script, &length, RBUF_EXCHANGE_REQ, side->token);
    append(script, &length, RBUF_EXCHANGE_RTU, side->token);
    append(script, &length, RBUF_EXCHANGE_DREQ, side->token);
    ck_assert_uint_eq(length, CALLER);
    send_all(fd, script, bytes < LONG ? bytes : LONG);
    if (bytes > LONG) {
        accept_request(side);
        receive_all(fd, SHORT + LONG);
        send_all(fd, script + LONG, bytes - LONG);
    }
    die(fd, resets);
    if (bytes > LONG) {
        ck_assert_msg(answer_until_end(side, PATIENCE_MS), "%zu bytes: no end", bytes);
    } else if (bytes == LONG && !answer_until_end(side, 100)) { /* it was announced, or not */
        ck_assert(atomic_load(&counters->withdrawn) > withdrawn || resets);
    }
    ck_assert_ptr_null(rbuf_listener_next(side->listener));
}

/* Is called, and dies behind `bytes` bytes. */
static void die_as_called(struct side *side, int listening, uint16_t port, size_t bytes,
                          bool resets)
{
    struct side called = *side;
    unsigned char script[CALLED];
    size_t length = 0;
    int fd;

    called.addresses.count = 1;
    called.addresses.address[0].port = port;
    append(script, &length, RBUF_EXCHANGE_MRA, called.token);
    append(script, &length, RBUF_EXCHANGE_REP, called.token);
    append(script, &length, RBUF_EXCHANGE_DREQ, called.token);
    ck_assert_uint_eq(length, CALLED);
    (void) side_connect(side, &called, 7, side);
    fd = accept(listening, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    receive_all(fd, LONG);
    send_all(fd, script, bytes);
    die(fd, resets);
    ck_assert_msg(answer_until_end(side, PATIENCE_MS), "%zu bytes: no end", bytes);
    ck_assert_ptr_null(rbuf_listener_next(side->listener));
}

/* ---- cases; `_i`: whether connections are reset ---- */

static void goes_on(struct side *side)
{
    struct side other = side_open();
    struct pair pair = sides_connect(side, &other);

    side_expect_nothing(side);
    side_expect_nothing(&other);
    rbuf_connection_close(pair.active);
    (void) side_expect(&other, RBUF_PEER_DISCONNECTED);
    rbuf_connection_close(pair.passive);
    sides_close(side, &other);
}

START_TEST(caller_dies)
{
    const unsigned before = unit_descriptors();
    struct side side = side_open_with((struct rbuf_listener_options){.timeout_ms = PATIENCE_MS});

    for (size_t bytes = 0; bytes <= CALLER; bytes++) {
        die_as_caller(&side, bytes, _i == 1);
    }
    goes_on(&side);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

START_TEST(called_dies)
{
    const unsigned before = unit_descriptors();
    struct side side = side_open_with((struct rbuf_listener_options){.timeout_ms = PATIENCE_MS});
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(name);
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(&name.sin_addr, side.addresses.address[0].address, 4);
    ck_assert_int_eq(bind(listening, (struct sockaddr *) &name, sizeof(name)), 0);
    ck_assert_int_eq(listen(listening, 8), 0);
    ck_assert_int_eq(getsockname(listening, (struct sockaddr *) &name, &length), 0);
    for (size_t bytes = 0; bytes <= CALLED; bytes++) {
        die_as_called(&side, listening, ntohs(name.sin_port), bytes, _i == 1);
    }
    close(listening);
    goes_on(&side);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer dies");

    unit_add_loop(suite, caller_dies, 2);
    unit_add_loop(suite, called_dies, 2);
    return unit_run(suite);
}
