/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What core/link keeps of a peer and of core: the counts of each flow (core/link/credit.h), and
 * which words of the peer's mailbox are being written (core/link/words.h). Files of core/link
 * change them, but for what others count: `sent`, by whoever posts a message of the flow;
 * acknowledgements, by core/rendezvous; the windows, by peer.c and by the offer of a ring.
 *
 * Threads: the module's lock is held.
 */
#ifndef RBUF_CORE_STATE_LINK_H
#define RBUF_CORE_STATE_LINK_H

#include <stdint.h>
#include <sys/queue.h>

#include "core/base/bounce.h"
#include "core/base/wire.h"
#include "core/base/fab.h"

struct rbuf_peer;

/* One flow of a peer. */
struct rbuf_credit {
    uint64_t sent;     /* messages posted to the peer */
    uint64_t taken;    /* of those, known to be off its queue or out of their slot */
    uint64_t consumed; /* messages of the peer that we took off */
    uint32_t window;   /* places that the peer keeps for us; 0: none of this flow */
    uint16_t due;      /* so many credits owed do not wait for a message to carry them */
};

/* How far the mailbox of a peer is believed. */
struct rbuf_credit_reach {
    uint64_t past[RBUF_FLOWS]; /* `taken` of a time from which no header is unheard */
    uint64_t next[RBUF_FLOWS]; /* `taken` as of `sweep`: it will be that in a while */
    uint32_t sweep;            /* of core */
};

/* What the headers of a peer and ours carry. */
struct rbuf_credit_counts {
    uint16_t
        last_received[RBUF_COUNTS]; /* in its newest header; not COUNTED once they were looked at */
    uint16_t mine[RBUF_COUNTS];     /* `consumed` of each flow */
    uint16_t advertised[RBUF_COUNTS]; /* of `mine`, what was advertised to the peer last */
};

#define RBUF_WORDS_UNDER_WAY 64u /* writes that are waited for, of all peers together */

enum rbuf_words_order {
    RBUF_WORDS_ONE_BY_ONE, /* a write of a word waits for the one before */
    RBUF_WORDS_IN_ORDER
};

/* Of a peer. */
struct rbuf_words {
    enum rbuf_words_order order;
    uint64_t
        under_way[2];  /* words whose write is waited for, a bit each, by place in the mailbox */
    uint64_t acks_due; /* acknowledgements whose newest value is not posted, a bit each */
    uint64_t *acks;    /* chunks that we copied out, by word; NULL before the first grant */
};

/* A write that is waited for. */
struct rbuf_word_write {
    struct rbuf_work work;
    struct rbuf_bounce *bounce; /* NULL: it went inline */
    unsigned index;
    SLIST_ENTRY(rbuf_word_write) link;
};

/* Of core. */
struct rbuf_word_writes {
    struct rbuf_word_write all[RBUF_WORDS_UNDER_WAY];
    SLIST_HEAD(, rbuf_word_write) free;
};

struct rbuf_link_of_peer {
    struct rbuf_credit credit[RBUF_FLOWS];
    struct rbuf_credit_counts counts;
    struct rbuf_credit_reach reach;
    struct rbuf_words words;
};

struct rbuf_link_of_core {
    struct rbuf_word_writes word_writes;
};

#endif
