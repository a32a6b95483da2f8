/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The plan of an exchange: who sends what to whom, and how each side goes about it. Every rank
 * makes the same plan from the same dice.
 *
 * It cannot deadlock: ranks go through the messages in the plan's order; only ranks that post all
 * their receives first use sends that may block; and receivers that take a tag from any source do
 * not block either, since they may take a later message than the one the plan has.
 */
#ifndef RBUF_TESTS_SOAK_PLAN_H
#define RBUF_TESTS_SOAK_PLAN_H

#include "layout.h"

enum send_mode {
    SEND_ISEND,
    SEND_ISSEND,
    SEND_IBSEND,
    SEND_PERSISTENT,
    SEND_SEND, /* from here on they may block */
    SEND_SSEND,
    SEND_BSEND,
    SEND_READY,
    SEND_IREADY
};

enum receive_mode {
    RECEIVE_IRECV,
    RECEIVE_PERSISTENT,
    RECEIVE_RACING, /* cancelled once, as it may be taken already */
    RECEIVE_RECV,   /* from here on they may block */
    RECEIVE_PROBE,
    RECEIVE_IPROBE,
    RECEIVE_MPROBE,
    RECEIVE_IMPROBE
};

enum entry {
    ENTRY_EARLY, /* all receives, then the sends */
    ENTRY_LATE   /* all sends, then the receives: they find what is there already */
};

/* What a receiver asks for. */
enum match { MATCH_EXACT, MATCH_ANY_TAG, MATCH_ANY_SOURCE, MATCH_ANY };

struct message {
    int from, to, tag;
    size_t bytes;
    size_t room; /* of the receive that is posted in this message's place */
    enum send_mode send_mode;
    enum receive_mode receive_mode;
    struct layout out, in; /* `in` has `room` bytes */
    uint64_t key;
    bool taken; /* by a receive */
};

struct plan {
    int count;
    struct message *message;
    bool ready; /* all receives are posted before the first send */
    bool wild;  /* someone takes messages of any source */
    enum entry entry[SOAK_RANKS];
    enum match match[SOAK_RANKS];
    unsigned pause[SOAK_RANKS]; /* ms that the rank computes in the middle */
};

enum { PLAN_TAG_NOBODY = 30000, PLAN_TAG_OWN = 1000, PLAN_TAGS = 3 };

struct plan plan_exchange(struct dice *dice, int ranks);
struct plan plan_flood(struct dice *dice, int ranks);
void plan_free(struct plan *plan);

/* The message that a receive in the place of `posted` got, by its source and tag; taken by that. */
struct message *plan_identify(struct plan *plan, const struct message *posted, int source, int tag);

#endif
