/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Allocates a connection with its last event, so that its end can always be reported
 * (connection.h).
 */
#include "connect/connection.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/monotonic.h"

uint64_t rbuf_now_ms(void)
{
    return mca_btl_rbuf_now_ns() / 1000000;
}

struct rbuf_connect_event *rbuf_connection_event(struct rbuf_connection *connection,
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

struct rbuf_connection *rbuf_connection_new(struct rbuf_connect_context *context)
{
    struct rbuf_connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        return NULL;
    }
    connection->last_event = rbuf_connection_event(connection, NULL);
    if (connection->last_event == NULL) {
        free(connection);
        return NULL;
    }
    connection->context = context;
    connection->fd = -1;
    connection->connect.connection = connection;
    connection->answer.connection = connection;
    connection->disconnect.connection = connection;
    connection->end.connection = connection;
    return connection;
}
