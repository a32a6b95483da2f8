/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* Plays a program of messages through both sides' choice, and adds up what it costs. */
#include "programs.h"

#include "softhca/profile_figures.h"
#include "unit.h"

/* Copies are fast and hidden behind the wire: registration as on graphene. */
const struct machine slow_network = {.wire_kb = 715,
                                     .in_place = 12000,
                                     .staged_kb = 715,
                                     .staged = 7000,
                                     .copied_kb = 715,
                                     .copied = 12500,
                                     .registering = SOFTHCA_GRAPHENE_REG,
                                     .page = SOFTHCA_GRAPHENE_REG_PAGE,
                                     .noise = 3};
/* Copies are barely as fast as the wire: registration as on roce40. */
const struct machine even_network = {.wire_kb = 230,
                                     .in_place = 9000,
                                     .staged_kb = 300,
                                     .staged = 8000,
                                     .copied_kb = 255,
                                     .copied = 10000,
                                     .registering = SOFTHCA_ROCE40_REG,
                                     .page = SOFTHCA_ROCE40_REG_PAGE,
                                     .noise = 3};
/* Copies are what takes the time. */
const struct machine fast_network = {.wire_kb = 42,
                                     .in_place = 6000,
                                     .staged_kb = 100,
                                     .staged = 7000,
                                     .copied_kb = 70,
                                     .copied = 7000,
                                     .registering = 16000,
                                     .page = 60,
                                     .noise = 3};

uint32_t program_draw(struct program *program)
{
    program->seed = program->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (program->seed >> 33);
}

struct program *program_open(const struct machine *machine, bool cache)
{
    struct program *program = calloc(1, sizeof(*program));

    program->machine = machine;
    program->seed = 7;
    program->without_cache = !cache;
    for (unsigned i = 0; i < ENDS; i++) {
        const struct rbuf_choice_options options = {
            .cache = cache, .registration_ns = 30000, .registration_page_ns = 150};

        program->process[i] = calloc(1, sizeof(struct process));
        rbuf_choice_open(&program->process[i]->choice, &options);
    }
    return program;
}

void program_close(struct program *program)
{
    for (unsigned i = 0; i < ENDS; i++) {
        free(program->process[i]);
    }
    free(program);
}

static bool range_find(const struct range *held, unsigned count, uint64_t base, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++) {
        if (held[i].base <= base && held[i].end >= base + bytes) {
            return true;
        }
    }
    return false;
}

static void range_add(struct range *held, unsigned *count, uint64_t base, uint64_t bytes)
{
    if (*count == HELD) {
        ck_abort_msg("too many registrations");
    }
    held[(*count)++] =
        (struct range){.base = base / PAGE * PAGE, .end = (base + bytes + PAGE - 1) / PAGE * PAGE};
}

void range_release(struct range *held, unsigned *count, uint64_t base, uint64_t bytes)
{
    for (unsigned i = 0; i < *count;) {
        if (held[i].base < base + bytes && held[i].end > base) {
            held[i] = held[--*count];
        } else {
            i++;
        }
    }
}

static uint64_t noisy(struct program *program, uint64_t ns)
{
    unsigned noise = program->machine->noise;
    uint64_t factor = 100 - noise + program_draw(program) % (2 * noise + 1);

    if (program_draw(program) % 50 == 0) {
        factor += 150; /* a hiccup */
    }
    return ns * factor / 100;
}

static uint64_t price(const struct machine *machine, uint64_t bytes)
{
    return machine->registering + machine->page * ((bytes + PAGE - 1) / PAGE);
}

/* One side decides on its buffer. Adds what registering it takes to *cost. */
static struct rbuf_choice_decision decide(struct program *program, enum rbuf_side side,
                                          uint64_t base, uint64_t bytes, double *cost)
{
    struct process *process = program->process[side];
    const bool cached = range_find(process->held, process->held_count, base, bytes);
    struct rbuf_choice_request request = {
        .side = side, .base = base, .bytes = bytes, .cached = RBUF_CACHED_AS_LEFT};
    struct rbuf_choice_decision decision;

    if (rbuf_choice_wants_lookup(&process->choice, &request)) {
        request.cached = cached ? RBUF_CACHED_YES : RBUF_CACHED_NO;
        program->looked++;
    }
    decision = rbuf_choice_decide(&process->choice, &request);

    /* (Check's own assertions take 20 us each.) */
    if (decision.base > base || decision.base + decision.bytes < base + bytes) {
        ck_abort_msg("what is to be registered does not hold the buffer");
    }
    if (decision.path == RBUF_PATH_IN_PLACE && !cached && program->refusing) {
        rbuf_choice_refused(&process->choice, side, base, bytes);
        program->refused++;
        decision.path = RBUF_PATH_COPY;
        decision.is_sample = false;
        return decision;
    }
    if (decision.path == RBUF_PATH_IN_PLACE && !cached) {
        uint64_t ns = price(program->machine, decision.bytes);

        rbuf_choice_registered(&process->choice, decision.base, decision.bytes, ns);
        *cost += (double) ns;
        if (!program->without_cache) {
            range_add(process->held, &process->held_count, decision.base, decision.bytes);
        }
    }
    return decision;
}

/* What the message takes as both sides chose. */
static double choose(struct program *program, const uint64_t base[ENDS], uint64_t bytes)
{
    const struct machine *machine = program->machine;
    struct rbuf_choice *receiver = &program->process[RBUF_SIDE_RECEIVE]->choice;
    struct rbuf_choice *sender = &program->process[RBUF_SIDE_SEND]->choice;
    double cost = 0;
    struct rbuf_choice_decision to =
        decide(program, RBUF_SIDE_RECEIVE, base[RBUF_SIDE_RECEIVE], bytes, &cost);
    struct rbuf_choice_decision from;
    double registering;
    uint64_t ns;

    if (to.path == RBUF_PATH_COPY) {
        ns = noisy(program, machine->staged + machine->staged_kb * bytes / KB);
        rbuf_choice_sent_staged(sender, base[RBUF_SIDE_SEND], bytes, ns);
        rbuf_choice_took(receiver, RBUF_SIDE_RECEIVE, to.path, to.is_sample, bytes, ns);
        return cost + (double) ns;
    }
    program->in_place++;
    registering = cost;
    from = decide(program, RBUF_SIDE_SEND, base[RBUF_SIDE_SEND], bytes, &cost);
    registering = cost - registering;
    ns = noisy(program, from.path == RBUF_PATH_COPY
                            ? machine->copied + machine->copied_kb * bytes / KB
                            : machine->in_place + machine->wire_kb * bytes / KB);
    rbuf_choice_took(sender, RBUF_SIDE_SEND, from.path, from.is_sample, bytes, ns);
    rbuf_choice_took(receiver, RBUF_SIDE_RECEIVE, to.path, to.is_sample, bytes,
                     ns + (uint64_t) registering);
    return cost + (double) ns;
}

void program_message(struct program *program, uint64_t from, uint64_t to, uint64_t bytes)
{
    const struct machine *machine = program->machine;
    const uint64_t base[ENDS] = {[RBUF_SIDE_RECEIVE] = to, [RBUF_SIDE_SEND] = from};

    program->messages++;
    program->always_copied +=
        (double) noisy(program, machine->staged + machine->staged_kb * bytes / KB);
    program->always_cached +=
        (double) noisy(program, machine->in_place + machine->wire_kb * bytes / KB);
    for (unsigned i = 0; i < ENDS; i++) {
        if (!range_find(program->greedy[i], program->greedy_count[i], base[i], bytes)) {
            range_add(program->greedy[i], &program->greedy_count[i], base[i], bytes);
            program->always_cached += (double) price(machine, bytes);
        }
    }
    program->chosen += choose(program, base, bytes);
}

void program_release(struct program *program, uint64_t from, uint64_t to, uint64_t bytes)
{
    const uint64_t base[ENDS] = {[RBUF_SIDE_RECEIVE] = to, [RBUF_SIDE_SEND] = from};

    for (unsigned i = 0; i < ENDS; i++) {
        struct process *process = program->process[i];

        range_release(process->held, &process->held_count, base[i], bytes);
        range_release(program->greedy[i], &program->greedy_count[i], base[i], bytes);
        rbuf_choice_release(&process->choice, base[i], bytes);
    }
}

void program_say(const struct program *program, const char *what)
{
    double best = program->always_copied < program->always_cached ? program->always_copied
                                                                  : program->always_cached;

    printf("%-44s copied %8.2f cached %8.2f auto %8.2f us, %.3f of the better, %3u %% in place\n",
           what, program->always_copied / program->messages / 1000,
           program->always_cached / program->messages / 1000,
           program->chosen / program->messages / 1000, program->chosen / best,
           100 * program->in_place / program->messages);
    fflush(stdout); /* a failed assertion would lose it */
}

double program_better(const struct program *program)
{
    return program->always_copied < program->always_cached ? program->always_copied
                                                           : program->always_cached;
}

void program_restart(struct program *program)
{
    program->always_copied = program->always_cached = program->chosen = 0;
    program->in_place = program->messages = 0;
}

#define POOL 4u

void program_pooled_or_fresh(struct program *program, unsigned percent, uint64_t bytes)
{
    const uint64_t stride = 2 * bytes + PAGE;
    uint64_t from = FIRST + program_draw(program) % POOL * stride + 12232;
    uint64_t to = from + POOL * stride;

    if (program_draw(program) % 100 < percent) {
        program_message(program, from, to, bytes);
        return;
    }
    from = FIRST + 2 * POOL * stride + 12232;
    to = from + stride;
    program_message(program, from, to, bytes);
    program_release(program, from, to, bytes);
}
