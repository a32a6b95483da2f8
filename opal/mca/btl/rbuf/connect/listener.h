/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The listener: the TCP side of connecting, and of noticing that a peer process is gone.
 *
 * One thread with an event base of its own owns all sockets. It does the waiting, the time-outs and
 * the parsing; every decision is the module's, which takes events with rbuf_listener_next() and
 * answers with the functions below.
 *
 * A struct rbuf_call is one exchange and then the idle socket of one connected pair. It appears
 * with rbuf_listener_call() or with an INCOMING_HELLO event and stays valid until the user ends it
 * with rbuf_call_close() or rbuf_call_refuse(), exactly once each; after that no event mentions it.
 *
 *     outgoing: call -> CALL_ACCEPTED, rbuf_call_ready() | CALL_REFUSED | CALL_FAILED
 *     incoming: INCOMING_HELLO -> rbuf_call_accept() | rbuf_call_refuse()
 *               after accept: INCOMING_READY | INCOMING_LOST
 *     later, both: PEER_BYE (an orderly end) | PEER_LOST (the process or its machine is gone)
 *
 * Whatever comes from a stranger is closed and counted and leaves nothing behind: a connection is a
 * stranger until it has sent one whole HELLO with our token, within the time-out. There are at most
 * `max_strangers` at once, which bounds their memory. When there is no place for one more, what has
 * arrived from those that are there is read first, then the oldest is closed if it has had a moment
 * (STRANGER_MS) to speak; else the new one waits in the system's backlog. So a thousand callers at
 * once get in, though slower than a few, and a flood of silent ones takes places for moments only.
 *
 * A call that fails before it was HEARD (refused or closed by the system, crowded out, no answer)
 * is tried again at all addresses, with exponential back-off and jitter, until `retry_ms` have
 * passed. Waiting for a module's answer, on either side, has no time-out (a process may compute for
 * an hour); its listener thread, which always answers, has. A machine that vanishes without a word
 * is noticed by TCP keep-alive after about a minute.
 *
 * File descriptors (connect/descriptors.h): one a connected peer process and port at each end, for
 * the life of the connection, besides up to `max_strangers`, one a published address, an epoll set
 * and an eventfd. All are close-on-exec. A child of fork that lives on after its parent was killed
 * holds the sockets open and delays PEER_LOST until it ends.
 *
 * The thread also runs one function of the user's, `tick`, when it is asked to: a clock for what is
 * to go on while the process does something else.
 *
 * Threads: every function may be called by any thread; events come in order.
 */
#ifndef RBUF_CONNECT_LISTENER_H
#define RBUF_CONNECT_LISTENER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/problem.h"
#include "connect/exchange.h"

#define RBUF_ADDRESSES_MAX 12u

enum rbuf_address_family { RBUF_ADDRESS_IPV4 = 4, RBUF_ADDRESS_IPV6 = 6 };
enum rbuf_address_scope { RBUF_ADDRESS_GLOBAL, RBUF_ADDRESS_LOOPBACK };

/* Where a listener listens; wire form, 20 bytes. */
struct rbuf_address {
    uint8_t family;      /* enum rbuf_address_family */
    uint8_t scope;       /* enum rbuf_address_scope; loopback is tried on the same machine only */
    uint16_t port;       /* host order */
    uint8_t address[16]; /* network order; IPv4 in the first four */
};

/* All of them, loopback last; wire form, 256 bytes, for the modex. */
struct rbuf_address_list {
    uint64_t machine; /* equal on processes of one machine */
    uint32_t count;   /* <= RBUF_ADDRESSES_MAX; a reader checks it */
    uint32_t reserved;
    struct rbuf_address address[RBUF_ADDRESSES_MAX];
};

static_assert(sizeof(struct rbuf_address) == 20, "the wire form has no padding");
static_assert(sizeof(struct rbuf_address_list) == 256, "the wire form has no padding");

struct rbuf_listener_options {
    const char *interfaces; /* comma list of interface names or numeric addresses; NULL: all that
                               are up and not link-local. Loopback is always added. */
    unsigned port_min;      /* 0: any port */
    unsigned port_max;
    int backlog;            /* 0: the system's maximum */
    unsigned timeout_ms;    /* for each step that waits for a listener thread or the network */
    unsigned retry_ms;      /* since the call; 0: calls are not tried again */
    unsigned max_strangers; /* 0: 256 */
    bool raise_descriptors; /* whether the soft limit may be raised */
    /* Called by the thread, one at a time, `tick_ms` after rbuf_listener_arm() and then after as
     * many ms as it returned, until that is 0. It must not wait for anything. NULL: none. */
    unsigned (*tick)(void);
    unsigned tick_ms; /* >= 1 */
};

/* Why connections were closed, by reason; written by the thread, read by anybody. */
struct rbuf_listener_counters {
    _Atomic uint64_t connections;        /* taken in */
    _Atomic uint64_t hellos;             /* good ones */
    _Atomic uint64_t fault[RBUF_FAULTS]; /* by enum rbuf_exchange_fault */
    _Atomic uint64_t slow;               /* no whole HELLO within the time-out */
    _Atomic uint64_t closed_early;       /* by the stranger */
    _Atomic uint64_t crowded_out;        /* the oldest of too many */
    _Atomic uint64_t door_pauses; /* times that new ones had to wait, as too many were young */
    _Atomic uint64_t calls;       /* outgoing */
    _Atomic uint64_t calls_failed;
    _Atomic uint64_t calls_retried; /* times that one was tried again at all addresses */
    _Atomic uint64_t peers_lost;
    _Atomic uint64_t accept_pauses; /* no file descriptor was left */
};

struct rbuf_listener;
struct rbuf_call;

enum rbuf_call_event_kind {
    RBUF_CALL_ACCEPTED = 1, /* theirs is valid; connect the queue pairs, then rbuf_call_ready() */
    RBUF_CALL_REFUSED,      /* refusal */
    RBUF_CALL_FAILED,       /* error, text */
    RBUF_INCOMING_HELLO,    /* theirs is valid, user is NULL */
    RBUF_INCOMING_READY,    /* the caller's queue pairs are connected: now post */
    RBUF_INCOMING_LOST,     /* the caller went away before READY; error, text */
    RBUF_PEER_BYE,          /* the peer ended the connection in order, or has heard that we do */
    RBUF_PEER_LOST          /* the peer is gone; error, text */
};

struct rbuf_call_event {
    enum rbuf_call_event_kind kind;
    enum rbuf_refusal refusal;
    int error; /* negative errno */
    struct rbuf_call *call;
    void *user; /* given to rbuf_listener_call() or rbuf_call_accept() */
    struct rbuf_exchange theirs;
    char text[256];               /* address and cause, for people */
    struct rbuf_call_event *next; /* the listener's */
};

/* Listens and starts the thread. `addresses` is what to publish. The token (128 random bits) is
 * made here. Topics "listener-address", "listener-port", "listener". */
int rbuf_listener_open(const struct rbuf_listener_options *options, uint8_t token[RBUF_TOKEN_BYTES],
                       struct rbuf_address_list *addresses, struct rbuf_listener **out,
                       struct rbuf_problem *problem);

/* Says BYE on what is connected, joins the thread, closes every socket and frees every call and
 * event. NULL is left alone. */
void rbuf_listener_close(struct rbuf_listener *listener);

const struct rbuf_listener_counters *rbuf_listener_counters(const struct rbuf_listener *listener);

/* Whether there are events; costs one atomic load. */
bool rbuf_listener_pending(const struct rbuf_listener *listener);

/* The next event, to be freed with rbuf_call_event_free(), or NULL. Empty costs one atomic load. */
struct rbuf_call_event *rbuf_listener_next(struct rbuf_listener *listener);
void rbuf_call_event_free(struct rbuf_call_event *event);

/* The first event that `wanted` says yes to, or NULL; the others stay, in order. `wanted` sees
 * `user` as rbuf_listener_next() would give it, and calls nothing of the listener's. */
struct rbuf_call_event *rbuf_listener_pick(struct rbuf_listener *listener,
                                           bool (*wanted)(const struct rbuf_call_event *event,
                                                          void *context),
                                           void *context);

/* Has options.tick called; nothing if it is due already. */
void rbuf_listener_arm(struct rbuf_listener *listener);

/* Calls the process that published `addresses`, trying them in turn. `hello->side` is filled, with
 * the token of the called process. 0 and *call, or -ENOMEM, or -EINVAL for a list that is
 * malformed. Everything else comes as an event, not before this function has returned. */
int rbuf_listener_call(struct rbuf_listener *listener, const struct rbuf_address_list *addresses,
                       const struct rbuf_exchange *hello, void *user, struct rbuf_call **call);

/* After CALL_ACCEPTED. */
void rbuf_call_ready(struct rbuf_call *call);

/* After INCOMING_HELLO; `mine->side` is filled (its token is set here). */
void rbuf_call_accept(struct rbuf_call *call, const struct rbuf_exchange *mine, void *user);

/* After INCOMING_HELLO; ends the call. */
void rbuf_call_refuse(struct rbuf_call *call, enum rbuf_refusal reason);

/* Says BYE on a connected call and keeps it. PEER_BYE follows as soon as the other side has it
 * among its events (or says BYE itself, or is gone, or does not react within the time-out), unless
 * the last event of the call has come already. Then rbuf_call_close(). */
void rbuf_call_leave(struct rbuf_call *call);

/* Ends the call at any time: says BYE if it is connected, closes its socket, drops its events. */
void rbuf_call_close(struct rbuf_call *call);

#endif
