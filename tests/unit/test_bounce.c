/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Adapters that take little or nothing inline: what core itself sends goes by bounce buffers, of
 * which there are few. The simulated adapter reads what is not inline late, so that a bounce buffer
 * that was used again too early would show.
 */
#include "case.h"

#include "core/eager/channel.h"

#include <stddef.h>

/* Inline room: none, less than a word, a word, a header, as much as irdma and bnxt_re have, and one
 * byte less than all of core's own messages want. */
static const uint32_t rooms[] = {0, 7, 8, 24, 48, 96, 101, RBUF_INLINE_ENOUGH - 1};

enum { ROOMS = sizeof(rooms) / sizeof(rooms[0]) };

static struct world_options narrow(uint32_t inline_max, unsigned bounces)
{
    struct world_options options = case_busy();

    options.nodes = 3;
    options.inline_max = inline_max;
    options.bounces = bounces;
    options.faults = (struct sim_faults){
        .seed = inline_max + 1, .late_read = true, .completion_delay_ns = 20000};
    return options;
}

static void send_mixture(struct world *world, struct sim_random *random, int count)
{
    static const enum world_kind kinds[] = {WORLD_EAGER, WORLD_PUT,    WORLD_WRITE,  WORLD_READ,
                                            WORLD_ADD,   WORLD_DIRECT, WORLD_PACKED, WORLD_GET};

    while (count-- > 0) {
        const enum world_kind kind = kinds[sim_random_below(random, 8)];
        const unsigned from = (unsigned) sim_random_below(random, 3);
        const unsigned to = (from + 1 + (unsigned) sim_random_below(random, 2)) % 3;

        world_send(world, kind, from, to,
                   1 + sim_random_size(random, kind == WORLD_EAGER ? 15000 : 100000));
    }
}

static uint64_t words_and_messages(const struct world *world)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < 3; i++) {
        const struct rbuf_stats *stats = &world->nodes[i].core.stats;

        sum += stats->credits_written + stats->acks_written + stats->grants_deferred;
    }
    return sum;
}

START_TEST(little_goes_inline)
{
    for (unsigned bounces = 1; bounces <= 4; bounces += 3) {
        struct world_options options = narrow(rooms[_i], bounces);
        struct sim_random random = {(uint64_t) (100 * _i) + bounces};
        struct world *world = world_open(&options);

        send_mixture(world, &random, 400);
        case_run(world);
        ck_assert_uint_gt(words_and_messages(world), 50);
        case_settle(world);
        for (unsigned i = 0; i < 3; i++) { /* all are back */
            for (unsigned j = 0; j < bounces; j++) {
                ck_assert_ptr_nonnull(rbuf_bounce_take(&world->nodes[i].core.bounces));
            }
            ck_assert_ptr_null(rbuf_bounce_take(&world->nodes[i].core.bounces));
        }
        world_close(world);
    }
}
END_TEST

/* Where everything fits into a request there are none, and none is asked for. */
START_TEST(enough_goes_inline)
{
    struct world_options options = narrow(RBUF_INLINE_ENOUGH, 1);
    struct sim_random random = {7};
    struct world *world = world_open(&options);

    ck_assert_ptr_null(SLIST_FIRST(&world->nodes[0].core.bounces.free));
    send_mixture(world, &random, 400);
    case_run(world);
    case_close(world);
}
END_TEST

/* Queue pairs that die with bounce buffers under way: these come back, and serve the other peers.
 */
START_TEST(a_peer_dies)
{
    for (uint64_t at = 1; at <= 60; at += 3) {
        struct world_options options = narrow(rooms[_i], 2);
        struct sim_random random = {at};
        struct world *world;

        options.faults.fail_at = at;
        options.faults.fail_operation = SIM_WRITE;
        world = world_open(&options);
        send_mixture(world, &random, 60);
        (void) world_run(world);
        world_settle(world);
        for (unsigned i = 0; i < 3; i++) {
            ck_assert_ptr_nonnull(rbuf_bounce_take(&world->nodes[i].core.bounces));
            ck_assert_ptr_nonnull(rbuf_bounce_take(&world->nodes[i].core.bounces));
        }
        world_close(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bounce");

    unit_add_loop(suite, little_goes_inline, ROOMS);
    unit_add(suite, enough_goes_inline);
    unit_add_loop(suite, a_peer_dies, ROOMS);
    return unit_run(suite);
}
