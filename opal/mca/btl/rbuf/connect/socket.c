/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Owns the descriptor of a connection and its three libevent events (socket.h). */
#include "connect/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "common/close_on_fork.h"
#include "connect/descriptors.h"

#define KEEPALIVE_IDLE     30 /* s without a word before the first question */
#define KEEPALIVE_INTERVAL 10 /* s between questions */
#define KEEPALIVE_COUNT    3  /* unanswered ones that end the connection */

int rbuf_socket_open(int family)
{
    int fd;

    rbuf_close_on_fork_begin();
    fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    rbuf_close_on_fork_mark(fd);
    rbuf_close_on_fork_end();
    return fd;
}

/* shutdown() first: whoever inherited the socket all the same shall not keep the connection up. */
void rbuf_socket_close(struct rbuf_connection *connection)
{
    if (connection->fd < 0) {
        return;
    }
    (void) event_del(&connection->readable);
    (void) event_del(&connection->writable);
    (void) event_del(&connection->timer);
    (void) shutdown(connection->fd, SHUT_RDWR);
    rbuf_close_on_fork_close(connection->fd);
    connection->fd = -1;
    connection->in_bytes = 0;
    connection->out_bytes = 0;
}

void rbuf_socket_start_timer(struct rbuf_connection *connection)
{
    (void) rbuf_event_add_ms(&connection->timer, connection->listener->options.timeout_ms);
}

void rbuf_socket_flush(struct rbuf_connection *connection)
{
    while (connection->out_bytes > 0) {
        ssize_t sent = send(connection->fd, connection->out, connection->out_bytes,
                            MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0) {
            connection->out_bytes -= (size_t) sent;
            memmove(connection->out, connection->out + sent, connection->out_bytes);
        } else if (errno == EAGAIN) {
            (void) event_add(&connection->writable, NULL);
            return;
        } else if (errno != EINTR) {
            connection->out_bytes = 0;
        }
    }
}

void rbuf_socket_send(struct rbuf_connection *connection, enum rbuf_exchange_kind kind,
                      enum rbuf_reject_reason reason)
{
    struct rbuf_exchange message = connection->mine;
    size_t bytes = rbuf_exchange_seal(&message, kind, reason);

    if (connection->out_bytes + bytes <= sizeof(connection->out)) {
        memcpy(connection->out + connection->out_bytes, &message, bytes);
        connection->out_bytes += bytes;
        rbuf_socket_flush(connection);
    }
}

static void set_socket_options(int fd)
{
    const struct {
        int level;
        int name;
        int value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_NODELAY, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE},
                   {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL},
                   {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        (void) setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                          sizeof(options[i].value));
    }
}

void rbuf_socket_adopt(struct rbuf_connection *connection, int fd, event_callback_fn readable,
                       event_callback_fn writable)
{
    struct event_base *base = connection->listener->base;

    connection->fd = fd;
    if (connection->listener->options.raise_descriptors) {
        (void) rbuf_descriptors_used(fd);
    }
    set_socket_options(fd);
    (void) event_assign(&connection->readable, base, fd, EV_READ | EV_PERSIST, readable,
                        connection);
    (void) event_assign(&connection->writable, base, fd, EV_WRITE, writable, connection);
}
