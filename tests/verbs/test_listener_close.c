/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The end of a listener, whose thread may be anywhere: it has not begun yet, waits, or takes a call
 * or a command. Whatever comes at the moment of the end, from this process or from others, the
 * thread hears that it is to end. Many short lives, with callers that go on meanwhile; the program
 * is compiled with ThreadSanitizer, where there is one.
 */
#include "sides.h"
#include "unit.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ROUNDS = 300,
    COMMANDS_MOST = 13,
    SPINS_MOST = 1024 /* between the last command and the end */
};

/* Where others call; port 0: nobody listens now. */
static _Atomic uint32_t port;
static atomic_bool over;

/* Another process would do the same: it may be refused, or find that the listener is gone. */
static void *call(void *unused)
{
    (void) unused;
    while (!atomic_load(&over)) {
        struct sockaddr_in name = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t) atomic_load(&port)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const struct linger reset = {.l_onoff = 1}; /* no port stays taken behind it */
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (name.sin_port != 0 && connect(fd, (struct sockaddr *) &name, sizeof(name)) == 0) {
            (void) !send(fd, "x", 1, MSG_NOSIGNAL);
        }
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(fd);
    }
    return NULL;
}

static unsigned tick(void)
{
    return 1;
}

/* Pauses that differ from round to round, so that all moments come. */
static void spin(unsigned round)
{
    for (volatile unsigned i = 0; i < round * 7919u % SPINS_MOST; i++) {
    }
}

static struct side open_loopback(void)
{
    return side_open_with((struct rbuf_listener_options){
        .interfaces = "lo", .tick = tick, .tick_ms = 1, .timeout_ms = TIMEOUT_MS});
}

/* What the user has said last before the end: nothing, that it ticks, or some commands, with which
 * the thread is busy. */
static void say_something(struct side *side, const struct side *peer, unsigned round)
{
    const unsigned commands = round % COMMANDS_MOST;

    if (round % 2 == 0) {
        rbuf_listener_arm(side->listener);
    }
    for (unsigned i = 0; i < commands; i++) {
        struct rbuf_connection *connection = side_connect(side, peer, 1, NULL);

        if (i % 4 != 3) {
            rbuf_connection_close(connection);
        }
    }
}

START_TEST(the_end_is_heard)
{
    const unsigned before = unit_descriptors();
    struct side peer = open_loopback();
    pthread_t callers[2];

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&callers[i], NULL, call, NULL), 0);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct side side = open_loopback();

        atomic_store(&port, side.addresses.address[0].port);
        say_something(&side, &peer, round);
        spin(round);
        rbuf_listener_close(side.listener); /* hangs, if it is not heard */
        atomic_store(&port, 0);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(callers[i], NULL);
    }
    rbuf_listener_close(peer.listener);
    ck_assert_uint_eq(unit_descriptors(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("listener close");

    unit_add(suite, the_end_is_heard);
    return unit_run(suite);
}
