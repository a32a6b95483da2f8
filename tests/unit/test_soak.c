/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Worlds made at random, traffic at random, now and then a death. RBUF_SOAK=seconds makes it
 * longer, RBUF_SEED=number starts at that seed; a failure names the seed that repeats it.
 */
#include <time.h>

#include "case.h"
#include "unit.h"

#define SHORT_SECONDS 5

static uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* The network, and what goes wrong on it. */
static void random_network(struct world_options *options, struct sim_random *random)
{
    options->model.bytes_per_ns = 0.5 + (double) sim_random_below(random, 100) / 10;
    options->model.latency_ns = sim_random_below(random, 5000);
    options->model.gap_ns = sim_random_below(random, 600);
    options->model.packet_bytes = 512u << sim_random_below(random, 4);
    options->faults.seed = sim_random_next(random);
    options->faults.completion_delay_ns = sim_random_size(random, 30000);
    options->faults.jitter_ns = sim_random_size(random, 5000);
    options->faults.small_delay_ns = sim_random_size(random, 50000);
    options->faults.late_read = sim_random_below(random, 2);
    options->faults.overtake_ns = sim_random_below(random, 3) == 0 ? 20000 : 0;
    options->faults.refuse_when_dead = sim_random_below(random, 2);
}

static void random_schedule(struct rbuf_schedule *schedule, struct sim_random *random)
{
    const uint32_t growths[] = {RBUF_GROWTH_ONE, RBUF_GROWTH_ONE * 5 / 4, RBUF_GROWTH_ONE * 3 / 2,
                                RBUF_GROWTH_ONE * 3};

    schedule->block_bytes = 64u << sim_random_below(random, 8);
    schedule->growth = growths[sim_random_below(random, 4)];
    schedule->first_blocks = (uint16_t) (1 + sim_random_below(random, 4));
    schedule->buffer_blocks = (uint16_t) (schedule->first_blocks + sim_random_size(random, 60));
    schedule->buffers = (uint8_t) (1 + sim_random_below(random, 5));
    schedule->taper = (uint8_t) sim_random_below(random, 2);
}

/* How arrivals are seen; rings, early data and the order of bytes that go with that. */
static void random_arrival(struct world_options *options, struct sim_random *random)
{
    options->core.arrival = (enum rbuf_arrival) sim_random_below(random, 3);
    options->core.ring = (struct rbuf_ring_options){
        .slots = (uint32_t) (2 + sim_random_below(random, 63)),
        .slot_bytes = (uint32_t) (64 * (2 + sim_random_below(random, 100))),
        .set = (uint32_t) sim_random_below(random, 5),
        .threshold = (uint32_t) (1 + sim_random_below(random, 10)),
        .longest =
            (uint32_t) sim_random_below(random, 2) * (uint32_t) sim_random_size(random, 20000)};
    options->core.early =
        (struct rbuf_early_options){.peers = (uint32_t) sim_random_below(random, 4),
                                    .slot_blocks = (uint32_t) (1 + sim_random_below(random, 30))};
    if (options->core.arrival >= RBUF_ARRIVAL_IMMEDIATE) {
        options->faults.order = (enum sim_order) sim_random_below(random, 3);
    }
    if (options->core.arrival == RBUF_ARRIVAL_IMMEDIATE) {
        options->core.ring.slots = 0; /* rings need the order of a write's bytes, or checksums */
    }
}

static struct world_options random_options(struct sim_random *random)
{
    struct world_options options = world_defaults();
    struct rbuf_schedule *schedule = &options.core.schedule;
    uint64_t lane;

    options.nodes = 2 + (unsigned) sim_random_below(random, RBUF_ARRIVALS);
    random_network(&options, random);
    random_schedule(schedule, random);
    random_arrival(&options, random);
    options.core.quantum = (uint32_t) sim_random_size(random, 100000);
    options.core.window[0] = (uint16_t) sim_random_size(random, 64);
    options.core.window[1] = (uint16_t) sim_random_size(random, 64);
    options.ring_memory = (unsigned) sim_random_below(random, WORLD_RINGS_MAX + 1);
    options.core.max_message = (uint32_t) (100000 + sim_random_size(random, 1000000));
    lane = (uint64_t) schedule->block_bytes * schedule->buffer_blocks;
    options.send_bytes = lane * (1 + sim_random_below(random, 4));
    options.receive_bytes = lane * schedule->buffers * (1 + sim_random_below(random, 3));
    options.depth = (uint32_t) (4 + sim_random_size(random, 124));
    options.room = (uint32_t) (1 + sim_random_size(random, 300));
    options.inline_max = (uint32_t[]){128, 0, 96}[sim_random_below(random, 3)];
    options.followers = (unsigned) sim_random_below(random, 3);
    options.prestage = false; /* for messages that are sent alone: a chunk waits in staging */
    options.packed_early = sim_random_below(random, 4) > 0;
    options.fragment_bytes = (uint32_t) (1000 + sim_random_size(random, 15000));
    options.late = (unsigned) sim_random_below(random, 6);
    options.aside = sim_random_below(random, 2) == 0;
    options.core.rma_order = (enum rbuf_rma_order) sim_random_below(random, RBUF_RMA_BOTH + 1);
    if (sim_random_below(random, 3) == 0) {
        options.core.grant_wait_ns = 1 + sim_random_size(random, 200000);
        options.refuse_registration = sim_random_below(random, 4) == 0;
        options.tick_ns = 20000;
    }
    return options;
}

/* Messages of any length, or, which mixes more of them up, of a few. */
static uint64_t random_bytes(struct sim_random *random, uint64_t most, unsigned few)
{
    static const uint64_t lengths[] = {9000, 15000, 100000};

    return few > 0 ? lengths[sim_random_below(random, few)] : sim_random_size(random, most);
}

static void send_some(struct world *world, struct sim_random *random, unsigned count)
{
    unsigned nodes = world->options.nodes;
    unsigned few = (unsigned) sim_random_below(random, 4);

    while (count-- > 0) {
        static const enum world_kind kinds[] = {WORLD_EAGER,  WORLD_PUT,    WORLD_WRITE,
                                                WORLD_READ,   WORLD_ADD,    WORLD_DIRECT,
                                                WORLD_COPIED, WORLD_PACKED, WORLD_GET};
        enum world_kind kind = kinds[sim_random_below(random, sizeof(kinds) / sizeof(kinds[0]))];
        unsigned from = (unsigned) sim_random_below(random, nodes);
        unsigned to = (from + 1 + (unsigned) sim_random_below(random, nodes - 1)) % nodes;
        uint64_t most = kind == WORLD_EAGER ? 16000 : 400000;

        world_send(world, kind, from, to, random_bytes(random, most, kind == WORLD_PUT ? few : 0));
    }
}

/* Asks for the messages that nobody expected. False if there is none. */
static bool expect_all(struct world *world)
{
    bool any = false;

    for (unsigned node = 0; node < world->options.nodes; node++) {
        if (world->nodes[node].unexpected != NULL) {
            world_expect(world, node);
            any = true;
        }
    }
    return any;
}

/* Until all messages have arrived: those that nobody expected wait for the next one, if there is
 * any. */
static enum world_outcome run_all(struct world *world)
{
    enum world_outcome outcome;

    do {
        outcome = world_run(world);
    } while (outcome != WORLD_DONE && expect_all(world));
    return outcome;
}

static void live(uint64_t seed)
{
    struct sim_random random = {seed};
    struct world_options options = random_options(&random);
    struct world *world = world_open(&options);
    bool deadly = sim_random_below(&random, 4) == 0;
    enum world_outcome outcome = WORLD_DONE;
    const char *left;

    if (deadly) {
        world->nodes[0].links[1].end[sim_random_below(&random, 2)].die_after =
            1 + sim_random_below(&random, 300);
    }
    for (int round = 0; round < 4 && outcome == WORLD_DONE; round++) {
        send_some(world, &random, 10 + (unsigned) sim_random_below(&random, 60));
        for (uint64_t steps = sim_random_below(&random, 2000); steps > 0; steps--) {
            sim_step(&world->net.clock);
        }
        if (sim_random_below(&random, 2) == 0) {
            world_compute(world, (unsigned) sim_random_below(&random, options.nodes),
                          sim_random_size(&random, 1000000));
        }
        outcome = run_all(world);
    }
    ck_assert_msg(outcome == WORLD_DONE, "RBUF_SEED=%llu: deadlock, %u messages open",
                  (unsigned long long) seed, world->open);
    world_settle(world);
    left = world_leftover(world);
    ck_assert_msg(left == NULL, "RBUF_SEED=%llu: %s", (unsigned long long) seed, left);
    ck_assert_msg(deadly || world->failed == 0, "RBUF_SEED=%llu: a peer was lost",
                  (unsigned long long) seed);
    world_close(world);
}

START_TEST(soak)
{
    uint64_t seconds = environment("RBUF_SOAK", SHORT_SECONDS);
    uint64_t first = environment("RBUF_SEED", 1), seed = first;
    time_t end = time(NULL) + (time_t) seconds;

    do {
        live(seed++);
    } while (time(NULL) < end);
    printf("%llu worlds from seed %llu on\n", (unsigned long long) (seed - first),
           (unsigned long long) first);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("soak");
    TCase *one = unit_add_named(suite, soak, "soak");

    tcase_set_timeout(one, UNIT_TIMEOUT_S + (double) environment("RBUF_SOAK", SHORT_SECONDS));
    return unit_run(suite);
}
