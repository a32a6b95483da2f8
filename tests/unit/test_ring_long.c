/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One message over several slots of a ring: every length, at every slot, in chunks and as a whole;
 * parts that overtake each other or cannot be posted; payload that looks like words. (With others:
 * test_ring_mixed.c.)
 */
#include "ring_long.h"

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
    in_parts = 0;
    for (uint32_t seed = 0; seed < 3 * lengths; seed++) {
        const uint32_t bytes = first + seed % lengths;
        const uint64_t sent = rings_stats(world, 0)->ring_sent;
        struct rbuf_event event;

        take_over(world);
        ck_assert(send_long(world, bytes, seed, chunks[(seed + seed / lengths) % 6]));
        let_arrive(world);
        event = take_long(world, bytes, seed);
        rbuf_core_release(event.peer, &event.delivery);
        ck_assert(inspect_ring_is_clean(sender_at_receiver(world)));
        ck_assert_uint_eq(rings_stats(world, 0)->ring_sent, sent + 1);
        answer(world);
    }
    ck_assert_uint_gt(in_parts, (uint64_t) 3 * lengths * 200);
    case_close(world);
}
END_TEST

/* A stream: much is on its way, so a message goes in one write, with the shorter trailer, unless it
 * would then not reach into its first slot. */
START_TEST(every_length_in_one_write)
{
    struct world_options options = long_options();
    struct world *world = world_open(&options);
    const struct rbuf_ring_options *ring_options = &options.core.ring;
    const struct sim_pair_end *end = &world->nodes[0].links[1].end[RBUF_CONTROL];
    const uint32_t shorter = sizeof(struct rbuf_ring_long_trailer);
    uint32_t whole = 0;

    rings_open(world);
    for (uint32_t bytes = rbuf_ring_room(ring_options) + 1; bytes <= LONGEST; bytes++) {
        const uint32_t slots = rbuf_ring_long_slots(bytes, SLOT);
        const bool reaches = rbuf_ring_padded(bytes) + shorter >= (slots - 1) * SLOT + 8;
        struct rbuf_event event;
        uint64_t before, posts;

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
        before = bytes_posted(world);
        posts = end->posts;
        ck_assert(send_long(world, bytes, bytes, 64));
        ck_assert_uint_eq(bytes_posted(world) - before,
                          rbuf_ring_padded(bytes) + (reaches ? shorter : RBUF_RING_LONG_EXTRA));
        ck_assert(!reaches || end->posts == posts + 1);
        whole += reaches;
        let_arrive(world);
        event = take_long(world, bytes, bytes);
        rbuf_core_release(event.peer, &event.delivery);
        ck_assert(inspect_ring_is_clean(sender_at_receiver(world)));
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
        before = in_parts;
        ck_assert(send_long(world, LONGEST, (uint32_t) seed, 100 + (uint32_t) seed));
        ck_assert_uint_gt(in_parts, before);
        while (rbuf_events_empty(&core->events)) {
            ck_assert(sim_step(&world->net.clock));
            if (rbuf_core_poll(core) == 0 &&
                inspect_next_is_there(sender_at_receiver(world))) { /* and the rest is not */
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
        ck_assert(inspect_ring_is_clean(sender_at_receiver(world)));
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
    const struct rbuf_ring_parts_trailer *trailer;
    struct rbuf_event event;

    options.core.ring.slots = 64;
    options.core.ring.slot_bytes = 128;
    options.core.ring.longest = 3000;
    world = world_open(&options);
    rings_open(world);
    answer(world);
    take_over(world);
    ck_assert(send_long(world, 3000, 5, 128));
    let_arrive(world);
    event = take_long(world, 3000, 5);
    trailer = (const void *) ((const unsigned char *) event.delivery.data + 3000);
    ck_assert_int_eq(__builtin_popcountll(trailer->words), RBUF_RING_PARTS);
    rbuf_core_release(event.peer, &event.delivery);
    ck_assert(inspect_ring_is_clean(sender_at_receiver(world)));
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
    for (uint32_t bytes = inspect_slot_room(peer) + 1; bytes <= LONGEST; bytes++) {
        const uint32_t slots = rbuf_ring_long_slots(bytes, SLOT);
        const uint32_t first = rbuf_ring_padded(bytes) + RBUF_RING_LONG_EXTRA - (slots - 1) * SLOT;

        ck_assert_ptr_nonnull(rbuf_am_begin_long(peer, bytes)); /* and it may leave in parts */

        for (uint32_t wanted = 1; wanted <= bytes; wanted += 1 + wanted / 9) {
            const uint32_t end = rbuf_ring_long_part(peer, wanted);

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

    rings_open(world);
    take_over(world);
    payload = rbuf_am_begin_long(peer, 1000);
    fill(payload, 0, 600, 1);
    rbuf_ring_long_write_part(peer, 600);
    let_arrive(world);
    ck_assert(inspect_next_is_there(sender_at_receiver(world)));
    end_of_slot = inspect_slot_end(sender_at_receiver(world), 0);
    trailer = (struct rbuf_ring_trailer *) (void *) (end_of_slot + 4 * SLOT) - 1;
    trailer->header.sequence = sender_at_receiver(world)->sequence_in; /* as chance may have it */
    ck_assert_int_eq(rbuf_core_poll(core), 0);
    fill(payload, 600, 1000, 1);
    ck_assert(rbuf_ring_long_end(peer, 1, 0));
    let_arrive(world);
    event = take_long(world, 1000, 1);
    rbuf_core_release(event.peer, &event.delivery);
    world->nodes[1].scheduled = false;
    world_wake(&world->nodes[1]);
    case_close(world);
}
END_TEST

/* The word that is due where the receiver looks after this message. */
static uint64_t next_word(const struct world *world, uint32_t bytes)
{
    return rbuf_ring_word_of_use(RBUF_PROOF_ORDER, inspect_next_use(sender_at_receiver(world)) +
                                                       rbuf_ring_long_slots(bytes, SLOT));
}

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
    rings_exchange(world, 20, 40); /* its slots have been free before */
    answer(world);
    take_over(world);
    payload = rbuf_am_begin_long(peer, BYTES);
    fill_with_trailers(
        payload, BYTES,
        rbuf_ring_word(RBUF_PROOF_ORDER, inspect_next_use(sender_at_receiver(world)) + SLOTS, 8),
        sender_at_receiver(world)->sequence_in + SLOTS - slots + 1);
    ck_assert(rbuf_ring_long_end(peer, 1, 0));
    for (uint32_t i = slots; i < SLOTS; i++) {
        fill(rbuf_am_begin(peer, 4), 0, 4, i);
        ck_assert(rbuf_am_end(peer, 1, 4, 0));
    }
    ck_assert_ptr_null(rbuf_am_begin(peer, 4));
    let_arrive(world);
    ck_assert_int_eq(rbuf_core_poll(core), (int) (SLOTS - slots) + 1);
    ck_assert(inspect_next_is_there(sender_at_receiver(world)));
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
        fill_with_trailers(payload, bytes, next_word(world, bytes) | 8,
                           sender_at_receiver(world)->sequence_in + 1u);
        ck_assert(rbuf_ring_long_end(peer, 1, 0));
        let_arrive(world);
        ck_assert_int_eq(rbuf_core_poll(core), 1);
        ck_assert(rbuf_events_pop(&core->events, &event));
        ck_assert_uint_eq(event.delivery.bytes, bytes);
        ck_assert_int_eq(rbuf_core_poll(core), 0);
        rbuf_core_release(event.peer, &event.delivery);
        ck_assert(inspect_ring_is_clean(sender_at_receiver(world)));
        answer(world);
    }
    case_close(world);
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
            rbuf_ring_long_write_part(peer, done + 200);
        }
        fill(payload, done, LONGEST, 7);
        sent = rbuf_ring_long_end(peer, 1, 0);
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
    unit_add(suite, lost_in_the_middle);
    return unit_run(suite);
}
