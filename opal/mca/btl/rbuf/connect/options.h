/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Options and counters of a listener.
 *
 * Threads: options are constant while the listener is open; counters are written by its thread and
 * read by any, relaxed: each stands for itself.
 */
#ifndef RBUF_CONNECT_OPTIONS_H
#define RBUF_CONNECT_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "connect/exchange.h"

struct rbuf_listener_options {
    const char *interfaces; /* comma list of interface names or numeric addresses; NULL: all that
                               are up and not link-local. Loopback is always added. */
    unsigned port_min;      /* 0: any port */
    unsigned port_max;
    unsigned timeout_ms; /* for each step that waits for a listener thread or the network */
    unsigned retry_ms;   /* how long a host that does not answer is tried again; 0: not at all */
    uint64_t answer_ms;  /* how long to wait for a process whose host answers; 0: for ever */
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

static inline void rbuf_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
