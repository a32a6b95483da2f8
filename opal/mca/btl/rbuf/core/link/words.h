/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Words that we write into a peer's mailbox: how many of its messages we took off (credits), how
 * many of its chunks we copied out (acknowledgements), and which early data we released.
 *
 * Each is a count that only grows, or several, and the newest write counts. So two writes of one
 * word must not overtake each other: the older count would stay, and the peer might wait for ever
 * for a credit that it has. An adapter that places in order sees to that; of others nothing is
 * known (adaptive routing, several paths). The reader's adapter decides, and its side says so in
 * every header (enum rbuf_counted). Until one came, and if it says no, a word is written again only
 * when the write before it is acknowledged. Different words may overtake each other: each stands
 * for itself.
 *
 * Invariant: of a peer that is not known to place in order, at most one write of each word is under
 * way.
 */
#ifndef RBUF_CORE_WORDS_H
#define RBUF_CORE_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/state/state.h"
#include "fabric.h"

void rbuf_words_open(struct rbuf_core *core);

/* Tells the peer in each header of ours in which order words of its come to be seen here. */
void rbuf_words_connected(struct rbuf_peer *peer, enum rbuf_words_order order);

/* Nothing is written to the peer any more. */
void rbuf_words_remove(struct rbuf_peer *peer);

/* Places of words in a mailbox: of the first of each kind. */
enum {
    RBUF_WORD_CREDIT = offsetof(struct rbuf_mailbox, credit) / sizeof(uint64_t),
    RBUF_WORD_ACK = offsetof(struct rbuf_mailbox, ack) / sizeof(uint64_t),
    RBUF_WORD_EARLY = offsetof(struct rbuf_mailbox, early) / sizeof(uint64_t)
};

/* Writes a word into the peer's mailbox. False: not now, or the peer is lost. */
bool rbuf_words_write(struct rbuf_peer *peer, unsigned index, uint64_t value);

/* Makes the counts of chunks that we copied out, if they are not there yet. False without memory.
 * rbuf_acks_count() and rbuf_acks_add() need them. */
bool rbuf_acks_open(struct rbuf_peer *peer);

/* The count of the word. */
static inline uint64_t rbuf_acks_count(const struct rbuf_peer *peer, unsigned slot)
{
    return peer->link.words.acks[slot];
}

/* A chunk more was copied out: the peer is owed the new count. */
static inline void rbuf_acks_add(struct rbuf_peer *peer, unsigned slot)
{
    peer->link.words.acks[slot]++;
    peer->link.words.acks_due |= 1ull << slot;
}

static inline bool rbuf_acks_owed(const struct rbuf_peer *peer)
{
    return peer->link.words.acks_due != 0;
}

/* Writes what is owed; returns the number of writes. The peer is woken for what cannot go now. */
int rbuf_acks_write(struct rbuf_peer *peer);

#endif
