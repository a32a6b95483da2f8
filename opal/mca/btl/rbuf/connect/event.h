/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Events: what a listener tells its user of connections. Kinds are those of librdmacm as far as it
 * has them.
 *
 * Ownership: an event is the user's from rbuf_listener_next() on, who frees it.
 * Threads: one thread at a time has an event.
 */
#ifndef RBUF_CONNECT_EVENT_H
#define RBUF_CONNECT_EVENT_H

#include <sys/queue.h>

#include "connect/exchange.h"

struct rbuf_connection;

enum rbuf_connect_event_kind {
    RBUF_CONNECT_RESPONSE = 1, /* theirs is valid; connect the queue pairs, then
                                  rbuf_connection_establish() */
    RBUF_CONNECT_REJECTED,     /* reason */
    RBUF_CONNECT_FAILED,       /* error, text */
    RBUF_CONNECT_UNANSWERED,   /* waits for a process whose host answers; once; text */
    RBUF_CONNECT_REQUEST,      /* theirs is valid, user is NULL */
    RBUF_CONNECT_ESTABLISHED,  /* the requester's queue pairs are connected: now post */
    RBUF_CONNECT_ABANDONED,    /* the requester went away before RTU; error, text */
    RBUF_PEER_DISCONNECTED,    /* the peer ended the connection in order, or has read our DREQ */
    RBUF_PEER_LOST             /* the peer is gone; error, text */
};

struct rbuf_connect_event {
    enum rbuf_connect_event_kind kind;
    enum rbuf_reject_reason reason;
    int error; /* negative errno */
    struct rbuf_connection *connection;
    void *user; /* given to rbuf_listener_connect() or rbuf_connection_accept() */
    struct rbuf_exchange theirs;
    char text[256]; /* address and cause, for people */
    TAILQ_ENTRY(rbuf_connect_event) link;
};

TAILQ_HEAD(rbuf_connect_event_list, rbuf_connect_event);

/* "REQUEST", static. */
const char *rbuf_connect_event_name(enum rbuf_connect_event_kind kind);

void rbuf_connect_event_free(struct rbuf_connect_event *event);

#endif
