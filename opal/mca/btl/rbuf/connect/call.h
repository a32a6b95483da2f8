/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Calls and the listener's inside: for call.c and listener.c.
 *
 * What the listener's thread owns and what is shared under the mutex stands apart in both
 * structures. The thread owns a call from its START command, or from accepting it, until it frees
 * it, which it does at the user's END command, or when nobody but itself ever heard of the call (a
 * stranger).
 */
#ifndef RBUF_CONNECT_CALL_H
#define RBUF_CONNECT_CALL_H

#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "connect/address.h"
#include "connect/listener.h"

enum rbuf_call_state {
    RBUF_CALL_STRANGER,   /* in: reading HELLO; timed */
    RBUF_CALL_HEARD,      /* in: the module has the HELLO */
    RBUF_CALL_ANSWERED,   /* in: ACCEPT sent, READY is due */
    RBUF_CALL_CONNECTING, /* out: TCP is; timed */
    RBUF_CALL_GREETING,   /* out: HELLO sent, HEARD is due; timed */
    RBUF_CALL_BACK_OFF,   /* out: no address has answered, to be tried again */
    RBUF_CALL_WAITING,    /* out: ACCEPT or REFUSE is due */
    RBUF_CALL_DECIDING,   /* out: the module has the ACCEPT */
    RBUF_CALL_CONNECTED,  /* idle until BYE or the end */
    RBUF_CALL_LEAVING,    /* BYE sent, the other side is to close; timed */
    RBUF_CALL_ENDED,      /* no socket; the user still has the call */
    RBUF_CALL_DRAINING    /* the last bytes are on the way, nobody has the call; timed */
};

enum rbuf_command_kind {
    RBUF_COMMAND_NONE,
    RBUF_COMMAND_START,
    RBUF_COMMAND_ACCEPT,
    RBUF_COMMAND_READY,
    RBUF_COMMAND_LEAVE,
    RBUF_COMMAND_REFUSE,
    RBUF_COMMAND_CLOSE
};

/* A call gets at most one of each of START; ACCEPT or READY; LEAVE; REFUSE or CLOSE: so commands
 * live in it and cannot run out. */
struct rbuf_command {
    enum rbuf_command_kind kind;
    enum rbuf_refusal refusal;
    struct rbuf_call *call;
    STAILQ_ENTRY(rbuf_command) link;
};

STAILQ_HEAD(rbuf_command_list, rbuf_command);
TAILQ_HEAD(rbuf_call_list, rbuf_call);

struct rbuf_call {
    struct rbuf_listener *listener;

    /* The thread's. */
    enum rbuf_call_state state;
    int fd; /* -1: none */
    struct event *readable;
    struct event *writable;
    struct event *timer;
    struct rbuf_address trying[RBUF_ADDRESSES_MAX]; /* out */
    unsigned trying_count;
    unsigned trying_next;
    char peer[RBUF_ADDRESS_TEXT_MAX];
    char failure[160]; /* out: of the last address tried */
    int failure_error;
    uint64_t began_ms;   /* out: the call; in: the connection. Monotonic */
    unsigned tries;      /* out: of all addresses, that have failed */
    struct event *retry; /* out: BACK_OFF; NULL until then */
    uint8_t in[RBUF_EXCHANGE_BYTES_MAX];
    size_t in_bytes;
    uint8_t out[2 * RBUF_EXCHANGE_BYTES_MAX];
    size_t out_bytes;
    struct rbuf_call_event *last_event; /* kept for the event that ends the call; NULL once used */
    TAILQ_ENTRY(rbuf_call) link;

    /* Set by the user before the command that hands it over. */
    struct rbuf_exchange mine; /* HELLO or ACCEPT */

    /* Under the mutex. */
    bool abandoned; /* the user has ended it: no more events */
    void *user;
    struct rbuf_command start;
    struct rbuf_command answer;
    struct rbuf_command leave;
    struct rbuf_command end;
};

struct rbuf_listening {
    int fd;
    struct event *event;
};

struct rbuf_listener {
    /* Constant. */
    struct rbuf_listener_options options; /* interfaces is NULL */
    uint8_t token[RBUF_TOKEN_BYTES];
    uint64_t machine;
    struct rbuf_local_addresses local;
    struct event_base *base;
    pthread_t thread;
    int wake_fd; /* eventfd; written by anybody */

    /* The thread's. */
    struct rbuf_listening listening[RBUF_ADDRESSES_MAX];
    unsigned listening_count;
    struct event *wake;
    struct event *resume; /* accepting again after descriptors ran out */
    struct event *tick;
    struct rbuf_call_list calls;
    struct rbuf_call_list strangers; /* oldest first */
    unsigned stranger_count;

    struct rbuf_listener_counters counters;

    /* Under the mutex, but `pending` is read without: its release pairs with the acquire in
     * rbuf_listener_pending(), after which the mutex is taken. */
    pthread_mutex_t mutex;
    struct rbuf_command_list commands;
    struct rbuf_call_event *first_event;
    struct rbuf_call_event *last_event;
    bool closing;
    _Atomic uint32_t pending; /* events queued */

    /* The tick is due: set by anybody, cleared by the thread before the tick looks at anything.
     * Whoever finds it set may leave it at that: its release pairs with the thread's acquire. */
    atomic_bool armed;
};

/* A call with nothing but its last event; NULL: no memory. Any thread. */
struct rbuf_call *rbuf_call_new(struct rbuf_listener *listener);

/* The rest belongs to the thread. */

/* False: there are as many strangers as may be, and all came a moment ago. */
bool rbuf_call_make_room(struct rbuf_listener *listener);

/* Takes in a connected socket of a stranger, which it owns from now on. There is room. */
void rbuf_call_take_stranger(struct rbuf_listener *listener, int fd, const char *peer);

/* Carries out a command; the call may be gone afterwards. */
void rbuf_call_command(struct rbuf_call *call, enum rbuf_command_kind kind,
                       enum rbuf_refusal refusal);

/* Closes the socket, after a BYE if the other side has heard of us, and frees the call. */
void rbuf_call_destroy(struct rbuf_call *call);

/* call_socket.c */

struct rbuf_call_handlers {
    event_callback_fn readable; /* while there is something to read */
    event_callback_fn writable; /* once, after it was asked for */
    event_callback_fn timer;    /* once, after it was started */
};

/* Makes the call the owner of the socket. False: no memory, and the socket is closed. */
bool rbuf_call_adopt_socket(struct rbuf_call *call, int fd,
                            const struct rbuf_call_handlers *handlers);
void rbuf_call_close_socket(struct rbuf_call *call);
void rbuf_call_start_timer(struct rbuf_call *call);

/* Sends a message, made from call->mine; `out` has room for all that one side has to say. */
void rbuf_call_send(struct rbuf_call *call, enum rbuf_exchange_kind kind,
                    enum rbuf_refusal refusal);

/* Sends what is left; the rest, if any, when the socket takes more. An error is left to be found by
 * reading, which tells more. */
void rbuf_call_flush(struct rbuf_call *call);

/* listener.c */

/* Queues an event, or frees it if the user has ended the call. */
void rbuf_listener_push(struct rbuf_call_event *event);

static inline void rbuf_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
