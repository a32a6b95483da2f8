/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One connection, and the listener that it is of. Data only: handshake.h changes
 * states, event_queue.h passes commands and events between the listener's thread and its users.
 *
 * States are named as in the InfiniBand connection manager (IBTA specification, volume 1, chapter
 * 12), messages as in exchange.h:
 *
 *     incoming   UNAUTHENTICATED -REQ-> REQ_RECEIVED -accept-> REP_SENT -RTU-> ESTABLISHED
 *     outgoing   TCP_CONNECTING -> REQ_SENT -MRA-> MRA_RECEIVED -REP-> REP_RECEIVED
 *                -establish-> ESTABLISHED
 *                TCP_CONNECTING, REQ_SENT -failed-> the next address, then BACK_OFF and again;
 *                without BACK_OFF, if an address was connected by TCP and REQ_SENT timed out
 *     both       ESTABLISHED -disconnect-> DREQ_SENT
 *                any -the last event-> CLOSED
 *                any -close-> DRAINING, while bytes are left to be sent, and freed
 *
 * Ownership: the thread owns a connection from its CONNECT command, or from accepting it, until it
 * frees it. It does so at the user's REJECT or CLOSE command, or when no user ever knew of it.
 *
 * Threads: each structure below says which part is whose.
 */
#ifndef RBUF_CONNECT_CONNECTION_H
#define RBUF_CONNECT_CONNECTION_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "common/monotonic.h"
#include "connect/address.h"
#include "connect/event_queue.h"

enum rbuf_connection_state {
    RBUF_CONNECTION_UNAUTHENTICATED, /* in: reading REQ; timed */
    RBUF_CONNECTION_REQ_RECEIVED,    /* in: the user has the REQ */
    RBUF_CONNECTION_REP_SENT,        /* in: RTU is due */
    RBUF_CONNECTION_TCP_CONNECTING,  /* out; timed */
    RBUF_CONNECTION_REQ_SENT,        /* out: MRA is due; timed */
    RBUF_CONNECTION_BACK_OFF,        /* out: no address has answered, to be tried again; timed */
    RBUF_CONNECTION_MRA_RECEIVED,    /* out: REP or REJ is due */
    RBUF_CONNECTION_REP_RECEIVED,    /* out: the user has the REP */
    RBUF_CONNECTION_ESTABLISHED,     /* idle until DREQ or the end */
    RBUF_CONNECTION_DREQ_SENT,       /* the other side is to close; timed */
    RBUF_CONNECTION_CLOSED,          /* no socket; the user still has the connection */
    RBUF_CONNECTION_DRAINING         /* the last bytes are on the way, no user has it; timed */
};

TAILQ_HEAD(rbuf_connection_list, rbuf_connection);

struct rbuf_listening_socket {
    int fd;
    struct event event;
};

struct rbuf_listener {
    /* Constant while there is the thread. */
    struct rbuf_listener_options options; /* interfaces is NULL */
    uint8_t token[RBUF_TOKEN_BYTES];
    uint64_t machine;
    struct rbuf_local_addresses local;
    struct event_base *base;
    pthread_t thread;

    /* The thread's. */
    struct rbuf_connection_list connections;     /* authenticated, or outgoing */
    struct rbuf_connection_list unauthenticated; /* oldest first */
    unsigned unauthenticated_count;
    struct rbuf_listening_socket socket[RBUF_ADDRESSES_MAX];
    unsigned socket_count;
    struct event resume; /* accepting again after a pause */
    struct event wake;
    struct event tick;

    /* The tick is due. Set by anybody; the thread clears it before the tick looks at anything.
     * Whoever finds it set may leave it at that: its release pairs with the thread's acquire. */
    atomic_bool armed;

    struct rbuf_event_queue queue;
    struct rbuf_listener_counters counters;
};

struct rbuf_connection {
    struct rbuf_listener *listener;

    /* The thread's. */
    enum rbuf_connection_state state;
    int fd;                /* -1: none */
    struct event readable; /* with a socket: while there is something to read */
    struct event writable; /* with a socket: once, after it was asked for */
    struct event timer;    /* once, after it was started; closing the socket stops it */
    struct rbuf_address trying[RBUF_ADDRESSES_MAX]; /* out */
    unsigned trying_count;
    unsigned trying_next;
    char peer[RBUF_ADDRESS_TEXT_MAX];
    char failure[160]; /* out: of the last address tried */
    int failure_error;
    /* Monotonic. */
    uint64_t began_ms; /* out: time of the CONNECT command; in: when TCP accepted it */
    uint64_t alive_ms; /* out: when the peer's host last answered; began_ms: it never did */
    uint64_t req_ms;   /* out: when the REQ was sent */
    unsigned silent;   /* out: addresses of this round whose host answered, but not the process */
    unsigned silent_rounds; /* out: rounds that had such an address */
    unsigned back_off_ms;   /* out: the last wait, on average; 0: there was none */
    uint8_t in[RBUF_EXCHANGE_BYTES_MAX];
    size_t in_bytes;
    uint8_t out[2 * RBUF_EXCHANGE_BYTES_MAX];
    size_t out_bytes;
    struct rbuf_connect_event *last_event; /* kept for the event that ends the connection; NULL
                                              once used */
    TAILQ_ENTRY(rbuf_connection) link;

    /* Set by the user before the command that hands it over. */
    struct rbuf_exchange mine; /* REQ or REP */

    /* Under the event queue's mutex. */
    bool abandoned; /* the user has ended it: no more events */
    void *user;
    struct rbuf_command connect;
    struct rbuf_command answer;
    struct rbuf_command disconnect;
    struct rbuf_command end;
};

/* Monotonic, ms. */
static inline uint64_t rbuf_now_ms(void)
{
    return mca_btl_rbuf_now_ns() / 1000000;
}

/* Has a libevent event occur in so many ms; 0, or -1 without memory. */
static inline int rbuf_event_add_ms(struct event *event, unsigned ms)
{
    const struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t) (ms % 1000) * 1000};

    return event_add(event, &wait);
}

static inline void rbuf_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
