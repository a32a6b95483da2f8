/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Listeners that call each other over loopback, several in one process, and plain connections to
 * them as anybody can make them. What does not come within PATIENCE_MS fails the test.
 */
#ifndef RBUF_TEST_SIDES_H
#define RBUF_TEST_SIDES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "connect/listener.h"
#include "messages.h"

#define TIMEOUT_MS  300 /* of the listeners' steps */
#define PATIENCE_MS 10000

struct side {
    struct rbuf_listener *listener;
    uint8_t token[RBUF_TOKEN_BYTES];
    struct rbuf_address_list addresses;
};

struct pair {
    struct rbuf_connection *active;
    struct rbuf_connection *passive;
};

uint64_t wall_ms(void); /* monotonic */
void sleep_ms(unsigned ms);

/* The caller closes the listener. A timeout of 0 is TIMEOUT_MS. */
struct side side_open(void);
struct side side_open_with(struct rbuf_listener_options options);

void sides_close(struct side *a, struct side *b);

/* The next event, which must be of that kind; or none, for 30 ms. */
struct rbuf_connect_event side_expect(const struct side *side, enum rbuf_connect_event_kind kind);
void side_expect_nothing(const struct side *side);

/* A call whose message says `seed` (message_make()), and a whole exchange, whose users are the
 * addresses of the sides. */
struct rbuf_connection *side_connect(const struct side *from, const struct side *to, uint32_t seed,
                                     void *user);
struct pair sides_connect(struct side *a, struct side *b);

/* Accepts a REQUEST at the side, which is its user from now on, with a message that says `seed`. */
void side_accept(struct side *side, const struct rbuf_connect_event *request, uint32_t seed);

/* Waits until the counter is there, and not beyond; or there at least, if it goes on counting. */
void count_reaches(const _Atomic uint64_t *counter, uint64_t count);
void count_passes(const _Atomic uint64_t *counter, uint64_t count);

/* A plain connection to the listener; then the number of bytes that come until the listener closes
 * it, which it must do. */
int raw_open(const struct side *side);
size_t raw_read(int fd);

#endif
