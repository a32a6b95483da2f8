/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Acts on bytes, commands and time-outs of one connection (handshake.h). Functions that may close
 * the socket or free the connection return whether it is still there to be read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the form of strerror_r() that needs no lock */
#endif
#include "connect/handshake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/close_on_fork.h"
#include "connect/outgoing.h"
#include "connect/socket.h"

#define UNAUTHENTICATED_MS 250u /* that one may be silent when its place is wanted */

static bool fail(struct rbuf_connection *connection, int error, const char *text);
static void on_timer(evutil_socket_t fd, short what, void *data);

struct rbuf_connect_event *rbuf_handshake_event(struct rbuf_connection *connection,
                                                const struct rbuf_exchange *theirs)
{
    struct rbuf_connect_event *event = calloc(1, sizeof(*event));

    if (event != NULL) {
        event->connection = connection;
        if (theirs != NULL) {
            event->theirs = *theirs;
        }
        (void) snprintf(event->text, sizeof(event->text), "%s", connection->peer);
    }
    return event;
}

struct rbuf_connection *rbuf_handshake_new(struct rbuf_listener *listener)
{
    struct rbuf_connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        return NULL;
    }
    connection->last_event = rbuf_handshake_event(connection, NULL);
    if (connection->last_event == NULL) {
        free(connection);
        return NULL;
    }
    connection->listener = listener;
    connection->fd = -1;
    (void) event_assign(&connection->timer, listener->base, -1, 0, on_timer, connection);
    connection->connect.connection = connection;
    connection->answer.connection = connection;
    connection->disconnect.connection = connection;
    connection->end.connection = connection;
    return connection;
}

static void leave_list(struct rbuf_connection *connection)
{
    struct rbuf_listener *listener = connection->listener;

    if (connection->state == RBUF_CONNECTION_UNAUTHENTICATED) {
        TAILQ_REMOVE(&listener->unauthenticated, connection, link);
        listener->unauthenticated_count--;
    } else {
        TAILQ_REMOVE(&listener->connections, connection, link);
    }
}

static void free_connection(struct rbuf_connection *connection)
{
    rbuf_socket_close(connection);
    (void) event_del(&connection->timer); /* BACK_OFF */
    leave_list(connection);
    free(connection->last_event);
    free(connection);
}

/* The user's part is over: free it now, or when the last bytes are out. */
static void finish(struct rbuf_connection *connection)
{
    if (connection->out_bytes == 0) {
        free_connection(connection);
    } else {
        connection->state = RBUF_CONNECTION_DRAINING;
        rbuf_socket_start_timer(connection);
    }
}

void rbuf_handshake_destroy(struct rbuf_connection *connection)
{
    switch (connection->state) {
    case RBUF_CONNECTION_REQ_RECEIVED:
    case RBUF_CONNECTION_REP_SENT:
    case RBUF_CONNECTION_MRA_RECEIVED:
    case RBUF_CONNECTION_REP_RECEIVED:
    case RBUF_CONNECTION_ESTABLISHED:
        rbuf_socket_send(connection, RBUF_EXCHANGE_DREQ, RBUF_REJECT_NONE);
        finish(connection);
        return;
    default:
        free_connection(connection);
    }
}

bool rbuf_handshake_end(struct rbuf_connection *connection, enum rbuf_connect_event_kind kind,
                        int error, const char *text)
{
    struct rbuf_connect_event *event = connection->last_event;

    connection->state = RBUF_CONNECTION_CLOSED;
    if (event != NULL) {
        connection->last_event = NULL;
        event->error = error;
        (void) snprintf(event->text, sizeof(event->text), "%s: %s", connection->peer, text);
        rbuf_event_queue_push(event, kind);
    }
    /* After the event: a peer that leaves takes the closing for a sign that its DREQ is here. */
    rbuf_socket_close(connection);
    return false;
}

static bool notify(struct rbuf_connection *connection, enum rbuf_connect_event_kind kind,
                   const struct rbuf_exchange *theirs)
{
    struct rbuf_connect_event *event = rbuf_handshake_event(connection, theirs);

    if (event == NULL) {
        return fail(connection, -ENOMEM, "no memory");
    }
    rbuf_event_queue_push(event, kind);
    return true;
}

/* The connection is over before its time. */
static bool fail(struct rbuf_connection *connection, int error, const char *text)
{
    switch (connection->state) {
    case RBUF_CONNECTION_TCP_CONNECTING:
    case RBUF_CONNECTION_REQ_SENT:
        rbuf_outgoing_failed(connection, error, text);
        return false;
    case RBUF_CONNECTION_MRA_RECEIVED:
        rbuf_count(&connection->listener->counters.connects_failed);
        return rbuf_handshake_end(connection, RBUF_CONNECT_FAILED, error, text);
    case RBUF_CONNECTION_REQ_RECEIVED:
    case RBUF_CONNECTION_REP_SENT:
        return rbuf_handshake_end(connection, RBUF_CONNECT_ABANDONED, error, text);
    case RBUF_CONNECTION_REP_RECEIVED:
    case RBUF_CONNECTION_ESTABLISHED:
        rbuf_count(&connection->listener->counters.peers_lost);
        return rbuf_handshake_end(connection, RBUF_PEER_LOST, error, text);
    case RBUF_CONNECTION_DREQ_SENT:
        return rbuf_handshake_end(connection, RBUF_PEER_DISCONNECTED, 0, text);
    case RBUF_CONNECTION_UNAUTHENTICATED:
    case RBUF_CONNECTION_DRAINING:
        free_connection(connection);
        return false;
    case RBUF_CONNECTION_BACK_OFF: /* has no socket */
    case RBUF_CONNECTION_CLOSED:
        break;
    }
    return false;
}

static bool reject(struct rbuf_connection *connection, enum rbuf_exchange_fault fault)
{
    rbuf_count(&connection->listener->counters.fault[fault]);
    return fail(connection, -EPROTO, rbuf_exchange_fault_text(fault));
}

static bool token_is(const struct rbuf_exchange *message, const uint8_t token[RBUF_TOKEN_BYTES])
{
    return memcmp(message->side.token, token, RBUF_TOKEN_BYTES) == 0;
}

/* True if the other side had closed its end when its REQ was read: it has had no answer for too
 * long, and connects again. */
static bool is_withdrawn(const struct rbuf_connection *connection)
{
    char next;

    return recv(connection->fd, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool handle_req(struct rbuf_connection *connection, const struct rbuf_exchange *message)
{
    struct rbuf_listener *listener = connection->listener;
    struct rbuf_connect_event *event;

    if (message->header.kind != RBUF_EXCHANGE_REQ) {
        return reject(connection, RBUF_FAULT_KIND);
    }
    if (!token_is(message, listener->token)) {
        return reject(connection, RBUF_FAULT_TOKEN);
    }
    if (is_withdrawn(connection)) {
        rbuf_count(&listener->counters.withdrawn);
        free_connection(connection);
        return false;
    }
    event = rbuf_handshake_event(connection, message);
    if (event == NULL) {
        free_connection(connection);
        return false;
    }
    leave_list(connection);
    TAILQ_INSERT_TAIL(&listener->connections, connection, link);
    connection->state = RBUF_CONNECTION_REQ_RECEIVED;
    (void) event_del(&connection->timer);
    rbuf_count(&listener->counters.authenticated);
    rbuf_socket_send(connection, RBUF_EXCHANGE_MRA, RBUF_REJECT_NONE);
    rbuf_event_queue_push(event, RBUF_CONNECT_REQUEST);
    return true;
}

static bool handle_rep(struct rbuf_connection *connection, const struct rbuf_exchange *message)
{
    switch (message->header.kind) {
    case RBUF_EXCHANGE_REP:
        if (!token_is(message, connection->mine.side.token)) {
            return reject(connection, RBUF_FAULT_TOKEN);
        }
        connection->state = RBUF_CONNECTION_REP_RECEIVED;
        return notify(connection, RBUF_CONNECT_RESPONSE, message);
    case RBUF_EXCHANGE_REJ: {
        enum rbuf_reject_reason reason = (enum rbuf_reject_reason) message->header.reason;

        connection->last_event->reason = reason;
        return rbuf_handshake_end(connection, RBUF_CONNECT_REJECTED, -ECONNREFUSED,
                                  rbuf_reject_text(reason));
    }
    case RBUF_EXCHANGE_DREQ:
        return fail(connection, -ECONNRESET, "the peer is finishing");
    default:
        return reject(connection, RBUF_FAULT_KIND);
    }
}

/* A message in a state in which only one kind and DREQ may come. */
static bool handle_message(struct rbuf_connection *connection, const struct rbuf_exchange *message)
{
    bool is_dreq = message->header.kind == RBUF_EXCHANGE_DREQ;

    switch (connection->state) {
    case RBUF_CONNECTION_UNAUTHENTICATED:
        return handle_req(connection, message);
    case RBUF_CONNECTION_REQ_SENT:
        if (message->header.kind != RBUF_EXCHANGE_MRA) {
            return reject(connection, RBUF_FAULT_KIND);
        }
        connection->state = RBUF_CONNECTION_MRA_RECEIVED;
        (void) event_del(&connection->timer);
        return true;
    case RBUF_CONNECTION_MRA_RECEIVED:
        return handle_rep(connection, message);
    case RBUF_CONNECTION_REP_SENT:
        if (message->header.kind == RBUF_EXCHANGE_RTU) {
            connection->state = RBUF_CONNECTION_ESTABLISHED;
            return notify(connection, RBUF_CONNECT_ESTABLISHED, NULL);
        }
        /* fall through */
    case RBUF_CONNECTION_REQ_RECEIVED:
        return is_dreq ? fail(connection, -ECONNRESET, "the peer withdrew its request")
                       : reject(connection, RBUF_FAULT_KIND);
    case RBUF_CONNECTION_REP_RECEIVED:
    case RBUF_CONNECTION_ESTABLISHED:
    case RBUF_CONNECTION_DREQ_SENT: /* at once with ours */
        return is_dreq ? rbuf_handshake_end(connection, RBUF_PEER_DISCONNECTED, 0, "finished")
                       : reject(connection, RBUF_FAULT_KIND);
    default:
        return true; /* draining: nobody listens any more */
    }
}

static bool consume(struct rbuf_connection *connection)
{
    struct rbuf_exchange message;

    if (connection->state == RBUF_CONNECTION_DRAINING) {
        connection->in_bytes = 0;
    }
    while (connection->in_bytes > 0) {
        enum rbuf_exchange_fault fault =
            rbuf_exchange_parse(connection->in, connection->in_bytes, &message);

        if (fault == RBUF_FAULT_INCOMPLETE) {
            return true;
        }
        if (fault != RBUF_FAULT_NONE) {
            return reject(connection, fault);
        }
        connection->in_bytes -= message.header.bytes;
        memmove(connection->in, connection->in + message.header.bytes, connection->in_bytes);
        if (!handle_message(connection, &message)) {
            return false;
        }
    }
    return true;
}

/* The socket has failed, or with error 0 the other side has closed it. */
static void lose(struct rbuf_connection *connection, int error)
{
    char buffer[128];

    if (connection->state == RBUF_CONNECTION_UNAUTHENTICATED) {
        rbuf_count(connection->in_bytes == 0 ? &connection->listener->counters.wordless
                                             : &connection->listener->counters.closed_early);
    }
    if (error == 0) {
        (void) fail(connection, -ECONNRESET, "the connection was closed by the other side");
    } else {
        (void) fail(connection, -error, strerror_r(error, buffer, sizeof(buffer)));
    }
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_connection *connection = data;
    bool there = true;

    (void) what;
    while (there) {
        ssize_t got = recv(fd, connection->in + connection->in_bytes,
                           sizeof(connection->in) - connection->in_bytes, MSG_DONTWAIT);

        if (got > 0) {
            connection->in_bytes += (size_t) got;
            there = consume(connection);
        } else if (got < 0 && errno == EAGAIN) {
            return;
        } else if (got == 0 || errno != EINTR) {
            lose(connection, got == 0 ? 0 : errno);
            return;
        }
    }
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_connection *connection = data;
    int error = 0;
    socklen_t length = sizeof(error);

    (void) what;
    if (connection->state == RBUF_CONNECTION_TCP_CONNECTING) {
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
            error = errno;
        }
        if (error != 0) {
            lose(connection, error);
        } else {
            rbuf_outgoing_send_req(connection);
        }
        return;
    }
    rbuf_socket_flush(connection);
    if (connection->state == RBUF_CONNECTION_DRAINING && connection->out_bytes == 0) {
        free_connection(connection);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    struct rbuf_connection *connection = data;

    (void) fd;
    (void) what;
    switch (connection->state) {
    case RBUF_CONNECTION_TCP_CONNECTING:
    case RBUF_CONNECTION_REQ_SENT:
        rbuf_outgoing_late(connection);
        return;
    case RBUF_CONNECTION_BACK_OFF:
        rbuf_outgoing_retry(connection);
        return;
    case RBUF_CONNECTION_UNAUTHENTICATED:
        rbuf_count(&connection->listener->counters.slow);
        break;
    default:
        break;
    }
    (void) fail(connection, -ETIMEDOUT, "no answer within the time-out");
}

void rbuf_handshake_adopt(struct rbuf_connection *connection, int fd)
{
    rbuf_socket_adopt(connection, fd, on_readable, on_writable);
}

static bool has_room(const struct rbuf_listener *listener)
{
    return listener->unauthenticated_count < listener->options.max_unauthenticated;
}

bool rbuf_handshake_make_room(struct rbuf_listener *listener)
{
    struct rbuf_connection *connection, *next;

    if (has_room(listener)) {
        return true;
    }
    for (connection = TAILQ_FIRST(&listener->unauthenticated); connection != NULL;
         connection = next) {
        next = TAILQ_NEXT(connection, link);
        on_readable(connection->fd, EV_READ, connection); /* it may be authenticated now, or gone */
    }
    if (has_room(listener)) {
        return true;
    }
    connection = TAILQ_FIRST(&listener->unauthenticated);
    if (rbuf_now_ms() - connection->began_ms < UNAUTHENTICATED_MS) {
        return false;
    }
    rbuf_count(&listener->counters.evicted);
    free_connection(connection);
    return true;
}

void rbuf_handshake_take_incoming(struct rbuf_listener *listener, int fd, const char *peer)
{
    struct rbuf_connection *connection;

    rbuf_count(&listener->counters.connections);
    connection = rbuf_handshake_new(listener);
    if (connection == NULL) {
        rbuf_close_on_fork_close(fd);
        return;
    }
    connection->state = RBUF_CONNECTION_UNAUTHENTICATED;
    connection->began_ms = rbuf_now_ms();
    (void) snprintf(connection->peer, sizeof(connection->peer), "%s", peer);
    TAILQ_INSERT_TAIL(&listener->unauthenticated, connection, link);
    listener->unauthenticated_count++;
    rbuf_handshake_adopt(connection, fd);
    rbuf_socket_start_timer(connection);
    (void) event_add(&connection->readable, NULL);
}

/* What commands send, and in which state alone: an answer to a request that has been withdrawn is
 * dropped. */
static const struct {
    enum rbuf_connection_state from;
    enum rbuf_connection_state to;
    enum rbuf_exchange_kind message;
} answers[] = {
    [RBUF_COMMAND_ACCEPT] = {RBUF_CONNECTION_REQ_RECEIVED, RBUF_CONNECTION_REP_SENT,
                             RBUF_EXCHANGE_REP},
    [RBUF_COMMAND_ESTABLISH] = {RBUF_CONNECTION_REP_RECEIVED, RBUF_CONNECTION_ESTABLISHED,
                                RBUF_EXCHANGE_RTU},
    [RBUF_COMMAND_DISCONNECT] = {RBUF_CONNECTION_ESTABLISHED, RBUF_CONNECTION_DREQ_SENT,
                                 RBUF_EXCHANGE_DREQ},
};

void rbuf_handshake_command(struct rbuf_connection *connection, enum rbuf_command_kind kind,
                            enum rbuf_reject_reason reason)
{
    switch (kind) {
    case RBUF_COMMAND_CONNECT:
        rbuf_outgoing_start(connection);
        break;
    case RBUF_COMMAND_ACCEPT:
    case RBUF_COMMAND_ESTABLISH:
    case RBUF_COMMAND_DISCONNECT:
        if (connection->state == answers[kind].from) {
            connection->state = answers[kind].to;
            rbuf_socket_send(connection, answers[kind].message, RBUF_REJECT_NONE);
            if (connection->state == RBUF_CONNECTION_DREQ_SENT) {
                rbuf_socket_start_timer(connection);
            }
        }
        break;
    case RBUF_COMMAND_REJECT:
        if (connection->state == RBUF_CONNECTION_REQ_RECEIVED) {
            rbuf_socket_send(connection, RBUF_EXCHANGE_REJ, reason);
            finish(connection);
            break;
        }
        /* fall through */
    case RBUF_COMMAND_CLOSE:
        rbuf_handshake_destroy(connection);
        break;
    }
}
