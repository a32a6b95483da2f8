/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data of packed messages: chunks that the user packs, and the fragments that name them.
 */
#include "early.h"

#include "core/stage/tx_chunk.h"

static struct world_message *send_packed(struct world *world, uint64_t bytes)
{
    return world_send(world, WORLD_PACKED, 0, 1, bytes);
}

/* Messages of every length about the edges; what Open MPI lets be in a fragment is more or less
 * than what is in a slot. */
START_TEST(all_lengths)
{
    static const uint32_t fragments[] = {5000, 16000, 65000};
    static const uint64_t lengths[] = {
        1, 4000, EARLY_PAYLOAD, 30000, EARLY_BYTES - 30, EARLY_BYTES + 30, 100000, 1000000};

    for (size_t i = 0; i < sizeof(fragments) / sizeof(fragments[0]); i++) {
        struct world_options options = world_defaults();
        struct world *world;
        uint64_t messages = 0;

        options.core.arrival = early_arrivals[_i];
        options.fragment_bytes = fragments[i];
        options.message_bytes = 70000;
        world = early_open(&options);
        for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
            for (uint64_t length = lengths[j]; length < lengths[j] + 3; length++) {
                send_packed(world, length);
                case_run(world);
                world_settle(world);
                messages++;
            }
        }
        ck_assert_uint_eq(early_stats(world, 0)->early_sent, messages);
        ck_assert_uint_ge(early_stats(world, 1)->early_fragments, messages);
        ck_assert_uint_eq(early_stats(world, 0)->early_dropped, 0);
        case_close(world);
    }
}
END_TEST

/* With and without, among others, both ways. */
START_TEST(among_others)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct world_options options = world_defaults();
        struct sim_random random = {seed};
        struct world *world;

        options.core.arrival = early_arrivals[_i];
        world = early_open(&options);
        world->options.late = (unsigned) seed;
        for (unsigned i = 0; i < 100; i++) {
            static const enum world_kind kinds[] = {WORLD_PACKED, WORLD_PUT, WORLD_EAGER};
            const enum world_kind kind = kinds[sim_random_below(&random, 3)];

            world_send(world, kind, i % 2, 1 - i % 2,
                       sim_random_size(&random, kind == WORLD_EAGER ? 8000 : 100000));
        }
        case_expect_all(world);
        case_run(world);
        ck_assert_uint_gt(early_stats(world, 1)->early_fragments, 0);
        case_close(world);
    }
}
END_TEST

/* ---- step by step ---- */

/* Packed data of an RTS that is held. */
static struct rbuf_early_data *held_data(struct world *world, struct world_message **held)
{
    *held = early_held(world, send_packed(world, 1));
    ck_assert_ptr_nonnull((*held)->packed.early);
    world->nodes[0].links[1].packing = NULL;
    return (*held)->packed.early;
}

/* Fills so many blocks of the next chunk, each with its number; false: there is no chunk. */
static bool pack(struct world *world, struct rbuf_early_data *data, uint32_t blocks,
                 unsigned char *number)
{
    struct rbuf_peer *peer = early_sender(world);
    struct rbuf_tx_chunk *chunk = rbuf_early_begin(peer, data);

    if (chunk == NULL) {
        return false;
    }
    blocks = blocks < chunk->shape.blocks ? blocks : chunk->shape.blocks;
    for (uint32_t i = 0; i < blocks; i++) {
        memset(rbuf_early_block(peer, chunk, i), (*number)++, rbuf_early_block_payload(peer));
    }
    ck_assert(rbuf_early_end(peer, data, chunk, blocks));
    world_settle(world);
    return true;
}

/* Chunks are whole, of any blocks, or empty: blocks stand one behind the other, as far as the slot
 * goes. */
START_TEST(blocks_follow_each_other)
{
    for (uint32_t most = 1; most <= 10; most++) {
        struct world *world = early_open_arriving(_i);
        const uint64_t *written = &early_stats(world, 0)->staged_bytes;
        const uint64_t before = *written;
        struct world_message *held;
        struct rbuf_early_data *data = held_data(world, &held);
        const struct rbuf_arena *arena = &world->nodes[1].core.receive_arena;
        unsigned char number = 1; /* one is there already, of the message's byte */
        uint32_t first;

        first = rbuf_early_in_block(early_receiver(world), data->seq);
        ck_assert_uint_eq(*written, before + EARLY_PAYLOAD);
        for (unsigned turn = 0; pack(world, data, turn % 3 == 2 ? 0 : most, &number); turn++) {
            ck_assert_uint_lt(turn, 50);
        }
        ck_assert_uint_eq(number, 10);
        ck_assert_uint_eq(*written, before + EARLY_BYTES);
        for (uint32_t block = 1; block < 10; block++) {
            const unsigned char *bytes = rbuf_arena_block(arena, first + block);

            ck_assert_uint_eq(bytes[0], block);
            ck_assert_uint_eq(bytes[EARLY_PAYLOAD - 1], block);
        }
        ck_assert_ptr_null(rbuf_early_begin(early_sender(world), data));
        world_close_message(held, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* No chunk is begun for a window that is asked back, without staging, for a peer that is lost. */
START_TEST(no_chunk_can_be_begun)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        struct world *world = early_open_arriving(_i);
        struct rbuf_arena *arena = &world->nodes[0].core.send_arena;
        struct world_message *held;
        struct rbuf_early_data *data = held_data(world, &held);
        uint32_t first;

        if (kind == 0) {
            rbuf_early_out_recalled(early_sender(world));
        } else if (kind == 1) {
            ck_assert(rbuf_arena_take(arena, arena->blocks, &first));
        } else {
            rbuf_peer_fail(early_sender(world), -1);
        }
        ck_assert_ptr_null(rbuf_early_begin(early_sender(world), data));
        world_close_message(held, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* Without a window or a free slot the RTS goes alone; with one the slot is the message's. */
START_TEST(who_gets_a_slot)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);
    struct world_message *held[RBUF_EARLY_SLOTS + 1];

    held[0] = early_held(world, send_packed(world, 50000));
    ck_assert_ptr_null(held[0]->packed.early);
    world->nodes[1].unexpected = held[0];
    world_expect(world, 1);
    world_settle(world);
    early_expected(world, 1, 50000);
    for (unsigned i = 0; i <= RBUF_EARLY_SLOTS; i++) {
        world->nodes[0].links[1].packing = NULL; /* several at a time */
        held[i] = early_held(world, send_packed(world, 50000));
        ck_assert_int_eq(held[i]->packed.early != NULL, i < RBUF_EARLY_SLOTS);
    }
    ck_assert(!inspect_has_unclaimed(early_receiver(world)));
    for (unsigned i = 0; i <= RBUF_EARLY_SLOTS; i++) {
        world->nodes[1].unexpected = held[i];
        world_expect(world, 1);
        world_settle(world);
    }
    case_run(world);
    case_close(world);
}
END_TEST

/* ---- fragments ---- */

struct fragment_message {
    struct rbuf_message_header header;
    struct rbuf_fragment fragment;
    uint64_t of_open_mpi;
};

static bool receive_fragment(struct world *world, struct fragment_message *message,
                             const struct rbuf_fragment *fragment)
{
    *message = (struct fragment_message){
        .header = {.peer = early_receiver(world)->index, .kind = RBUF_MESSAGE_FRAGMENT},
        .fragment = *fragment};
    return rbuf_core_received(&world->nodes[1].core, RBUF_BULK, NULL, message, sizeof(*message));
}

/* Threads may deliver several fragments at once, and be through with the last one first: the slot
 * is free when none is being delivered. */
START_TEST(slots_are_free_behind_all_fragments)
{
    static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct world *world = early_open_arriving(_i);
        struct rbuf_events *events = &world->nodes[1].core.events;
        struct fragment_message messages[3];
        struct rbuf_event delivered[3];
        struct world_message *held;
        struct rbuf_early_data *data = held_data(world, &held);

        for (unsigned j = 0; j < 3; j++) {
            const struct rbuf_fragment fragment = {
                .seq = data->seq, .first = (uint16_t) j, .blocks = 1, .last = j == 2, .bytes = {9}};

            ck_assert(receive_fragment(world, &messages[j], &fragment));
            ck_assert(rbuf_events_pop(events, &delivered[j]));
            ck_assert_int_eq(delivered[j].delivery.extra, RBUF_EXTRA_FRAGMENT);
            ck_assert_uint_eq(delivered[j].delivery.early,
                              rbuf_early_in_block(early_receiver(world), data->seq) + j);
        }
        for (unsigned j = 0; j < 3; j++) {
            ck_assert(inspect_holds_early(early_receiver(world), data->seq));
            rbuf_core_release(early_receiver(world), &delivered[orders[i][j]].delivery);
        }
        ck_assert(!inspect_holds_early(early_receiver(world), data->seq));
        world_close_message(held, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* What a fragment may not say. Sequence numbers are counted from that of the packed data. */
static const struct {
    const char *what;
    struct rbuf_fragment fragment;
    bool taken;
} fragments[] = {
    {"a block", {.blocks = 1, .bytes = {1}}, true},
    {"nothing", {.last = 1}, true},
    {"the last block", {.first = 9, .blocks = 1, .bytes = {EARLY_PAYLOAD}}, true},
    {"of a use to come", {.seq = RBUF_EARLY_SLOTS, .blocks = 1, .bytes = {1}}, false},
    {"of a use before", {.seq = -RBUF_EARLY_SLOTS, .blocks = 1, .bytes = {1}}, false},
    {"of a free slot", {.seq = 1, .blocks = 1, .bytes = {1}}, false},
    {"behind the slot", {.first = 10, .blocks = 1, .bytes = {1}}, false},
    {"across its end", {.first = 9, .blocks = 2, .bytes = {1, 1}}, false},
    {"far away", {.first = UINT16_MAX, .blocks = 2, .bytes = {1, 1}}, false},
    {"more blocks than it has lengths", {.blocks = RBUF_FRAGMENT_BLOCKS + 1}, false},
    {"an empty block", {.blocks = 2, .bytes = {1, 0}}, false},
    {"more than a block has", {.blocks = 1, .bytes = {EARLY_PAYLOAD + 1}}, false},
    {"much more", {.blocks = 1, .bytes = {UINT32_MAX}}, false},
};

START_TEST(fragments_without_sense)
{
    for (size_t i = 0; i < sizeof(fragments) / sizeof(fragments[0]); i++) {
        struct world *world = early_open_arriving(_i);
        struct rbuf_fragment fragment = fragments[i].fragment;
        const uint64_t refused = early_stats(world, 1)->messages_refused;
        struct fragment_message message;
        struct world_message *held;

        fragment.seq += held_data(world, &held)->seq;
        ck_assert_msg(receive_fragment(world, &message, &fragment) == fragments[i].taken, "%s",
                      fragments[i].what);
        ck_assert_uint_eq(early_stats(world, 1)->messages_refused, refused + !fragments[i].taken);
        ck_assert(rbuf_peer_is_lost(early_receiver(world)) == !fragments[i].taken);
        if (fragment.last != 0) { /* there is none behind it */
            ck_assert(!receive_fragment(world, &message, &fragment));
            ck_assert(rbuf_peer_is_lost(early_receiver(world)));
        }
        world->nodes[1].core.events.head = world->nodes[1].core.events.tail; /* it is ours */
        world_close_message(held, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

/* Of data that are no packed ones; by the other channel; cut short. */
START_TEST(fragments_of_something_else)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        struct world *world = early_open_arriving(_i);
        struct world_message *held =
            kind == 0 ? early_hold(world, 50000) : early_held(world, send_packed(world, 50000));
        struct fragment_message message = {
            .header = {.peer = early_receiver(world)->index,
                       .kind = RBUF_MESSAGE_FRAGMENT,
                       .sequence = early_receiver(world)->sequence_in},
            .fragment = {.seq = early_newest(world), .blocks = 1, .bytes = {1}}};

        ck_assert(!rbuf_core_received(
            &world->nodes[1].core, kind == 1 ? RBUF_CONTROL : RBUF_BULK, NULL, &message,
            kind == 2 ? sizeof(message.header) + sizeof(message.fragment) - 1 : sizeof(message)));
        ck_assert(rbuf_peer_is_lost(early_receiver(world)));
        world_close_message(held, WORLD_ARRIVED);
        world_close(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early_packed");

    unit_add_loop(suite, all_lengths, EARLY_ARRIVALS);
    unit_add_loop(suite, among_others, EARLY_ARRIVALS);
    unit_add_loop(suite, blocks_follow_each_other, EARLY_ARRIVALS);
    unit_add_loop(suite, no_chunk_can_be_begun, EARLY_ARRIVALS);
    unit_add(suite, who_gets_a_slot);
    unit_add_loop(suite, slots_are_free_behind_all_fragments, EARLY_ARRIVALS);
    unit_add_loop(suite, fragments_without_sense, EARLY_ARRIVALS);
    unit_add_loop(suite, fragments_of_something_else, EARLY_ARRIVALS);
    return unit_run(suite);
}
