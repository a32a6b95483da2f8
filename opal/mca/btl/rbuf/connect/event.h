/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a listener (listener.h) and its user tell each other: options, counters, events of
 * connections, and the answers to these. Kinds of events are those of librdmacm as far as it has
 * them.
 *
 * Ownership: an event is the user's from rbuf_listener_next() on, who frees it.
 * Threads: options are constant while the listener is open; counters are written by its thread and
 * read by any, relaxed: each stands for itself. One thread at a time has an event.
 */
#ifndef RBUF_CONNECT_EVENT_H
#define RBUF_CONNECT_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "connect/exchange.h"
#include "core/base/trace.h"

struct rbuf_connection;
struct rbuf_listener;

struct rbuf_listener_options {
    const char *interfaces; /* comma list of interface names or numeric addresses; NULL: all that
                               are up and not link-local. Loopback is always added. */
    unsigned port_min;      /* 0: any port */
    unsigned port_max;      /* >= port_min, and 0 if that is 0 */
    unsigned timeout_ms;    /* for each step that waits for a listener thread or the network */
    unsigned retry_ms;      /* how long a host that does not answer is tried again; 0: not at all */
    uint64_t answer_ms;     /* how long to wait for a process whose host answers; 0: for ever */
    unsigned max_unauthenticated; /* 0: 256 */
    bool raise_descriptors;       /* whether the soft limit may be raised */
    /* The thread calls it `tick_ms` after rbuf_listener_arm(). It returns after how many ms it
     * wants the next call; 0: none. It must not wait for anything. NULL: there is no such function.
     */
    unsigned (*tick)(void);
    unsigned tick_ms; /* >= 1 */
};

/* Connections by what became of them. */
struct rbuf_listener_counters {
    _Atomic uint64_t connections;        /* accepted by TCP */
    _Atomic uint64_t authenticated;      /* that sent a good REQ */
    _Atomic uint64_t fault[RBUF_FAULTS]; /* closed, by enum rbuf_exchange_fault */
    _Atomic uint64_t slow;               /* no whole REQ within the time-out */
    _Atomic uint64_t closed_early;       /* by the other side, in the middle of a REQ */
    _Atomic uint64_t wordless;           /* likewise, before a byte of one */
    _Atomic uint64_t withdrawn;          /* likewise, behind a good REQ that had not been read */
    _Atomic uint64_t evicted;            /* the oldest of too many unauthenticated ones */
    _Atomic uint64_t connects;           /* outgoing */
    _Atomic uint64_t connects_failed;
    _Atomic uint64_t connects_retried;    /* times that one was tried again at all addresses */
    _Atomic uint64_t connects_unanswered; /* to a process that is silent, though its host answers */
    _Atomic uint64_t peers_lost;
    _Atomic uint64_t accept_pauses; /* no file descriptor was left */
};

/* ---- events ---- */

#define RBUF_CONNECT_EVENTS(EVENT)                                                                 \
    EVENT(RBUF_CONNECT_, RESPONSE)    /* theirs is valid: connect the queue pairs, then            \
                                         rbuf_connection_establish() */                            \
    EVENT(RBUF_CONNECT_, REJECTED)    /* reason */                                                 \
    EVENT(RBUF_CONNECT_, FAILED)      /* error, text */                                            \
    EVENT(RBUF_CONNECT_, UNANSWERED)  /* waits for a process whose host answers; once; text */     \
    EVENT(RBUF_CONNECT_, REQUEST)     /* theirs is valid, user is NULL */                          \
    EVENT(RBUF_CONNECT_, ESTABLISHED) /* the requester's queue pairs are connected: now post */    \
    EVENT(RBUF_CONNECT_, ABANDONED)   /* the requester went away before RTU; error, text */        \
    EVENT(RBUF_PEER_, DISCONNECTED)   /* the peer ended it in order, or has read our DREQ */       \
    EVENT(RBUF_PEER_, LOST)           /* the peer is gone; error, text */

enum rbuf_connect_event_kind { RBUF_CONNECT_EVENTS(RBUF_STATE) };

#define RBUF_CONNECT_EVENT_KINDS (RBUF_PEER_LOST + 1u)

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

/* "REQUEST", static. */
const char *rbuf_connect_event_name(enum rbuf_connect_event_kind kind);

/* Whether there are events; costs one atomic load. */
bool rbuf_listener_pending(const struct rbuf_listener *listener);

/* The next event, to be freed with free(), or NULL. Empty costs one atomic load.
 */
struct rbuf_connect_event *rbuf_listener_next(struct rbuf_listener *listener);

/* The first event that `wanted` says yes to (NULL: to all), or NULL; the others stay, in order. It
 * sees `user` as rbuf_listener_next() would give it, and calls nothing of the listener's. */
struct rbuf_connect_event *rbuf_listener_pick(struct rbuf_listener *listener,
                                              bool (*wanted)(const struct rbuf_connect_event *event,
                                                             void *context),
                                              void *context);

/* ---- answers ---- */

/* After RESPONSE. */
void rbuf_connection_establish(struct rbuf_connection *connection);

/* After REQUEST; `mine->side` is filled (its token is set here). */
void rbuf_connection_accept(struct rbuf_connection *connection, const struct rbuf_exchange *mine,
                            void *user);

/* After REQUEST; ends the connection. */
void rbuf_connection_reject(struct rbuf_connection *connection, enum rbuf_reject_reason reason);

/* Says DREQ on an established connection and keeps it. DISCONNECTED follows as soon as the other
 * side has it among its events (or says DREQ itself, or is gone, or does not react within the
 * time-out), unless the last event of the connection has come already. Then
 * rbuf_connection_close(). */
void rbuf_connection_disconnect(struct rbuf_connection *connection);

/* Ends the connection at any time: says DREQ if it is established, closes its socket, drops its
 * events. */
void rbuf_connection_close(struct rbuf_connection *connection);

#endif
