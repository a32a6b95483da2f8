/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A ring from node 0 to node 1 whose messages may take several slots, and node 1 polled by the
 * test: messages by the one side, and what the other takes, byte for byte.
 */
#ifndef RBUF_TEST_RING_LONG_H
#define RBUF_TEST_RING_LONG_H

#include "core/eager/ring_long.h"
#include "core/eager/ring_word.h"
#include "rings.h"

enum { SLOT = 256, SLOTS = 16, LONGEST = 1500 };

static inline struct world_options long_options(void)
{
    struct world_options options = world_defaults();

    options.core.ring.slots = SLOTS;
    options.core.ring.slot_bytes = SLOT;
    options.core.ring.longest = LONGEST;
    return options;
}

static inline struct rbuf_peer *sender_of(const struct world *world)
{
    return world->nodes[0].links[1].peer;
}

static inline struct rbuf_peer *sender_at_receiver(const struct world *world)
{
    return world->nodes[1].links[0].peer;
}

/* Its processor leaves the node to the test, which polls it. */
static inline void take_over(struct world *world)
{
    world->nodes[1].scheduled = true;
    world->nodes[1].poll_ns = 0;
}

static inline void let_arrive(struct world *world)
{
    while (sim_step(&world->net.clock)) {
    }
}

/* Byte i of a message that is `seed`'s. */
static inline unsigned char byte_of(uint32_t seed, uint32_t i)
{
    return (unsigned char) (seed * 31 + i * 7 + (i >> 8));
}

static inline void fill(unsigned char *payload, uint32_t from, uint32_t until, uint32_t seed)
{
    for (uint32_t i = from; i < until; i++) {
        payload[i] = byte_of(seed, i);
    }
}

/* What node 0 has posted and not had acknowledged, bytes. */
static inline uint64_t bytes_posted(const struct world *world)
{
    const struct sim_job *job;
    uint64_t bytes = 0;

    TAILQ_FOREACH(job, &world->nodes[0].links[1].end[RBUF_CONTROL].outstanding, end_link)
    {
        bytes += job->bytes;
    }
    return bytes;
}

/* Bytes that left before the end of their message. */
static uint64_t in_parts;

/* A message in chunks of so many bytes; 0: as a whole. */
static inline bool send_long(struct world *world, uint32_t bytes, uint32_t seed, uint32_t chunk)
{
    struct rbuf_peer *peer = sender_of(world);
    unsigned char *payload = rbuf_am_begin_long(peer, bytes);
    const uint64_t before = bytes_posted(world);
    uint32_t done = 0;

    if (payload == NULL) {
        return false;
    }
    for (; chunk > 0 && bytes - done > chunk; done += chunk) {
        fill(payload, done, done + chunk, seed);
        rbuf_ring_long_write_part(peer, done + chunk);
    }
    fill(payload, done, bytes, seed);
    in_parts += bytes_posted(world) - before;
    ck_assert(rbuf_ring_long_end(peer, 1, 0));
    return true;
}

/* Takes the one message that is there, and checks it. */
static inline struct rbuf_event take_long(struct world *world, uint32_t bytes, uint32_t seed)
{
    struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_event event;
    const unsigned char *payload;

    ck_assert_int_eq(rbuf_core_poll(core), 1);
    ck_assert(rbuf_events_pop(&core->events, &event));
    ck_assert_int_eq(event.kind, RBUF_EVENT_DELIVER);
    ck_assert_int_eq(event.delivery.origin, RBUF_ORIGIN_RING_LONG);
    ck_assert_uint_eq(event.delivery.bytes, bytes);
    payload = event.delivery.data;
    for (uint32_t i = 0; i < bytes; i++) {
        ck_assert_uint_eq(payload[i], byte_of(seed, i));
    }
    return event;
}

/* Node 1 has its processor back, and answers: node 0 hears what was taken. */
static inline void answer(struct world *world)
{
    world->nodes[1].scheduled = false;
    world_wake(&world->nodes[1]);
    world_send(world, WORLD_EAGER, 1, 0, 8);
    world_send(world, WORLD_EAGER, 1, 0, 8); /* one of the two by the control channel */
    case_run(world);
}

#endif
