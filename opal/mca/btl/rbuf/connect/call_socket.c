/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The socket of a call: taken over, written to, closed. Runs in the listener's thread.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "connect/call.h"
#include "connect/descriptors.h"

#define KEEPALIVE_IDLE     30 /* s without a word before the first question */
#define KEEPALIVE_INTERVAL 10 /* s between questions */
#define KEEPALIVE_COUNT    3  /* unanswered ones that end the connection */

static void free_events(struct rbuf_call *call)
{
    struct event **events[] = {&call->readable, &call->writable, &call->timer};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (*events[i] != NULL) {
            event_free(*events[i]);
            *events[i] = NULL;
        }
    }
}

/* shutdown() first: a child of fork that holds the socket too shall not keep the connection up. */
void rbuf_call_close_socket(struct rbuf_call *call)
{
    if (call->fd < 0) {
        return;
    }
    free_events(call);
    (void) shutdown(call->fd, SHUT_RDWR);
    (void) close(call->fd);
    call->fd = -1;
    call->in_bytes = 0;
    call->out_bytes = 0;
}

void rbuf_call_start_timer(struct rbuf_call *call)
{
    unsigned ms = call->listener->options.timeout_ms;
    struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t) (ms % 1000) * 1000};

    (void) event_add(call->timer, &wait);
}

void rbuf_call_flush(struct rbuf_call *call)
{
    while (call->out_bytes > 0) {
        ssize_t sent = send(call->fd, call->out, call->out_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0) {
            call->out_bytes -= (size_t) sent;
            memmove(call->out, call->out + sent, call->out_bytes);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            (void) event_add(call->writable, NULL);
            return;
        } else if (errno != EINTR) {
            call->out_bytes = 0;
        }
    }
}

void rbuf_call_send(struct rbuf_call *call, enum rbuf_exchange_kind kind, enum rbuf_refusal refusal)
{
    struct rbuf_exchange message = call->mine;
    size_t bytes = rbuf_exchange_seal(&message, kind, refusal);

    if (call->out_bytes + bytes <= sizeof(call->out)) {
        memcpy(call->out + call->out_bytes, &message, bytes);
        call->out_bytes += bytes;
        rbuf_call_flush(call);
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

bool rbuf_call_adopt_socket(struct rbuf_call *call, int fd,
                            const struct rbuf_call_handlers *handlers)
{
    struct event_base *base = call->listener->base;

    call->fd = fd;
    if (call->listener->options.raise_descriptors) {
        rbuf_descriptors_used(fd);
    }
    set_socket_options(fd);
    call->readable = event_new(base, fd, EV_READ | EV_PERSIST, handlers->readable, call);
    call->writable = event_new(base, fd, EV_WRITE, handlers->writable, call);
    call->timer = event_new(base, -1, 0, handlers->timer, call);
    if (call->readable == NULL || call->writable == NULL || call->timer == NULL) {
        rbuf_call_close_socket(call);
        return false;
    }
    return true;
}
