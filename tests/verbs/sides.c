/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Listeners over loopback and plain sockets to them: the steps of sides.h. */
#include "sides.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

uint64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

void sleep_ms(unsigned ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000};

    nanosleep(&wait, NULL);
}

struct side side_open_with(struct rbuf_listener_options options)
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

struct side side_open(void)
{
    return side_open_with((struct rbuf_listener_options){0});
}

static struct rbuf_connect_event *wait_event(const struct side *side, unsigned patience_ms)
{
    uint64_t end = wall_ms() + patience_ms;

    for (;;) {
        struct rbuf_connect_event *event = rbuf_listener_next(side->listener);

        if (event != NULL || wall_ms() >= end) {
            return event;
        }
        sleep_ms(1);
    }
}

void sides_close(struct side *a, struct side *b)
{
    rbuf_listener_close(a->listener);
    rbuf_listener_close(b->listener);
}

struct rbuf_connect_event side_expect(const struct side *side, enum rbuf_connect_event_kind kind)
{
    struct rbuf_connect_event *event = wait_event(side, PATIENCE_MS);
    struct rbuf_connect_event copy;

    ck_assert_msg(event != NULL, "no event, kind %d was due", kind);
    copy = *event;
    free(event);
    ck_assert_msg(copy.kind == kind, "event %d (%s) where %d was due", copy.kind, copy.text, kind);
    return copy;
}

void side_expect_nothing(const struct side *side)
{
    ck_assert_ptr_null(wait_event(side, 30));
}

static uint64_t wait_for_count(const _Atomic uint64_t *counter, uint64_t count)
{
    uint64_t end = wall_ms() + PATIENCE_MS;

    while (atomic_load(counter) < count && wall_ms() < end) {
        sleep_ms(1);
    }
    return atomic_load(counter);
}

void count_reaches(const _Atomic uint64_t *counter, uint64_t count)
{
    ck_assert_uint_eq(wait_for_count(counter, count), count);
}

void count_passes(const _Atomic uint64_t *counter, uint64_t count)
{
    ck_assert_uint_ge(wait_for_count(counter, count), count);
}

struct rbuf_connection *side_connect(const struct side *from, const struct side *to, uint32_t seed,
                                     void *user)
{
    struct rbuf_exchange hello = message_make(RBUF_EXCHANGE_REQ, to->token, seed);
    struct rbuf_connection *made = NULL;

    ck_assert_int_eq(rbuf_listener_connect(from->listener, &to->addresses, &hello, user, &made), 0);
    return made;
}

void side_accept(struct side *side, const struct rbuf_connect_event *request, uint32_t seed)
{
    const struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_REP, side->token, seed);

    rbuf_connection_accept(request->connection, &accept, side);
}

struct pair sides_connect(struct side *a, struct side *b)
{
    struct pair pair = {.active = side_connect(a, b, 11, a)};
    struct rbuf_connect_event event = side_expect(b, RBUF_CONNECT_REQUEST);
    struct rbuf_exchange accept = message_make(RBUF_EXCHANGE_REP, b->token, 22);

    pair.passive = event.connection;
    ck_assert_ptr_null(event.user);
    ck_assert_uint_eq(event.theirs.side.rank, 11);
    ck_assert_uint_eq(event.theirs.side.queue[RBUF_BULK].qpn, 311);
    rbuf_connection_accept(pair.passive, &accept, b);
    event = side_expect(a, RBUF_CONNECT_RESPONSE);
    ck_assert_ptr_eq(event.connection, pair.active);
    ck_assert_ptr_eq(event.user, a);
    ck_assert_uint_eq(event.theirs.side.rank, 22);
    ck_assert_int_eq(memcmp(&event.theirs.side, &accept.side, sizeof(accept.side)), 0);
    rbuf_connection_establish(pair.active);
    event = side_expect(b, RBUF_CONNECT_ESTABLISHED);
    ck_assert_ptr_eq(event.connection, pair.passive);
    ck_assert_ptr_eq(event.user, b);
    return pair;
}

int raw_open(const struct side *side)
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

size_t raw_read(int fd)
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
