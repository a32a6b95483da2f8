/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Tries a peer's addresses (outgoing.h). An address fails by itself, or is found late by its timer
 * (handshake.c).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the form of strerror_r() that needs no lock */
#endif
#include "connect/outgoing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "connect/descriptors.h"
#include "connect/handshake.h"
#include "connect/socket.h"

#define BACK_OFF_MS      20u /* before the second try, on average; then twice as long each time */
#define BACK_OFF_MOST_MS 2000u
#define DOUBLINGS_MOST   6u /* of the wait for a process that is silent, though its host answers */

/* Of the address that is being tried; told if it was the last one. */
static void note_failure(struct rbuf_connection *connection, int error, const char *text)
{
    (void) snprintf(connection->failure, sizeof(connection->failure), "%s", text);
    connection->failure_error = error;
}

/* A REQ that was not answered for as long as the time-out: TCP was connected, so there is a host. A
 * listener that closes at once is another's. */
static void note_silence(struct rbuf_connection *connection)
{
    const uint64_t now = rbuf_now_ms();

    if (now - connection->req_ms >= connection->listener->options.timeout_ms) {
        connection->alive_ms = now;
    }
}

/* How long a REQ waits for its MRA: twice as long in each round. So a process that was stopped
 * finds few withdrawn requests when it goes on, and an address that leads to another host delays
 * the first round little. */
static unsigned silence_ms(const struct rbuf_connection *connection)
{
    const struct rbuf_listener_options *options = &connection->listener->options;
    const unsigned doublings =
        connection->silent_rounds < DOUBLINGS_MOST ? connection->silent_rounds : DOUBLINGS_MOST;
    const uint64_t wait = (uint64_t) options->timeout_ms << doublings;
    const uint64_t end = connection->began_ms + options->answer_ms;
    const uint64_t now = rbuf_now_ms();

    return (unsigned) (options->answer_ms == 0 || now + wait <= end ? wait
                       : now < end                                  ? end - now
                                                                    : 1);
}

void rbuf_outgoing_send_req(struct rbuf_connection *connection)
{
    connection->state = RBUF_CONNECTION_REQ_SENT;
    connection->req_ms = rbuf_now_ms();
    (void) rbuf_event_add_ms(&connection->timer, silence_ms(connection));
    rbuf_socket_send(connection, RBUF_EXCHANGE_REQ, RBUF_REJECT_NONE);
    (void) event_add(&connection->readable, NULL);
}

/* 0: connected or on the way. */
static int try_address(struct rbuf_connection *connection, const struct rbuf_address *address)
{
    struct sockaddr_storage name;
    socklen_t length = rbuf_address_to_socket(address, &name);
    int fd;

    do {
        fd = rbuf_socket_open(name.ss_family);
    } while (fd < 0 && errno == EMFILE && connection->listener->options.raise_descriptors &&
             rbuf_descriptors_raise());
    rbuf_address_text(address, connection->peer);
    if (fd < 0) {
        return -errno;
    }
    rbuf_handshake_adopt(connection, fd);
    if (connect(fd, (struct sockaddr *) &name, length) == 0) {
        rbuf_outgoing_send_req(connection);
        return 0;
    }
    if (errno != EINPROGRESS) {
        int error = -errno;

        rbuf_socket_close(connection);
        return error;
    }
    connection->state = RBUF_CONNECTION_TCP_CONNECTING;
    rbuf_socket_start_timer(connection);
    (void) event_add(&connection->writable, NULL);
    return 0;
}

static void start_round(struct rbuf_connection *connection)
{
    rbuf_count(&connection->listener->counters.connects_retried);
    connection->trying_next = 0;
    connection->silent = 0;
}

/* All addresses have failed, and are tried again later: after half of the average to one and a
 * half, so that processes that failed together do not come back together. False: that is final. */
static bool back_off(struct rbuf_connection *connection)
{
    const unsigned twice = 2 * connection->back_off_ms;
    uint32_t chance;
    unsigned ms;

    connection->back_off_ms = twice == 0                 ? BACK_OFF_MS
                              : twice < BACK_OFF_MOST_MS ? twice
                                                         : BACK_OFF_MOST_MS;
    evutil_secure_rng_get_bytes(&chance, sizeof(chance));
    ms = connection->back_off_ms / 2 + chance % (connection->back_off_ms + 1);
    if (rbuf_now_ms() + ms >= connection->alive_ms + connection->listener->options.retry_ms) {
        return false;
    }
    if (rbuf_event_add_ms(&connection->timer, ms) != 0) {
        return false;
    }
    connection->state = RBUF_CONNECTION_BACK_OFF;
    return true;
}

/* True while a process is waited for whose host answers: it may be stopped, as by a debugger, or
 * its memory be swapped out. */
static bool has_patience(const struct rbuf_connection *connection)
{
    const uint64_t answer_ms = connection->listener->options.answer_ms;

    return answer_ms == 0 || rbuf_now_ms() < connection->began_ms + answer_ms;
}

/* The user is told of the first. */
static void note_silent_round(struct rbuf_connection *connection)
{
    struct rbuf_connect_event *event;

    if (connection->silent_rounds++ > 0) {
        return;
    }
    rbuf_count(&connection->listener->counters.connects_unanswered);
    event = rbuf_handshake_event(connection, NULL);
    if (event != NULL) {
        rbuf_event_queue_push(event, RBUF_CONNECT_UNANSWERED);
    }
}

/* True if one of the addresses left is connected, or on the way. */
static bool try_addresses(struct rbuf_connection *connection)
{
    char buffer[128];

    while (connection->trying_next < connection->trying_count) {
        int error = try_address(connection, &connection->trying[connection->trying_next++]);

        if (error == 0) {
            return true;
        }
        if (error == -EMFILE) {
            (void) snprintf(buffer, sizeof(buffer),
                            "no file descriptor is left, of %llu (raise the limit: ulimit -n)",
                            (unsigned long long) rbuf_descriptors_limit());
            note_failure(connection, error, buffer);
        } else {
            note_failure(connection, error, strerror_r(-error, buffer, sizeof(buffer)));
        }
    }
    return false;
}

/* Goes on to the next address, round or back-off; without any the connection has failed. The socket
 * that was being read is gone. */
static void try_next(struct rbuf_connection *connection)
{
    rbuf_socket_close(connection);
    if (try_addresses(connection)) {
        return;
    }
    if (connection->silent > 0 && has_patience(connection)) {
        note_silent_round(connection);
        start_round(connection);
        if (try_addresses(connection)) {
            return;
        }
    }
    if (connection->silent == 0 && back_off(connection)) {
        return;
    }
    rbuf_count(&connection->listener->counters.connects_failed);
    (void) rbuf_handshake_end(connection, RBUF_CONNECT_FAILED, connection->failure_error,
                              connection->failure);
}

void rbuf_outgoing_retry(struct rbuf_connection *connection)
{
    start_round(connection);
    try_next(connection);
}

void rbuf_outgoing_failed(struct rbuf_connection *connection, int error, const char *text)
{
    if (connection->state == RBUF_CONNECTION_REQ_SENT) {
        note_silence(connection);
    }
    note_failure(connection, error, text);
    try_next(connection);
}

void rbuf_outgoing_late(struct rbuf_connection *connection)
{
    if (connection->state == RBUF_CONNECTION_REQ_SENT) {
        connection->silent++;
        rbuf_outgoing_failed(connection, -ETIMEDOUT,
                             "its host answers, but the process does not: it is stopped, or the "
                             "address leads to another one");
    } else {
        rbuf_outgoing_failed(connection, -ETIMEDOUT, "no connection within the time-out");
    }
}

void rbuf_outgoing_start(struct rbuf_connection *connection)
{
    TAILQ_INSERT_TAIL(&connection->listener->connections, connection, link);
    connection->state = RBUF_CONNECTION_TCP_CONNECTING;
    connection->began_ms = rbuf_now_ms();
    connection->alive_ms = connection->began_ms;
    rbuf_count(&connection->listener->counters.connects);
    (void) snprintf(connection->peer, sizeof(connection->peer), "the peer");
    note_failure(connection, -EHOSTUNREACH, "none of its addresses can be reached from here");
    try_next(connection);
}
