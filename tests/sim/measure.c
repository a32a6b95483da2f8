/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Simulated times of single messages: the world of each, and what a run of it takes. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define WARM_UPS 10u /* messages until a window must have been leased */

struct sim_measure {
    struct world *world;
    struct rbuf_machine machine;
    struct sim_message_times last;
};

static struct world_options options_for(const struct rbuf_machine *machine, uint32_t block_bytes,
                                        uint64_t most)
{
    struct world_options options = world_defaults();
    uint64_t blocks = most / (block_bytes - RBUF_FLAG_BYTES) + 2;

    options.model = (struct sim_model){.bytes_per_ns = machine->bytes_per_ns,
                                       .latency_ns = (uint64_t) llround(machine->latency_ns),
                                       .gap_ns = (uint64_t) llround(machine->gap_ns),
                                       .packet_bytes = machine->packet_bytes};
    options.core.schedule.block_bytes = block_bytes;
    options.core.quantum = machine->pass_bytes;
    options.core.ring.slots = 0;  /* the messages of a rendezvous go over send/receive */
    options.core.early.peers = 0; /* but for sim_measure_open_early() */
    options.send_bytes = options.receive_bytes = 2 * blocks * block_bytes;
    options.send_copy = machine->send_copy;
    options.receive_copy = machine->receive_copy;
    options.block_ns = (uint64_t) llround(machine->block_ns);
    options.register_ns = (uint64_t) llround(machine->register_ns);
    options.register_page_ns = (uint64_t) llround(machine->register_page_ns);
    options.poll_ns = (uint64_t) llround(machine->pass_ns);
    options.post_ns = (uint64_t) llround(machine->overhead_ns);
    return options;
}

/* A header of the peer says that words of ours are placed there in order. */
static void hear_of_order(struct rbuf_peer *peer)
{
    rbuf_credit_received(peer, (uint16_t[RBUF_COUNTS]){[RBUF_COUNTED] = RBUF_COUNTED_IN_ORDER});
    rbuf_credit_learn_order(peer);
}

static struct sim_measure *open_with(const struct rbuf_machine *machine,
                                     const struct world_options *options)
{
    struct sim_measure *measure = sim_allocate(sizeof(*measure));
    double message_ns = machine->overhead_ns + world_control_bytes() / machine->bytes_per_ns;

    measure->world = world_open(options);
    measure->machine = *machine;
    measure->machine.rendezvous_ns = 2 * message_ns;
    measure->machine.finish_ns = message_ns;
    measure->machine.control_bytes = world_control_bytes();
    for (unsigned i = 0; i < options->nodes; i++) { /* as after any message of Open MPI's */
        hear_of_order(measure->world->nodes[i].links[1 - i].peer);
    }
    return measure;
}

struct rbuf_plan sim_tuned_plan(const struct rbuf_machine *machine, enum rbuf_rendezvous rendezvous)
{
    const struct rbuf_objective aim = {.smallest = 16ull << 10,
                                       .largest = 16ull << 20,
                                       .staging_bytes = 4ull << 20,
                                       .rendezvous = rendezvous,
                                       .early_bytes = SIM_EARLY_BYTES,
                                       .opening_bytes = SIM_OPENING_BYTES};
    struct rbuf_plan plan;

    rbuf_model_choose(machine, &aim, &plan);
    return plan;
}

struct sim_measure *sim_measure_open(const struct rbuf_machine *machine, uint32_t block_bytes,
                                     uint64_t most)
{
    struct world_options options = options_for(machine, block_bytes, most);

    return open_with(machine, &options);
}

struct sim_measure *sim_measure_open_early(const struct rbuf_machine *machine, uint32_t block_bytes,
                                           uint64_t most, uint32_t early_bytes)
{
    struct world_options options = options_for(machine, block_bytes, most);

    options.core.schedule.first_blocks = 1; /* any plan's is no less */
    options.core.early = (struct rbuf_early_options){
        .peers = 1,
        .slot_blocks = (early_bytes + block_bytes - 1) / block_bytes,
        .opening_blocks = (uint16_t) ((SIM_OPENING_BYTES + block_bytes - 1) / block_bytes)};
    return open_with(machine, &options);
}

void sim_measure_close(struct sim_measure *measure)
{
    world_close(measure->world);
    free(measure);
}

const struct rbuf_machine *sim_measure_machine(const struct sim_measure *measure)
{
    return &measure->machine;
}

static double run(struct sim_measure *measure, enum world_kind kind, uint64_t bytes)
{
    struct world *world = measure->world;
    struct world_message *message = world_begin(world, kind, 0, 1, bytes);
    const char *left;

    if (world_run(world) != WORLD_DONE || message->state != WORLD_ARRIVED) {
        fprintf(stderr, "a message of %llu bytes did not arrive\n", (unsigned long long) bytes);
        exit(EXIT_FAILURE);
    }
    world_settle(world);
    left = world_leftover(world);
    if (left != NULL) {
        fprintf(stderr, "after a message of %llu bytes: %s\n", (unsigned long long) bytes, left);
        exit(EXIT_FAILURE);
    }
    measure->last = (struct sim_message_times){
        .whole = (double) (message->arrived_ns - message->started_ns),
        .receiver = (double) (message->arrived_ns - message->offered_ns),
        .sender = (double) (message->put_ended_ns - message->put_ns),
    };
    return measure->last.whole;
}

static void set_plan(struct world *world, const struct rbuf_plan *plan)
{
    for (unsigned i = 0; i < world->options.nodes; i++) {
        world->nodes[i].core.options.schedule = plan->schedule;
        world->nodes[i].core.options.arrival = plan->arrival;
    }
}

static double run_staged(struct sim_measure *measure, const struct rbuf_plan *plan, uint64_t bytes)
{
    struct world *world = measure->world;

    set_plan(world, plan);
    world->options.prestage = plan->rendezvous == RBUF_RENDEZVOUS_OVERLAPPED;
    return run(measure, plan->rendezvous == RBUF_RENDEZVOUS_NONE ? WORLD_STAGED : WORLD_PUT, bytes);
}

/* Messages whose early data node 1 has taken up. */
static uint64_t early(const struct world *world)
{
    return world->nodes[1].core.stats.early_claimed;
}

static double run_early(struct sim_measure *measure, const struct rbuf_plan *plan, uint64_t bytes)
{
    const struct world *world = measure->world;
    struct rbuf_plan plain = *plan;
    uint64_t before;
    double time;

    plain.schedule.opening_blocks = 0; /* the window has one of its own */
    plain.rendezvous = RBUF_RENDEZVOUS_SERIAL;
    for (unsigned i = 0; i < WARM_UPS && early(world) == 0; i++) {
        (void) run_staged(measure, &plain, bytes); /* a window is leased to who sends */
    }
    before = early(world);
    time = run_staged(measure, &plain, bytes);
    if (early(world) != before + 1) {
        fprintf(stderr, "a message of %llu bytes had no early data\n", (unsigned long long) bytes);
        exit(EXIT_FAILURE);
    }
    return time;
}

double sim_measure_staged(struct sim_measure *measure, const struct rbuf_plan *plan, uint64_t bytes)
{
    return plan->rendezvous == RBUF_RENDEZVOUS_EARLY ? run_early(measure, plan, bytes)
                                                     : run_staged(measure, plan, bytes);
}

double sim_measure_in_place(struct sim_measure *measure, enum rbuf_registered registered,
                            enum rbuf_rendezvous rendezvous, uint64_t bytes)
{
    struct world *world = measure->world;

    world->options.registered = registered;
    world->options.prestage = rendezvous == RBUF_RENDEZVOUS_OVERLAPPED;
    return run(measure, rendezvous == RBUF_RENDEZVOUS_NONE ? WORLD_RAW : WORLD_DIRECT, bytes);
}

struct sim_message_times sim_measure_last(const struct sim_measure *measure)
{
    return measure->last;
}

/* Runs a message that has early data, or none if its sender expects no use of them. */
static double run_expecting(struct sim_measure *measure, enum sim_expected expected,
                            enum world_kind kind, uint64_t bytes)
{
    struct world *world = measure->world;
    const uint64_t *sent = &world->nodes[0].core.stats.early_sent;
    uint64_t before;
    double time;

    world->options.prestage = false;
    world->options.early = WORLD_EARLY_ALL;
    for (unsigned i = 0; i < WARM_UPS && *sent == 0; i++) {
        (void) run(measure, kind, bytes); /* a window is leased to who sends */
    }
    world->options.early = expected == SIM_EXPECTS_IN_PLACE ? WORLD_EARLY_NONE : WORLD_EARLY_ALL;
    before = *sent;
    time = run(measure, kind, bytes);
    world->options.early = WORLD_EARLY_PUTS;
    if (*sent != before + (expected == SIM_EXPECTS_STAGING)) {
        fprintf(stderr, "a message of %llu bytes had other early data than expected\n",
                (unsigned long long) bytes);
        exit(EXIT_FAILURE);
    }
    return time;
}

double sim_measure_auto_in_place(struct sim_measure *measure, enum sim_expected expected,
                                 enum rbuf_registered registered, bool copied, uint64_t bytes)
{
    measure->world->options.registered = registered;
    return run_expecting(measure, expected, copied ? WORLD_COPIED : WORLD_DIRECT, bytes);
}

double sim_measure_auto_staged(struct sim_measure *measure, const struct rbuf_plan *plan,
                               uint64_t bytes)
{
    struct rbuf_plan plain = *plan;

    plain.schedule.opening_blocks = 0; /* the window has one of its own */
    set_plan(measure->world, &plain);
    return run_expecting(measure, SIM_EXPECTS_IN_PLACE, WORLD_PUT, bytes);
}
