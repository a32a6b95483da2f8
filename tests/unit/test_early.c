/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Early data of messages whose receives are there: who gets a window, what goes into its slots, and
 * what is put behind them.
 */
#include "early.h"

#include <math.h>
#include <sys/mman.h>

/* The first RTS leases nothing, the second a window, the third has early data. */
START_TEST(windows_are_for_who_sends)
{
    struct world_options options = world_defaults();
    struct world *world = world_open(&options);

    for (unsigned sent = 1; sent <= 6; sent++) {
        early_expected(world, 1, 50000);
        ck_assert_int_eq(inspect_has_window(early_receiver(world)), sent >= 2);
        ck_assert_int_eq(rbuf_early_may_begin(early_sender(world)), sent >= 2);
        ck_assert_uint_eq(early_stats(world, 0)->early_sent, sent > 2 ? sent - 2 : 0);
        ck_assert_uint_eq(early_stats(world, 1)->early_claimed, sent > 2 ? sent - 2 : 0);
    }
    ck_assert_uint_eq(early_stats(world, 1)->early_leased, 1);
    early_sent_once(world, 6 * 50000);
    case_close(world);
}
END_TEST

/* Options under which nobody has early data. */
START_TEST(windows_need_room)
{
    static const struct {
        uint32_t peers;
        uint32_t slot_blocks;
        size_t receive_bytes;
        bool leased;
    } rows[] = {
        {1, 10, 16u << 20, true},
        {0, 10, 16u << 20, false},
        {1, 1, 16u << 20, false}, /* a short block more than the first chunk must fit */
        {1, 2, 16u << 20, true},
        {1, 10, 232 * 4096, true}, /* 192 for the largest message, 40 for a window */
        {1, 10, 231 * 4096, false},
        {1, 1024, 16u << 20, false},
        {UINT32_MAX, 10, 16u << 20, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world_options options = world_defaults();
        struct world *world;

        options.core.early.peers = rows[i].peers;
        options.core.early.slot_blocks = rows[i].slot_blocks;
        options.receive_bytes = rows[i].receive_bytes;
        world = world_open(&options);
        early_expected(world, 5, 70000);
        ck_assert_msg(inspect_has_window(early_receiver(world)) == rows[i].leased, "row %zu", i);
        case_close(world);
    }
}
END_TEST

/* Every length about the edges of blocks, chunks and the slot, and some beyond: no byte is sent
 * twice, and none is missing. */
START_TEST(all_lengths)
{
    static const uint64_t edges[] = {1,
                                     EARLY_PAYLOAD,
                                     3 * EARLY_PAYLOAD,
                                     4 * EARLY_PAYLOAD,
                                     EARLY_BYTES,
                                     11 * EARLY_PAYLOAD,
                                     100000,
                                     1000000};
    struct world *world = early_open_arriving(_i);
    uint64_t bytes = 2 * 50000;

    for (size_t edge = 0; edge < sizeof(edges) / sizeof(edges[0]); edge++) {
        for (uint64_t length = edges[edge] > 3 ? edges[edge] - 3 : 1; length <= edges[edge] + 3;
             length++) {
            early_expected(world, 1, length);
            bytes += length;
        }
    }
    early_sent_once(world, bytes);
    ck_assert_uint_gt(early_stats(world, 1)->early_claimed, 50);
    case_close(world);
}
END_TEST

/* With the chunk of equation 3 a message has chunks of its own size behind its early data, which
 * are cut by another one. The sender finds that size in the offer, and by itself nothing of it. */
START_TEST(a_chunk_for_each_length)
{
    static const uint64_t lengths[] = {30000, EARLY_BYTES + 1, 60000, 200000, 1000000, 4000000};
    struct world_options options = world_defaults();
    struct world *world;
    uint64_t bytes = 2 * 50000;

    options.core.arrival = early_arrivals[_i];
    options.core.pipeline_gap = 2000;
    world = early_open(&options);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const uint64_t sent = early_stats(world, 0)->staged_chunks;
        const uint64_t early = early_stats(world, 0)->early_sent;
        const uint64_t wanted = (uint64_t) (sqrt((double) lengths[i] * 1000) / 4096 + 0.5);
        const uint64_t chunk = (wanted > 0 ? wanted : 1) * EARLY_PAYLOAD;
        const uint64_t rest = lengths[i] > EARLY_BYTES ? lengths[i] - EARLY_BYTES : 0;

        early_expected(world, 1, lengths[i]);
        bytes += lengths[i];
        ck_assert_uint_eq(early_stats(world, 0)->early_sent, early + 1);
        /* At most 10 of a block are early. */
        ck_assert_uint_le(early_stats(world, 0)->staged_chunks - sent, 10 + rest / chunk + 1);
        ck_assert_uint_ge(early_stats(world, 0)->staged_chunks - sent, rest / chunk);
    }
    early_sent_once(world, bytes);
    case_close(world);
}
END_TEST

/* More messages at once than slots: those that find none go without; all slots come back. */
START_TEST(more_messages_than_slots)
{
    struct world *world = early_open_arriving(_i);

    for (unsigned round = 0; round < 20; round++) {
        const uint64_t before = early_stats(world, 0)->early_sent;

        for (unsigned i = 0; i < 3 * RBUF_EARLY_SLOTS; i++) {
            world_send(world, WORLD_PUT, 0, 1, 30000 + 9001 * i);
        }
        ck_assert_uint_ge(early_stats(world, 0)->early_sent, before + RBUF_EARLY_SLOTS - 1);
        case_run(world);
        world_settle(world);
    }
    ck_assert_uint_eq(early_stats(world, 1)->early_corrected, 0);
    ck_assert_uint_eq(early_stats(world, 0)->early_dropped, 0);
    case_close(world);
}
END_TEST

/* Many messages from one memory at once, as benchmarks send them: each put takes the early data
 * that its receive has claimed, and no other. */
START_TEST(one_memory_sent_many_times)
{
    enum { MESSAGES = 3 * RBUF_EARLY_SLOTS, BYTES = 50000 };
    static unsigned char source[BYTES];
    struct world *world = early_open_arriving(_i);
    struct world_message *messages[MESSAGES];
    struct rbuf_offer offers[MESSAGES];

    for (unsigned i = 0; i < MESSAGES; i++) {
        messages[i] = early_hold_from(world, source, BYTES, 7);
        offers[i] = early_grant(world, messages[i], early_newest(world));
    }
    for (unsigned i = 0; i < MESSAGES; i++) {
        early_put_from(world, messages[i], &offers[i], source);
    }
    case_run(world);
    world_settle(world);
    ck_assert_uint_eq(early_stats(world, 1)->early_claimed, RBUF_EARLY_SLOTS);
    early_sent_once(world, (2 + MESSAGES) * (uint64_t) BYTES);
    case_close(world);
}
END_TEST

/* Memory is read in the next progress or by the put: a message may end without one. */
START_TEST(reading_is_now_or_never)
{
    struct world_options options = world_defaults();
    struct world *world = early_open(&options);
    struct rbuf_core *core = &world->nodes[0].core;
    struct rbuf_peer *peer = early_sender(world);
    unsigned char *buffer = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct world_message *message;
    uint64_t now;

    ck_assert_ptr_ne(buffer, MAP_FAILED);
    world_send(world, WORLD_PUT, 0, 1, 5000000);
    /* This one goes first, and takes all of the next turns. */
    while (inspect_puts_begun(peer) == 0) {
        ck_assert(sim_step(&world->net.clock));
    }
    message = world_begin(world, WORLD_PUT, 0, 1, 1 << 20);
    free(message->source);
    message->source = buffer;
    world->options.late = 1;
    while (!STAILQ_EMPTY(&world->nodes[0].beginning)) {
        ck_assert(sim_step(&world->net.clock));
    }
    message->source = NULL;
    for (now = core->now_ns; core->now_ns == now;) {
        ck_assert(sim_step(&world->net.clock));
    }
    ck_assert_int_eq(munmap(buffer, 1 << 20), 0);
    world_settle(world);
    ck_assert(!inspect_writes_early(peer));
    ck_assert_ptr_eq(world->nodes[1].unexpected, message);
    world_close(world);
}
END_TEST

/* Who does not speak for long, has no room, has no credits: early data are as right as any. */
START_TEST(little_of_everything)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct world_options options = case_busy();
        struct sim_random random = {seed};
        struct world *world;

        options.core.arrival = early_arrivals[_i];
        options.core.early.slot_blocks = 4;
        options.core.early.peers = 1;
        options.faults.seed = seed;
        options.faults.small_delay_ns = 20000;
        options.faults.completion_delay_ns = 20000;
        options.late = 1 + seed % 4;
        options.aside = seed % 2 == 0;
        world = world_open(&options);
        for (unsigned i = 0; i < 200; i++) {
            const enum world_kind kind =
                sim_random_below(&random, 4) == 0 ? WORLD_PACKED : WORLD_PUT;

            world_send(world, kind, i % 2, 1 - i % 2, 1 + sim_random_size(&random, 60000));
            if (i % 20 == 19) {
                case_expect_all(world);
            }
        }
        case_run(world);
        case_close(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early");

    unit_add(suite, windows_are_for_who_sends);
    unit_add(suite, windows_need_room);
    unit_add_loop(suite, all_lengths, EARLY_ARRIVALS);
    unit_add_loop(suite, a_chunk_for_each_length, EARLY_ARRIVALS);
    unit_add_loop(suite, more_messages_than_slots, EARLY_ARRIVALS);
    unit_add_loop(suite, one_memory_sent_many_times, EARLY_ARRIVALS);
    unit_add(suite, reading_is_now_or_never);
    unit_add_loop(suite, little_of_everything, EARLY_ARRIVALS);
    return unit_run(suite);
}
