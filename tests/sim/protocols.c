/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The protocols side by side (protocols.h): each kind of message simulated once, then the program
 * played through them. */
#include "protocols.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "core/choice/default.h"

#define BLOCK      4096u
#define FIRST_BASE UINT64_C(0x10000000)

/* Defaults of btl_rbuf_registration_time and btl_rbuf_registration_page_time, ns. */
#define ASSUMED_NS      30000u
#define ASSUMED_PAGE_NS 150u

struct sim_protocol_bench {
    struct rbuf_plan plan;
    const struct rbuf_plan *pipeline;
    struct sim_measure *early; /* blocks of the plan, and its early data */
    struct sim_measure *plain; /* blocks of BLOCK bytes, no early data */
};

const char *sim_protocol_name(enum sim_protocol protocol)
{
    static const char *const names[] = {"superpipeline", "pipeline", "copy",
                                        "register",      "rcache",   "auto"};

    return names[protocol];
}

struct sim_protocol_bench *sim_protocol_open(const struct rbuf_machine *machine,
                                             const struct rbuf_plan *plan,
                                             const struct rbuf_plan *pipeline, uint64_t most)
{
    struct sim_protocol_bench *bench = sim_allocate(sizeof(*bench));
    const uint32_t block = plan->schedule.block_bytes;

    bench->plan = *plan;
    bench->pipeline = pipeline;
    bench->early = sim_measure_open_early(machine, block, most, plan->early_blocks * block);
    bench->plain = sim_measure_open(machine, BLOCK, most);
    return bench;
}

void sim_protocol_close(struct sim_protocol_bench *bench)
{
    sim_measure_close(bench->early);
    sim_measure_close(bench->plain);
    free(bench);
}

/* Chunks of one size, with as much early data as the superpipeline has. A window is leased with its
 * chunks, so that each size has a simulator of its own. */
static double measure_pipeline(const struct sim_protocol_bench *bench, uint64_t bytes)
{
    const struct rbuf_machine *machine = sim_measure_machine(bench->plain);
    const uint32_t block = bench->plan.schedule.block_bytes;
    struct sim_measure *early = sim_measure_open_early(machine, block, bytes + 4096 * BLOCK,
                                                       bench->plan.early_blocks * block);
    struct rbuf_plan plan =
        bench->pipeline != NULL ? *bench->pipeline : rbuf_plan_pipeline(machine, bytes, block);
    double time;

    plan.arrival = RBUF_ARRIVAL_CHUNK;
    plan.rendezvous = RBUF_RENDEZVOUS_EARLY;
    plan.early_blocks = bench->plan.early_blocks;
    time = sim_measure_staged(early, &plan, bytes);
    sim_measure_close(early);
    return time;
}

static void measure_static(struct sim_protocol_bench *bench, struct sim_protocol_times *times)
{
    const uint64_t bytes = times->bytes;
    struct rbuf_plan copy = rbuf_plan_copy(bytes, BLOCK);

    copy.rendezvous = RBUF_RENDEZVOUS_SERIAL;
    times->fixed[SIM_COPY] = sim_measure_staged(bench->plain, &copy, bytes);
    times->fixed[SIM_PIPELINE] = measure_pipeline(bench, bytes);
    times->cached[false] =
        sim_measure_in_place(bench->plain, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_SERIAL, bytes);
    times->cached[true] =
        sim_measure_in_place(bench->plain, RBUF_REGISTERED_NONE, RBUF_RENDEZVOUS_SERIAL, bytes);
    times->fixed[SIM_REGISTER] = times->cached[false];
}

static enum rbuf_registered registered(enum sim_buffer_way receiver, enum sim_buffer_way sender)
{
    if (receiver == SIM_REGISTERED_NOW) {
        return sender == SIM_REGISTERED_NOW ? RBUF_REGISTERED_BOTH : RBUF_REGISTERED_RECEIVER;
    }
    return sender == SIM_REGISTERED_NOW ? RBUF_REGISTERED_SENDER : RBUF_REGISTERED_NONE;
}

static void measure_in_place(struct sim_protocol_bench *bench, enum sim_expected expected,
                             struct sim_protocol_times *times)
{
    for (enum sim_buffer_way to = SIM_REGISTERED_NOW; to < SIM_BUFFER_WAYS; to++) {
        for (enum sim_buffer_way from = SIM_COPIED; from < SIM_BUFFER_WAYS; from++) {
            (void) sim_measure_auto_in_place(bench->early, expected, registered(to, from),
                                             from == SIM_COPIED, times->bytes);
            times->in_place[expected][to][from] = sim_measure_last(bench->early);
        }
    }
}

struct sim_protocol_times sim_protocol_times(struct sim_protocol_bench *bench, uint64_t bytes)
{
    struct sim_protocol_times times = {
        .bytes = bytes,
        .registration = rbuf_model_registration(sim_measure_machine(bench->plain), bytes)};

    measure_static(bench, &times);
    times.fixed[SIM_SUPERPIPELINE] = sim_measure_staged(bench->early, &bench->plan, bytes);
    times.staged[SIM_EXPECTS_STAGING] = sim_measure_last(bench->early);
    (void) sim_measure_auto_staged(bench->early, &bench->plan, bytes);
    times.staged[SIM_EXPECTS_IN_PLACE] = sim_measure_last(bench->early);
    for (enum sim_expected expected = 0; expected < SIM_EXPECTATIONS; expected++) {
        measure_in_place(bench, expected, &times);
    }
    return times;
}

bool sim_default_is_auto(const struct rbuf_machine *machine)
{
    return rbuf_default_is_auto(
        (uint64_t) (1000 * rbuf_copy_speed_at(&machine->send_copy, RBUF_DEFAULT_MEMORY)),
        (uint64_t) (1000 * machine->bytes_per_ns));
}

/* ---- a program ---- */

struct sim_program *sim_program_open(const struct sim_protocol_times *times, uint64_t seed)
{
    const struct rbuf_choice_options options = {
        .cache = true, .registration_ns = ASSUMED_NS, .registration_page_ns = ASSUMED_PAGE_NS};
    struct sim_program *program = sim_allocate(sizeof(*program));

    memset(program, 0, sizeof(*program));
    program->times = times;
    program->random.state = seed;
    for (unsigned end = 0; end < SIM_ENDS; end++) {
        rbuf_choice_open(&program->choice[end], &options);
    }
    return program;
}

void sim_program_close(struct sim_program *program)
{
    free(program);
}

static uint64_t base_of(const struct sim_program *program, enum rbuf_side side, unsigned buffer)
{
    return FIRST_BASE + (side * (SIM_POOL + 1u) + buffer) * 2 * program->times->bytes;
}

/* mca_btl_rbuf_auto_decide(), without the time that it takes. */
static enum sim_buffer_way decide(struct sim_program *program, enum rbuf_side side, unsigned buffer,
                                  bool *is_sample)
{
    struct rbuf_choice *choice = &program->choice[side];
    bool *held = &program->held[side][buffer];
    struct rbuf_choice_request request = {.side = side,
                                          .base = base_of(program, side, buffer),
                                          .bytes = program->times->bytes,
                                          .cached = RBUF_CACHED_AS_LEFT};
    struct rbuf_choice_decision decision;

    if (rbuf_choice_wants_lookup(choice, &request)) {
        request.cached = *held ? RBUF_CACHED_YES : RBUF_CACHED_NO;
    }
    decision = rbuf_choice_decide(choice, &request);
    *is_sample = decision.is_sample;
    if (decision.path == RBUF_PATH_COPY) {
        return SIM_COPIED;
    }
    if (*held) {
        return SIM_HELD;
    }
    *held = true;
    rbuf_choice_registered(choice, decision.base, decision.bytes,
                           (uint64_t) program->times->registration);
    return SIM_REGISTERED_NOW;
}

static enum rbuf_path path_of(enum sim_buffer_way way)
{
    return way == SIM_COPIED ? RBUF_PATH_COPY : RBUF_PATH_IN_PLACE;
}

/* The receiver decides, then, if it is in place, the sender. Both learn how long it took. */
static double choose(struct sim_program *program, unsigned buffer)
{
    const struct sim_protocol_times *times = program->times;
    struct rbuf_choice *receiver = &program->choice[RBUF_SIDE_RECEIVE];
    struct rbuf_choice *sender = &program->choice[RBUF_SIDE_SEND];
    const enum sim_expected expected =
        rbuf_choice_expects_in_place(sender, base_of(program, RBUF_SIDE_SEND, buffer))
            ? SIM_EXPECTS_IN_PLACE
            : SIM_EXPECTS_STAGING;
    const struct sim_message_times *took = &times->staged[expected];
    bool to_sample, from_sample;
    const enum sim_buffer_way to = decide(program, RBUF_SIDE_RECEIVE, buffer, &to_sample);

    if (to == SIM_COPIED) {
        rbuf_choice_sent_staged(sender, base_of(program, RBUF_SIDE_SEND, buffer), times->bytes,
                                (uint64_t) took->sender);
    } else {
        const enum sim_buffer_way from = decide(program, RBUF_SIDE_SEND, buffer, &from_sample);

        took = &times->in_place[expected][to][from];
        rbuf_choice_took(sender, RBUF_SIDE_SEND, path_of(from), from_sample, times->bytes,
                         (uint64_t) took->sender);
        program->in_place++;
    }
    rbuf_choice_took(receiver, RBUF_SIDE_RECEIVE, path_of(to), to_sample, times->bytes,
                     (uint64_t) took->receiver);
    return took->whole;
}

static void release(struct sim_program *program, unsigned buffer)
{
    for (enum rbuf_side side = RBUF_SIDE_RECEIVE; side < SIM_ENDS; side++) {
        rbuf_choice_release(&program->choice[side], base_of(program, side, buffer),
                            program->times->bytes);
        program->held[side][buffer] = false;
    }
}

void sim_program_message(struct sim_program *program, unsigned percent)
{
    const bool again = sim_random_below(&program->random, 100) < percent;
    const unsigned buffer =
        again ? (unsigned) sim_random_below(&program->random, SIM_POOL) : SIM_FRESH;

    program->messages++;
    for (enum sim_protocol i = 0; i < SIM_RCACHE; i++) {
        program->took[i] += program->times->fixed[i];
    }
    program->took[SIM_RCACHE] += program->times->cached[again && program->cached[buffer]];
    if (again) {
        program->cached[buffer] = true;
    }
    program->took[SIM_AUTO] += choose(program, buffer);
    if (!again) {
        release(program, buffer);
    }
}

void sim_program_restart(struct sim_program *program)
{
    memset(program->took, 0, sizeof(program->took));
    program->messages = program->in_place = 0;
}

enum sim_protocol sim_program_best(const struct sim_program *program)
{
    enum sim_protocol best = 0;

    for (enum sim_protocol i = 0; i < SIM_STATIC_PROTOCOLS; i++) {
        best = program->took[i] < program->took[best] ? i : best;
    }
    return best;
}
