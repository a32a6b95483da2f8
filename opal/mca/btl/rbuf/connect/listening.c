/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Binds the listening sockets and accepts from them (listening.h): at most ACCEPTS_AT_ONCE
 * connections before other events get their turn.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4() */
#endif
#include "connect/listening.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "common/close_on_fork.h"
#include "connect/descriptors.h"
#include "connect/handshake.h"
#include "connect/socket.h"

#define ACCEPTS_AT_ONCE 64 /* connections taken in before other events get their turn */
#define PAUSE_MS        100
#define ROOM_PAUSE_MS   20

int rbuf_listening_problem(const char *function, int error, struct rbuf_problem *problem)
{
    rbuf_problem_set(problem, "listener", error, "%s", function);
    rbuf_problem_errno(problem, error);
    if (error == -EMFILE || error == -ENFILE) {
        rbuf_problem_remedy(problem, "raise the limit of open files (ulimit -n)");
    }
    return error;
}

/* New connections wait in the backlog, and this thread does not spin. */
static void pause_accepting(struct rbuf_listener *listener, unsigned ms)
{
    for (unsigned i = 0; i < listener->socket_count; i++) {
        (void) event_del(&listener->socket[i].event);
    }
    (void) rbuf_event_add_ms(&listener->resume, ms);
}

static void on_resume(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_listener *listener = data;

    (void) fd;
    (void) what;
    for (unsigned i = 0; i < listener->socket_count; i++) {
        (void) event_add(&listener->socket[i].event, NULL);
    }
}

static int accept_one(int fd, struct sockaddr_storage *name)
{
    socklen_t length = sizeof(*name);
    int taken;

    rbuf_close_on_fork_begin();
    taken = accept4(fd, (struct sockaddr *) name, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    rbuf_close_on_fork_mark(taken);
    rbuf_close_on_fork_end();
    return taken;
}

static void on_connection(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_listener *listener = data;
    char text[RBUF_ADDRESS_TEXT_MAX];

    (void) what;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct sockaddr_storage name;
        struct rbuf_address address;
        int taken;

        if (!rbuf_handshake_make_room(listener)) {
            pause_accepting(listener, ROOM_PAUSE_MS);
            return;
        }
        taken = accept_one(fd, &name);
        if (taken >= 0) {
            (void) rbuf_address_from_socket((struct sockaddr *) &name, &address);
            rbuf_address_text(&address, text);
            rbuf_handshake_take_incoming(listener, taken, text);
        } else if (errno == EMFILE && listener->options.raise_descriptors &&
                   rbuf_descriptors_raise()) {
            continue;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            rbuf_count(&listener->counters.accept_pauses);
            pause_accepting(listener, PAUSE_MS);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
        /* All other errors are of the one connection, which is gone. */
    }
}

static int listen_on(const struct rbuf_address *address, unsigned port, int *out)
{
    struct rbuf_address wanted = *address;
    struct sockaddr_storage name;
    socklen_t length;
    const int one = 1;
    int error;
    int fd;

    wanted.port = (uint16_t) port;
    length = rbuf_address_to_socket(&wanted, &name);
    fd = rbuf_socket_open(name.ss_family);
    if (fd < 0) {
        return -errno;
    }
    (void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (name.ss_family == AF_INET6) {
        (void) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    }
    if (bind(fd, (struct sockaddr *) &name, length) != 0 || listen(fd, SOMAXCONN) != 0) {
        error = -errno;
        rbuf_close_on_fork_close(fd);
        return error;
    }
    *out = fd;
    return 0;
}

/* The first free port of the range. */
static int listen_in_range(const struct rbuf_listener_options *options,
                           const struct rbuf_address *address, int *out)
{
    int error = -EADDRINUSE;

    for (unsigned port = options->port_min; port <= options->port_max && error == -EADDRINUSE;
         port++) {
        error = listen_on(address, port, out);
    }
    return error;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage name = {0};
    socklen_t length = sizeof(name);
    struct rbuf_address bound;

    (void) getsockname(fd, (struct sockaddr *) &name, &length);
    (void) rbuf_address_from_socket((struct sockaddr *) &name, &bound);
    return bound.port;
}

static int listen_on_one(struct rbuf_listener *listener, const struct rbuf_address *address,
                         struct rbuf_address_list *published, struct rbuf_problem *problem)
{
    const struct rbuf_listener_options *options = &listener->options;
    struct rbuf_listening_socket *socket = &listener->socket[listener->socket_count];
    char text[RBUF_ADDRESS_TEXT_MAX];
    int error = listen_in_range(options, address, &socket->fd);

    if (error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT) {
        return 0; /* it went away in the meantime, or is not ready yet */
    }
    if (error != 0) {
        rbuf_address_text(address, text);
        rbuf_problem_set(problem, "listener-port", error, "%u to %u on %s", options->port_min,
                         options->port_max, text);
        rbuf_problem_errno(problem, error);
        rbuf_problem_remedy(problem, "every process of a machine needs a port of its own: widen "
                                     "the range");
        return error;
    }
    listener->socket_count++;
    (void) event_assign(&socket->event, listener->base, socket->fd, EV_READ | EV_PERSIST,
                        on_connection, listener);
    if (event_add(&socket->event, NULL) != 0) {
        return rbuf_listening_problem("event_add", -ENOMEM, problem);
    }
    published->address[published->count] = *address;
    published->address[published->count++].port = bound_port(socket->fd);
    return 0;
}

int rbuf_listening_open(struct rbuf_listener *listener, struct rbuf_address_list *published,
                        struct rbuf_problem *problem)
{
    int error = 0;

    *published = (struct rbuf_address_list){.machine = listener->machine};
    (void) event_assign(&listener->resume, listener->base, -1, 0, on_resume, listener);
    for (unsigned i = 0; i < listener->local.count && error == 0; i++) {
        error = listen_on_one(listener, &listener->local.all[i].address, published, problem);
    }
    if (error == 0 && published->count == 0) {
        error = rbuf_problem_set(problem, "listener-address", -EADDRNOTAVAIL, "any interface");
        rbuf_problem_value(problem, "none could be listened on");
    }
    return error;
}

/* shutdown() first, which frees the port though somebody inherited the socket all the same. */
void rbuf_listening_close(struct rbuf_listener *listener)
{
    for (unsigned i = 0; i < listener->socket_count; i++) {
        (void) event_del(&listener->socket[i].event);
        (void) shutdown(listener->socket[i].fd, SHUT_RDWR);
        rbuf_close_on_fork_close(listener->socket[i].fd);
    }
}
