/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Messages over several slots of a ring: every length, at every slot, in chunks and as a whole,
 * beside messages that take one slot or go over send/receive; payload that looks like words; rings
 * of which the two sides think otherwise. The world fails a run in which a message arrives wrong or
 * out of order.
 */
#include "core/message/ring_long.h"
#include "core/message/polling_set.h"
#include "rings.h"
#include "unit.h"

enum { SLOT = 256, SLOTS = 16, LONGEST = 1500 };

static struct world_options long_options(void)
{
    struct world_options options = world_defaults();

    options.core.ring.slots = SLOTS;
    options.core.ring.slot_bytes = SLOT;
    options.core.ring.longest = LONGEST;
    return options;
}

static struct rbuf_peer *sender_of(const struct world *world)
{
    return world->nodes[0].links[1].peer;
}

static struct rbuf_peer *sender_at_receiver(const struct world *world)
{
    return world->nodes[1].links[0].peer;
}

static struct rbuf_ring_in *ring_of(const struct world *world)
{
    return sender_at_receiver(world)->ring_in;
}

/* Its processor leaves the node to the test, which polls it. */
static void take_over(struct world *world)
{
    world->nodes[1].scheduled = true;
    world->nodes[1].poll_ns = 0;
}

static void let_arrive(struct world *world)
{
    while (sim_step(&world->net.clock)) {
    }
}

/* Byte i of a message that is `seed`'s. */
static unsigned char byte_of(uint32_t seed, uint32_t i)
{
    return (unsigned char) (seed * 31 + i * 7 + (i >> 8));
}

/* The word that is due where the receiver looks after this message. */
static uint64_t next_word(const struct rbuf_peer *peer, uint32_t bytes)
{
    const uint32_t slots = rbuf_ring_long_slots(bytes, peer->ring_out.slot_bytes);

    return peer->ring_out.word + ((uint64_t) slots << RBUF_RING_SIZE_BITS);
}

static void fill(unsigned char *payload, uint32_t from, uint32_t until, uint32_t seed)
{
    for (uint32_t i = from; i < until; i++) {
        payload[i] = byte_of(seed, i);
    }
}

/* Bytes that left before the end of their message. */
static uint64_t led;

/* A message in chunks of so many bytes; 0: as a whole. */
static bool send_long(struct world *world, uint32_t bytes, uint32_t seed, uint32_t chunk)
{
    struct rbuf_peer *peer = sender_of(world);
    unsigned char *payload = rbuf_am_begin_long(peer, bytes);
    uint32_t done = 0;

    if (payload == NULL) {
        return false;
    }
    for (; chunk > 0 && bytes - done > chunk; done += chunk) {
        fill(payload, done, done + chunk, seed);
        rbuf_ring_long_write_part(peer, bytes, done + chunk);
    }
    fill(payload, done, bytes, seed);
    led += peer->ring_out.written;
    ck_assert(rbuf_am_end_long(peer, 1, bytes, 0));
    return true;
}

/* Takes the one message that is there, and checks it. */
static struct rbuf_event take_long(struct world *world, uint32_t bytes, uint32_t seed)
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

/* No end of a slot of the ring, and of what is behind it, has what may be taken for a word of a use
 * that is still to come. */
static void check_ends(const struct rbuf_ring_in *ring, const struct rbuf_ring_options *options)
{
    const size_t bytes = rbuf_ring_memory_bytes(options);

    for (size_t end = ring->slot_bytes; end <= bytes; end += ring->slot_bytes) {
        uint64_t word;

        memcpy(&word, ring->memory->base + end - sizeof(word), sizeof(word));
        ck_assert_uint_lt(word, ring->watch->expected);
    }
}

/* Node 1 has its processor back, and answers: node 0 hears what was taken. */
static void answer(struct world *world)
{
    world->nodes[1].scheduled = false;
    world_wake(&world->nodes[1]);
    world_send(world, WORLD_EAGER, 1, 0, 8);
    world_send(world, WORLD_EAGER, 1, 0, 8); /* one of the two by the control channel */
    case_run(world);
}

/* Every length, at some slots, in every kind of chunks. Whoever frees a message leaves nothing
 * behind that a word could be taken for. */
START_TEST(every_length)
{
    static const uint32_t chunks[] = {0, 40, 64, 200, 256, 1000};
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    const struct rbuf_ring_options *ring_options = &options.core.ring;
    const uint32_t first = rbuf_ring_room(ring_options) + 1;
    const uint32_t lengths = LONGEST + 1 - first;

    rings_open(world);
    led = 0;
    for (uint32_t seed = 0; seed < 3 * lengths; seed++) {
        const uint32_t bytes = first + seed % lengths;
        const uint64_t sent = rings_stats(world, 0)->ring_sent;
        struct rbuf_event event;

        take_over(world);
        ck_assert(send_long(world, bytes, seed, chunks[(seed + seed / lengths) % 6]));
        let_arrive(world);
        event = take_long(world, bytes, seed);
        rbuf_core_release(event.peer, &event.delivery);
        check_ends(ring_of(world), ring_options);
        ck_assert_uint_eq(rings_stats(world, 0)->ring_sent, sent + 1);
        answer(world);
    }
    ck_assert_uint_gt(led, (uint64_t) 3 * lengths * 200);
    case_close(world);
}
END_TEST

/* A stream: much is on its way, so a message goes in one write, with the shorter trailer, unless it
 * would then not reach into its first slot. Every length, and with payload that is like words. */
START_TEST(every_length_in_one_write)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    const struct rbuf_ring_options *ring_options = &options.core.ring;
    const struct rbuf_ring_out *out = &sender_of(world)->ring_out;
    const uint32_t shorter = sizeof(struct rbuf_ring_long_trailer);
    uint32_t whole = 0;

    rings_open(world);
    for (uint32_t bytes = rbuf_ring_room(ring_options) + 1; bytes <= LONGEST; bytes++) {
        const uint32_t slots = rbuf_ring_long_slots(bytes, SLOT);
        const bool reaches = rbuf_ring_padded(bytes) + shorter >= (slots - 1) * SLOT + 8;
        struct rbuf_event event;

        take_over(world);
        for (uint32_t i = 0; i <= slots; i++) { /* the receiver answers none of them */
            ck_assert_ptr_nonnull(rbuf_am_begin(sender_of(world), 8));
            ck_assert(rbuf_am_end(sender_of(world), 1, 8, 0));
        }
        let_arrive(world);
        while (rbuf_core_poll(&world->nodes[1].core) > 0) {
        }
        while (rbuf_events_pop(&world->nodes[1].core.events, &event)) {
            rbuf_core_release(event.peer, &event.delivery);
        }
        ck_assert(send_long(world, bytes, bytes, 64));
        ck_assert_uint_eq(out->trailer, reaches ? shorter : RBUF_RING_LONG_EXTRA);
        whole += reaches;
        let_arrive(world);
        event = take_long(world, bytes, bytes);
        rbuf_core_release(event.peer, &event.delivery);
        check_ends(ring_of(world), ring_options);
        answer(world);
    }
    ck_assert_uint_gt(whole, (LONGEST - rbuf_ring_room(ring_options)) / 2);
    world_close(world);
}
END_TEST

/* What is too short or too long for several slots is none of theirs. */
START_TEST(which_lengths)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = sender_of(world);

    rings_open(world);
    ck_assert_ptr_null(rbuf_am_begin_long(peer, rbuf_ring_room(&options.core.ring)));
    ck_assert_ptr_nonnull(rbuf_am_begin_long(peer, rbuf_ring_room(&options.core.ring) + 1));
    ck_assert_ptr_nonnull(rbuf_am_begin_long(peer, LONGEST));
    ck_assert_ptr_null(rbuf_am_begin_long(peer, LONGEST + 1));
    ck_assert_ptr_null(rbuf_am_begin_long(world->nodes[1].links[0].peer, 0));
    case_close(world);
}
END_TEST

/* Parts of messages that overtake each other: whatever is there first, a message is taken when all
 * of it is, and has the right bytes. */
START_TEST(parts_overtake)
{
    uint64_t waited = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct world_options options = long_options();
        struct world *world;
        struct rbuf_core *core;
        struct rbuf_event event;
        uint64_t before;

        options.faults.seed = seed;
        world = world_open(&options);
        core = &world->nodes[1].core;
        rings_open(world);
        answer(world);
        take_over(world);
        world->net.faults.overtake_ns = 20000;
        before = led;
        ck_assert(send_long(world, LONGEST, (uint32_t) seed, 100 + (uint32_t) seed));
        ck_assert_uint_gt(led, before);
        while (rbuf_events_empty(&core->events)) {
            ck_assert(sim_step(&world->net.clock));
            if (rbuf_core_poll(core) == 0 &&
                atomic_load(ring_of(world)->watch->word) != 0) { /* begun, or its end is here */
                waited++;
            }
        }
        ck_assert(rbuf_events_pop(&core->events, &event));
        ck_assert_uint_eq(event.delivery.bytes, LONGEST);
        for (uint32_t i = 0; i < LONGEST; i++) {
            ck_assert_uint_eq(((const unsigned char *) event.delivery.data)[i],
                              byte_of((uint32_t) seed, i));
        }
        rbuf_core_release(event.peer, &event.delivery);
        check_ends(ring_of(world), &options.core.ring);
        world_close(world);
    }
    ck_assert_uint_gt(waited, 1000);
}
END_TEST

/* A message has room for so many words: from then on it goes in one part. */
START_TEST(as_many_parts_as_fit)
{
    struct world_options options = long_options();
    struct world *world;
    struct rbuf_peer *peer;
    struct rbuf_event event;

    options.core.ring.slots = 64;
    options.core.ring.slot_bytes = 128;
    options.core.ring.longest = 3000;
    world = world_open(&options);
    peer = sender_of(world);
    rings_open(world);
    answer(world);
    take_over(world);
    ck_assert(send_long(world, 3000, 5, 128));
    ck_assert_uint_eq(peer->ring_out.displaced, RBUF_RING_PARTS);
    let_arrive(world);
    event = take_long(world, 3000, 5);
    rbuf_core_release(event.peer, &event.delivery);
    check_ends(ring_of(world), &options.core.ring);
    answer(world);
    case_close(world);
}
END_TEST

/* Where parts end: at the nearest end of a slot but for the last one's, or all goes at once. */
START_TEST(ends_of_parts)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = sender_of(world);

    rings_open(world);
    answer(world);
    for (uint32_t bytes = peer->ring_out.room + 1; bytes <= LONGEST; bytes++) {
        const uint32_t slots = rbuf_ring_long_slots(bytes, SLOT);
        const uint32_t first = rbuf_ring_padded(bytes) + RBUF_RING_LONG_EXTRA - (slots - 1) * SLOT;

        ck_assert_ptr_nonnull(rbuf_am_begin_long(peer, bytes)); /* and it may leave in parts */

        for (uint32_t wanted = 1; wanted <= bytes; wanted += 1 + wanted / 9) {
            const uint32_t end = rbuf_ring_long_part(peer, bytes, wanted);

            ck_assert_uint_le(end, bytes);
            ck_assert(end == bytes || (end - first) % SLOT == 0);
            ck_assert(end == first || end + SLOT / 2 >= wanted);
            ck_assert(end == first || end <= wanted + SLOT / 2);
        }
    }
    case_close(world);
}
END_TEST

/* The first word is there and the rest is not: nothing is taken, and nothing behind it. */
START_TEST(half_of_a_message)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = sender_of(world);
    struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_ring_trailer *trailer;
    unsigned char *payload, *end_of_slot;
    struct rbuf_event event;
    struct rbuf_watch *watch;

    rings_open(world);
    take_over(world);
    payload = rbuf_am_begin_long(peer, 1000);
    fill(payload, 0, 600, 1);
    rbuf_ring_long_write_part(peer, 1000, 600);
    let_arrive(world);
    watch = ring_of(world)->watch;
    ck_assert(rbuf_watch_hit(watch, atomic_load(watch->word)));
    end_of_slot = (unsigned char *) (uintptr_t) (watch->word + 1);
    trailer = (struct rbuf_ring_trailer *) (void *) (end_of_slot + 4 * SLOT) - 1;
    trailer->header.sequence = sender_at_receiver(world)->sequence_in; /* as chance may have it */
    ck_assert_int_eq(rbuf_core_poll(core), 0);
    fill(payload, 600, 1000, 1);
    ck_assert(rbuf_am_end_long(peer, 1, 1000, 0));
    let_arrive(world);
    event = take_long(world, 1000, 1);
    rbuf_core_release(event.peer, &event.delivery);
    world->nodes[1].scheduled = false;
    world_wake(&world->nodes[1]);
    case_close(world);
}
END_TEST

/* Fills the payload with what would be a message's trailer wherever it stood at the end of a slot:
 * words, and headers whose number is that one. Each line begins anew: slots end with lines. */
static void fill_with_trailers(unsigned char *payload, uint32_t bytes, uint64_t word,
                               uint32_t sequence)
{
    struct rbuf_ring_trailer trailer = {
        .header = {.kind = RBUF_MESSAGE_USER, .tag = 1, .sequence = (uint16_t) sequence}};
    uint32_t at = 64 - (uint32_t) ((uintptr_t) payload % 64);

    atomic_store(&trailer.word, word);
    memset(payload, 0, bytes);
    for (; at <= bytes; at += 64) {
        if (at >= sizeof(trailer)) {
            memcpy(payload + at - sizeof(trailer), &trailer, sizeof(trailer));
        }
    }
}

/* The ring is full, and none of it is free: the oldest message is a long one, and at the end of its
 * first slot, where the next word will be, is payload that looks like that word. */
START_TEST(payload_where_the_next_word_will_be)
{
    enum { BYTES = 1400 };
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_peer *peer = sender_of(world);
    const uint32_t slots = rbuf_ring_long_slots(BYTES, SLOT);
    struct rbuf_event event[SLOTS];
    unsigned char *payload;
    int count = 0;

    rings_open(world);
    answer(world);
    take_over(world);
    payload = rbuf_am_begin_long(peer, BYTES);
    fill_with_trailers(payload, BYTES, (peer->ring_out.word + (SLOTS << RBUF_RING_SIZE_BITS)) | 8,
                       sender_at_receiver(world)->sequence_in + SLOTS - slots + 1);
    ck_assert(rbuf_am_end_long(peer, 1, BYTES, 0));
    for (uint32_t i = slots; i < SLOTS; i++) {
        fill(rbuf_am_begin(peer, 4), 0, 4, i);
        ck_assert(rbuf_am_end(peer, 1, 4, 0));
    }
    ck_assert_ptr_null(rbuf_am_begin(peer, 4));
    let_arrive(world);
    ck_assert_int_eq(rbuf_core_poll(core), (int) (SLOTS - slots) + 1);
    ck_assert(rbuf_watch_hit(ring_of(world)->watch, atomic_load(ring_of(world)->watch->word)));
    ck_assert_int_eq(rbuf_core_poll(core), 0);
    while (rbuf_events_pop(&core->events, &event[count])) {
        count++;
    }
    for (int i = 0; i < count; i++) {
        rbuf_core_release(event[i].peer, &event[i].delivery);
    }
    ck_assert_int_eq(rbuf_core_poll(core), 0);
    answer(world);
    case_close(world);
}
END_TEST

/* Payload full of the words that the receiver will look for next. */
START_TEST(payload_like_words)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[1].core;

    rings_open(world);
    for (int round = 0; round < 200; round++) {
        const uint32_t bytes = 8 * (uint32_t) (30 + round % 150);
        struct rbuf_peer *peer = sender_of(world);
        unsigned char *payload;
        struct rbuf_event event;

        take_over(world);
        payload = rbuf_am_begin_long(peer, bytes);
        ck_assert_ptr_nonnull(payload);
        fill_with_trailers(payload, bytes, next_word(peer, bytes) | 8,
                           sender_at_receiver(world)->sequence_in + 1u);
        ck_assert(rbuf_am_end_long(peer, 1, bytes, 0));
        let_arrive(world);
        ck_assert_int_eq(rbuf_core_poll(core), 1);
        ck_assert(rbuf_events_pop(&core->events, &event));
        ck_assert_uint_eq(event.delivery.bytes, bytes);
        ck_assert_int_eq(rbuf_core_poll(core), 0);
        rbuf_core_release(event.peer, &event.delivery);
        check_ends(ring_of(world), &options.core.ring);
        answer(world);
    }
    case_close(world);
}
END_TEST

/* Slots of node 0's ring that were used. */
static uint64_t uses_of(const struct world *world)
{
    const struct rbuf_ring_out *out = &sender_of(world)->ring_out;

    return (out->word >> RBUF_RING_SIZE_BITS) - out->offer.first_use;
}

/* Long ones, small ones and others in one order, with faults of the network; also when the ring is
 * full of them, and when its slots are freed late. */
START_TEST(all_ways_one_order)
{
    uint64_t full = 0, long_ones = 0; /* slots beyond the first of each */

    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct world_options options = long_options();
        struct world *world;

        options.core.ring.slots = 4 + (uint32_t) seed;
        options.core.window[RBUF_CONTROL] = 7;
        options.depth = seed % 3 == 0 ? 6 : 64;
        options.faults.seed = seed;
        options.faults.jitter_ns = seed % 2 == 0 ? 4000 : 0;
        options.faults.completion_delay_ns = seed % 4 == 0 ? 20000 : 0;
        options.faults.late_read = seed % 2 == 0;
        options.faults.overtake_ns = seed % 3 == 1 ? 30000 : 0;
        world = world_open(&options);
        rings_open(world);
        rings_exchange(world, 200, LONGEST);
        for (int i = 0; i < 100; i++) { /* a few at a time: none has to queue */
            rings_exchange(world, 3 + i % 7, LONGEST);
        }
        full += rings_stats(world, 0)->ring_full;
        long_ones += uses_of(world) - rings_stats(world, 0)->ring_sent;
        ck_assert_uint_gt(rings_stats(world, 0)->ring_sent, 20);
        ck_assert_uint_gt(rings_stats(world, 1)->messages_received, 399);
        case_close(world);
    }
    ck_assert_uint_gt(full, 100);
    ck_assert_uint_gt(long_ones, 100);
}
END_TEST

/* A chunk cannot be posted, or the last one: the peer is lost, nothing wrong is delivered, and
 * nothing that could be goes on. */
START_TEST(lost_in_the_middle)
{
    for (uint64_t n = 1; n <= 8; n++) {
        struct world_options options = long_options();
        struct world *world = world_open(&options);
        struct rbuf_peer *peer = sender_of(world);
        struct rbuf_core *core = &world->nodes[1].core;
        unsigned char *payload;
        uint32_t done = 0;
        bool sent;

        rings_open(world);
        answer(world);
        take_over(world);
        world->net.faults.fail_operation = SIM_WRITE;
        world->net.faults.fail_refused = true;
        world->net.faults.fail_at = world->net.to_fail + n; /* this one alone */
        payload = rbuf_am_begin_long(peer, LONGEST);
        for (; LONGEST - done > 200; done += 200) {
            fill(payload, done, done + 200, 7);
            rbuf_ring_long_write_part(peer, LONGEST, done + 200);
        }
        fill(payload, done, LONGEST, 7);
        sent = rbuf_am_end_long(peer, 1, LONGEST, 0);
        ck_assert_int_eq(sent, n > rbuf_ring_long_slots(LONGEST, SLOT)); /* a part each */
        ck_assert_int_eq(peer->state == RBUF_PEER_CONNECTED, sent);
        let_arrive(world);
        if (sent) {
            struct rbuf_event event = take_long(world, LONGEST, 7);

            rbuf_core_release(event.peer, &event.delivery);
        } else {
            ck_assert_int_eq(rbuf_core_poll(core), 0);
            ck_assert_ptr_null(rbuf_am_begin_long(peer, LONGEST));
        }
        world_close(world);
    }
}
END_TEST

/* Messages of any length freed in any order: credits cover a run of free slots only. */
START_TEST(freed_out_of_order)
{
    static const uint32_t lengths[] = {300, 900, 20, 600};
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_peer *peer = sender_of(world);

    rings_open(world);
    for (uint32_t round = 0; round < 60; round++) {
        struct rbuf_event event[4];
        const uint64_t consumed = ring_of(world)->peer->credit[RBUF_FLOW_RING].consumed;
        uint64_t slots = 0;

        take_over(world);
        for (uint32_t i = 0; i < 4; i++) {
            const uint64_t word = peer->ring_out.word;

            if (lengths[i] <= rbuf_ring_room(&options.core.ring)) {
                fill(rbuf_am_begin(peer, lengths[i]), 0, lengths[i], i);
                ck_assert(rbuf_am_end(peer, 1, lengths[i], 0));
            } else {
                ck_assert(send_long(world, lengths[i], i, 0));
            }
            slots += (peer->ring_out.word - word) >> RBUF_RING_SIZE_BITS;
        }
        let_arrive(world);
        ck_assert_int_eq(rbuf_core_poll(core), 4);
        for (uint32_t i = 0; i < 4; i++) {
            ck_assert(rbuf_events_pop(&core->events, &event[i]));
            ck_assert_uint_eq(event[i].delivery.bytes, lengths[i]);
        }
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t which = (i * 3 + round) % 4;

            ck_assert_uint_eq(((unsigned char *) event[which].delivery.data)[7], byte_of(which, 7));
            rbuf_core_release(event[which].peer, &event[which].delivery);
        }
        ck_assert_uint_eq(ring_of(world)->freed, 0);
        ck_assert_uint_eq(ring_of(world)->peer->credit[RBUF_FLOW_RING].consumed, consumed + slots);
        world->nodes[1].scheduled = false;
        world_wake(&world->nodes[1]);
        case_settle(world);
    }
    case_close(world);
}
END_TEST

static bool takes_long(const struct rbuf_peer *peer)
{
    return peer->ring_out.state == RBUF_RING_OUT_OPEN &&
           peer->ring_out.longest > peer->ring_out.room;
}

/* The longest message, from the last slot on, stays in our memory. */
static void check_room(const struct rbuf_peer *peer)
{
    const struct rbuf_ring_out *out = &peer->ring_out;

    if (out->state == RBUF_RING_OUT_OPEN && out->longest > out->room) {
        const uint32_t slots = rbuf_ring_long_slots(out->longest, out->slot_bytes);

        ck_assert_uint_le((size_t) (out->offer.slots - 1 + slots) * out->slot_bytes,
                          rbuf_ring_memory_bytes(&peer->core->options.ring));
    }
}

/* Both sides have other ideas of a ring: what does not fit both goes over send/receive. */
START_TEST(unlike_geometries)
{
    static const struct {
        uint32_t slots, slot_bytes, longest;
        bool there,
            back; /* long messages go by the ring from node 0 to node 1, and the other way */
    } others[] = {{SLOTS, SLOT, 0, false, false},     {SLOTS, SLOT, 600, true, true},
                  {SLOTS, SLOT, 2000, true, true},    {SLOTS, 320, LONGEST, false, true},
                  {SLOTS, 512, LONGEST, false, true}, {5, SLOT, LONGEST, true, false},
                  {64, SLOT, 5000, false, true},      {64, 128, 5000, false, true}};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct world_options options = long_options();
        struct world *world = world_open(&options);
        struct rbuf_core *core = &world->nodes[1].core;

        core->options.ring.slots = others[i].slots;
        core->options.ring.slot_bytes = others[i].slot_bytes;
        core->options.ring.longest = others[i].longest;
        core->options.window[RBUF_FLOW_RING] = (uint16_t) others[i].slots;
        rings_exchange(world, 40, 40);
        case_settle(world);
        check_room(sender_of(world));
        check_room(sender_at_receiver(world));
        ck_assert_int_eq(takes_long(sender_of(world)), others[i].there);
        ck_assert_int_eq(takes_long(sender_at_receiver(world)), others[i].back);
        rings_exchange(world, 200, 3000);
        for (int j = 0; j < 100; j++) {
            rings_exchange(world, 2, 1500);
        }
        case_close(world);
    }
}
END_TEST

/* A peer that sends nothing but long messages gets a ring as well, and the epoch takes each of
 * them for one. */
START_TEST(long_ones_alone)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    uint64_t sent;

    for (int i = 0; i < 60; i++) {
        world_send(world, WORLD_EAGER, 0, 1, 1000);
        case_run(world);
    }
    ck_assert_ptr_nonnull(ring_of(world));
    sent = rings_stats(world, 0)->ring_sent;
    ck_assert_uint_gt(sent, 10);
    ck_assert_uint_eq(rbuf_watch_use(ring_of(world)->watch) - ring_of(world)->counted, sent);
    case_close(world);
}
END_TEST

/* Messages that name a put are held though they came by several slots, and free them. */
START_TEST(held)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    struct rbuf_peer *peer = sender_of(world);
    struct rbuf_core *core = &world->nodes[1].core;
    struct rbuf_ring_in *ring;
    unsigned char *payload;
    struct rbuf_grant *grant;
    struct rbuf_offer offer;
    static unsigned char target[8192];

    rings_open(world);
    ring = ring_of(world);
    take_over(world);
    grant = rbuf_grant_open(ring->peer, target, sizeof(target), NULL, 0, &offer);
    ck_assert_ptr_nonnull(grant);
    payload = rbuf_am_begin_long(peer, 1000);
    fill(payload, 0, 1000, 5);
    ck_assert(rbuf_am_end_long(peer, 1, 1000, offer.id));
    let_arrive(world);
    ck_assert_int_eq(rbuf_core_poll(core), 1);
    ck_assert(rbuf_events_empty(&core->events));
    ck_assert_uint_eq(ring->tail, rbuf_watch_use(ring->watch));
    ck_assert_uint_eq(ring->freed, 0);
    world_close(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring_long");

    unit_add(suite, every_length);
    unit_add(suite, every_length_in_one_write);
    unit_add(suite, which_lengths);
    unit_add(suite, parts_overtake);
    unit_add(suite, as_many_parts_as_fit);
    unit_add(suite, ends_of_parts);
    unit_add(suite, half_of_a_message);
    unit_add(suite, payload_where_the_next_word_will_be);
    unit_add(suite, payload_like_words);
    unit_add(suite, all_ways_one_order);
    unit_add(suite, lost_in_the_middle);
    unit_add(suite, freed_out_of_order);
    unit_add(suite, unlike_geometries);
    unit_add(suite, long_ones_alone);
    unit_add(suite, held);
    return unit_run(suite);
}
