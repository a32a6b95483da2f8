/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See connection.h. */
#include "connect/connection.h"

#include <stdlib.h>

const char *rbuf_connection_state_name(enum rbuf_connection_state state)
{
    static const char *const names[RBUF_CONNECTION_STATES] = {
        [RBUF_CONNECTION_UNAUTHENTICATED] = "UNAUTHENTICATED",
        [RBUF_CONNECTION_REQ_RECEIVED] = "REQ_RECEIVED",
        [RBUF_CONNECTION_REP_SENT] = "REP_SENT",
        [RBUF_CONNECTION_TCP_CONNECTING] = "TCP_CONNECTING",
        [RBUF_CONNECTION_REQ_SENT] = "REQ_SENT",
        [RBUF_CONNECTION_BACK_OFF] = "BACK_OFF",
        [RBUF_CONNECTION_MRA_RECEIVED] = "MRA_RECEIVED",
        [RBUF_CONNECTION_REP_RECEIVED] = "REP_RECEIVED",
        [RBUF_CONNECTION_ESTABLISHED] = "ESTABLISHED",
        [RBUF_CONNECTION_DREQ_SENT] = "DREQ_SENT",
        [RBUF_CONNECTION_CLOSED] = "CLOSED",
        [RBUF_CONNECTION_DRAINING] = "DRAINING"};

    return state < RBUF_CONNECTION_STATES ? names[state] : "unknown";
}

struct rbuf_connection *rbuf_connection_new(struct rbuf_connect_context *context)
{
    struct rbuf_connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        return NULL;
    }
    connection->last_event = calloc(1, sizeof(*connection->last_event));
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
