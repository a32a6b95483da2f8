/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What tests of early data share: a sender that has a window, messages whose receives are late, and
 * the two halves of a rendezvous one by one, so that a test says which early data a grant claims,
 * as threads might make it do.
 */
#ifndef RBUF_TEST_EARLY_H
#define RBUF_TEST_EARLY_H

#include "case.h"
#include "core/rendezvous/early.h"

#define EARLY_PAYLOAD (4096u - RBUF_FLAG_BYTES)
#define EARLY_BYTES   (10u * EARLY_PAYLOAD) /* of a slot, by the world's defaults */

/* By flags, or as they are announced. */
static const enum rbuf_arrival early_arrivals[] = {
    RBUF_ARRIVAL_BLOCK, RBUF_ARRIVAL_CHUNK, RBUF_ARRIVAL_IMMEDIATE, RBUF_ARRIVAL_BLOCK_CHECKED,
    RBUF_ARRIVAL_CHUNK_CHECKED};

#define EARLY_ARRIVALS ((int) (sizeof(early_arrivals) / sizeof(early_arrivals[0])))

static inline struct rbuf_stats *early_stats(struct world *world, unsigned node)
{
    return &world->nodes[node].core.stats;
}

/* Node 0 sends to node 1. */
static inline struct rbuf_peer *early_sender(struct world *world)
{
    return world->nodes[0].links[1].peer;
}

static inline struct rbuf_peer *early_receiver(struct world *world)
{
    return world->nodes[1].links[0].peer;
}

/* Messages of node 0 whose receives are there, one after the other. */
static inline void early_expected(struct world *world, int count, uint64_t bytes)
{
    for (int i = 0; i < count; i++) {
        struct world_message *message = world_send(world, WORLD_PUT, 0, 1, bytes);

        world_settle(world);
        ck_assert_int_eq(message->state, WORLD_ARRIVED);
    }
}

/* A world in which node 0 has a window of node 1's. */
static inline struct world *early_open(const struct world_options *options)
{
    struct world *world = world_open(options);

    early_expected(world, 2, 50000);
    ck_assert(rbuf_early_may_begin(early_sender(world)));
    return world;
}

/* The same with the defaults, where chunks arrive in this way. */
static inline struct world *early_open_arriving(int arrival)
{
    struct world_options options = world_defaults();

    options.core.arrival = early_arrivals[arrival];
    return early_open(&options);
}

/* The RTS is delivered, and no receive found. */
static inline struct world_message *early_held(struct world *world, struct world_message *message)
{
    unsigned late = world->options.late;

    world->options.late = 1;
    world_settle(world);
    world->options.late = late;
    ck_assert_ptr_eq(world->nodes[1].unexpected, message);
    world->nodes[1].unexpected = NULL;
    return message;
}

static inline struct world_message *early_hold(struct world *world, uint64_t bytes)
{
    return early_held(world, world_send(world, WORLD_PUT, 0, 1, bytes));
}

/* The same of a message whose RTS goes without early data, as if it went in place. */
static inline struct world_message *early_hold_without(struct world *world, uint64_t bytes)
{
    struct world_message *message;

    world->options.early = WORLD_EARLY_NONE;
    message = early_hold(world, bytes);
    world->options.early = WORLD_EARLY_PUTS;
    ck_assert_uint_eq(inspect_newest_early(early_sender(world)), 0);
    return message;
}

/* The same of a message from memory of the caller's, which has the pattern of that seed. */
static inline struct world_message *early_hold_from(struct world *world, unsigned char *source,
                                                    uint64_t bytes, uint64_t seed)
{
    struct world_message *message = world_begin(world, WORLD_PUT, 0, 1, bytes);

    free(message->source);
    message->source = source;
    message->pattern = seed;
    sim_pattern_fill(source, bytes, seed);
    (void) early_held(world, message);
    message->source = NULL; /* it is not the world's */
    return message;
}

static inline struct world_message *
early_hold_from_without(struct world *world, unsigned char *source, uint64_t bytes, uint64_t seed)
{
    struct world_message *message;

    world->options.early = WORLD_EARLY_NONE;
    message = early_hold_from(world, source, bytes, seed);
    world->options.early = WORLD_EARLY_PUTS;
    ck_assert_uint_eq(inspect_newest_early(early_sender(world)), 0);
    return message;
}

/* The early data of the newest RTS; 0: it has none. */
static inline uint32_t early_newest(struct world *world)
{
    return inspect_newest_early(early_sender(world));
}

/* Node 1 finds the receive of so many bytes, and claims those early data, or says what
 * rbuf_grant_open() has it say. */
static inline struct rbuf_offer early_grant_for(struct world *world, struct world_message *message,
                                                uint64_t bytes, uint32_t early)
{
    struct rbuf_offer offer;

    message->bytes = bytes;
    message->grant =
        rbuf_grant_open(early_receiver(world), message->target, bytes, message, early, &offer);
    ck_assert_ptr_nonnull(message->grant);
    world_wake(&world->nodes[1]);
    return offer;
}

static inline struct rbuf_offer early_grant(struct world *world, struct world_message *message,
                                            uint32_t early)
{
    return early_grant_for(world, message, message->bytes, early);
}

/* The offer reaches node 0, which puts the message from `source`. */
static inline void early_put_from(struct world *world, struct world_message *message,
                                  const struct rbuf_offer *offer, const unsigned char *source)
{
    message->put = (struct rbuf_put){.source = source, .offer = *offer};
    message->put_id = offer->id;
    message->pending++;
    rbuf_put_start(early_sender(world), &message->put);
    world_wake(&world->nodes[0]);
}

static inline void early_put(struct world *world, struct world_message *message,
                             const struct rbuf_offer *offer)
{
    early_put_from(world, message, offer, message->source);
}

/* Both. */
static inline void early_answer(struct world *world, struct world_message *message, uint32_t early)
{
    const struct rbuf_offer offer = early_grant(world, message, early);

    early_put(world, message, &offer);
    world_settle(world);
}

static inline void early_arrived(const struct world_message *message)
{
    ck_assert_int_eq(message->state, WORLD_ARRIVED);
}

/* Receives at node 1 that have all of its receive staging, but for windows. */
#define EARLY_RECEIVES 64u

struct early_receives {
    struct rbuf_grant *grants[EARLY_RECEIVES];
    unsigned count;
};

/* Opens them, the longest first: what is granted behind them is deferred. */
static inline void early_take_staging(struct world *world, struct early_receives *receives)
{
    static unsigned char memory[1 << 20];
    struct rbuf_offer offer;

    receives->count = 0;
    for (uint64_t bytes = sizeof(memory); bytes > 0; bytes /= 2) {
        do {
            ck_assert_uint_lt(receives->count, EARLY_RECEIVES);
            receives->grants[receives->count] =
                rbuf_grant_open(early_receiver(world), memory, bytes, NULL, 0, &offer);
            ck_assert_ptr_nonnull(receives->grants[receives->count]);
            receives->count++;
        } while (offer.mode == RBUF_OFFER_STAGED);
        rbuf_grant_close(receives->grants[--receives->count]); /* it would only wait */
    }
}

/* Closes them: who was deferred has its turn. */
static inline void early_give_staging(struct world *world, struct early_receives *receives)
{
    while (receives->count > 0) {
        rbuf_grant_close(receives->grants[--receives->count]);
    }
    world_wake(&world->nodes[1]);
}

/* Every byte of messages to node 1 was sent once, and so was every one of its early data. */
static inline void early_sent_once(struct world *world, uint64_t bytes)
{
    ck_assert_uint_eq(early_stats(world, 0)->staged_bytes, bytes);
    ck_assert_uint_eq(early_stats(world, 1)->staged_received, bytes);
    ck_assert_uint_eq(early_stats(world, 0)->early_dropped, 0);
    ck_assert_uint_eq(early_stats(world, 1)->early_corrected, 0);
    ck_assert_uint_eq(early_stats(world, 1)->early_claimed + early_stats(world, 1)->early_late,
                      early_stats(world, 0)->early_sent);
}

#endif
