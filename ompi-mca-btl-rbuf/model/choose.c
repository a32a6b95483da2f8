/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The best of a grid over C0 and q, then over what else there is, then again over C0 and q. A
 * schedule that costs more (more staging) has to be better by more than nothing: by WORTHWHILE.
 */
#include "model/choose.h"

#include <stddef.h>

#include "model/staged.h"

#define WORTHWHILE  0.001
#define NEARLY      0.995 /* of the best: the rest is less than a run would show */
#define EARLY_STEP  8192u /* bytes, at least, from one amount of early data to the next */
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const uint32_t block_sizes[] = {4096, 2048, 8192, 16384};
static const uint32_t first_bytes[] = {2048,  4096,  6144,  8192,  12288,
                                       16384, 24576, 32768, 49152, 65536};
static const double growths[] = {1, 1.125, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6};
static const uint32_t largest_bytes[] = {32768, 65536, 131072, 262144, 524288, 1048576};
static const uint8_t buffer_counts[] = {3, 4, 5, 6, 8};

double rbuf_model_reference(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                            uint64_t bytes)
{
    bool waits = plan->rendezvous == RBUF_RENDEZVOUS_SERIAL ||
                 plan->rendezvous == RBUF_RENDEZVOUS_OVERLAPPED;

    return rbuf_model_raw(machine, bytes) + (waits ? rbuf_model_rendezvous(machine) : 0);
}

double rbuf_model_efficiency(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                             uint64_t smallest, uint64_t largest)
{
    double sum = 0;
    unsigned sizes = 0;

    for (uint64_t bytes = smallest; bytes <= largest; bytes *= 2) {
        sum += rbuf_model_reference(machine, plan, bytes) / rbuf_model_staged(machine, plan, bytes);
        sizes++;
    }
    return sizes > 0 ? sum / sizes : 0;
}

static double rate(const struct rbuf_machine *machine, const struct rbuf_objective *objective,
                   const struct rbuf_plan *plan)
{
    const struct rbuf_schedule *schedule = &plan->schedule;

    if (!rbuf_schedule_valid(schedule) ||
        (uint64_t) schedule->buffers * schedule->buffer_blocks * schedule->block_bytes >
            objective->staging_bytes) {
        return 0;
    }
    return rbuf_model_efficiency(machine, plan, objective->smallest, objective->largest);
}

/* Sets C0, the largest chunk and the block, in bytes. */
static void shape(const struct rbuf_objective *objective, struct rbuf_plan *plan, uint32_t block,
                  uint32_t first, uint32_t largest)
{
    struct rbuf_schedule *schedule = &plan->schedule;

    schedule->block_bytes = block;
    schedule->first_blocks = (uint16_t) (first > block ? first / block : 1);
    schedule->buffer_blocks = (uint16_t) (largest > block ? largest / block : 1);
    if (schedule->first_blocks > schedule->buffer_blocks) {
        schedule->first_blocks = schedule->buffer_blocks;
    }
    if (plan->rendezvous == RBUF_RENDEZVOUS_EARLY) {
        rbuf_plan_early(plan, objective->early_bytes, objective->opening_bytes);
    }
}

/* The best C0 and q for the rest of the plan. */
static double choose_growth(const struct rbuf_machine *machine,
                            const struct rbuf_objective *objective, struct rbuf_plan *plan)
{
    uint32_t block = plan->schedule.block_bytes;
    uint32_t largest = plan->schedule.buffer_blocks * block;
    struct rbuf_plan tried = *plan;
    double best = rate(machine, objective, plan);

    for (size_t i = 0; i < COUNT(first_bytes); i++) {
        shape(objective, &tried, block, first_bytes[i], largest);
        for (size_t k = 0; k < COUNT(growths); k++) {
            double rated;

            tried.schedule.growth = (uint32_t) (growths[k] * RBUF_GROWTH_ONE);
            rated = rate(machine, objective, &tried);
            if (rated > best) {
                best = rated;
                *plan = tried;
            }
        }
    }
    return best;
}

/* Takes another plan that needs more of something, if that is worthwhile. */
static void consider(const struct rbuf_machine *machine, const struct rbuf_objective *objective,
                     const struct rbuf_plan *tried, struct rbuf_plan *plan, double *best)
{
    double rated = rate(machine, objective, tried);

    if (rated > *best * (1 + WORTHWHILE)) {
        *best = rated;
        *plan = *tried;
    }
}

static double choose_buffers(const struct rbuf_machine *machine,
                             const struct rbuf_objective *objective, struct rbuf_plan *plan)
{
    const struct rbuf_schedule start = plan->schedule;
    double best = 0;

    for (size_t i = 0; i < COUNT(largest_bytes); i++) {
        for (size_t k = 0; k < COUNT(buffer_counts); k++) {
            struct rbuf_plan tried = *plan;

            shape(objective, &tried, start.block_bytes, start.first_blocks * start.block_bytes,
                  largest_bytes[i]);
            tried.schedule.growth = start.growth;
            tried.schedule.buffers = buffer_counts[k];
            consider(machine, objective, &tried, plan, &best);
        }
    }
    return best;
}

static double choose_block(const struct rbuf_machine *machine,
                           const struct rbuf_objective *objective, struct rbuf_plan *plan)
{
    const struct rbuf_schedule start = plan->schedule;
    double best = rate(machine, objective, plan);

    for (size_t i = 0; objective->block_bytes == 0 && i < COUNT(block_sizes); i++) {
        struct rbuf_plan tried = *plan;

        shape(objective, &tried, block_sizes[i], start.first_blocks * start.block_bytes,
              start.buffer_blocks * start.block_bytes);
        choose_growth(machine, objective, &tried); /* another block may want another */
        consider(machine, objective, &tried, plan, &best);
    }
    return best;
}

double rbuf_model_choose(const struct rbuf_machine *machine, const struct rbuf_objective *objective,
                         struct rbuf_plan *plan)
{
    uint32_t block = objective->block_bytes > 0 ? objective->block_bytes : block_sizes[0];

    *plan = (struct rbuf_plan){.schedule = {.growth = RBUF_GROWTH_ONE * 3 / 2,
                                            .buffers = 3,
                                            .taper = objective->arrival == RBUF_ARRIVAL_BLOCK
                                                         ? RBUF_TAPER_NONE
                                                         : RBUF_TAPER_TAIL},
                               .arrival = objective->arrival,
                               .rendezvous = objective->rendezvous};
    shape(objective, plan, block, 12288, 262144);
    choose_growth(machine, objective, plan);
    choose_buffers(machine, objective, plan);
    choose_block(machine, objective, plan);
    return choose_growth(machine, objective, plan);
}

/* Efficiency with so much early data, which the plan is given. */
static double rate_early(const struct rbuf_machine *machine, const struct rbuf_objective *objective,
                         uint32_t bytes, struct rbuf_plan *plan)
{
    rbuf_plan_early(plan, bytes, objective->opening_bytes);
    return rbuf_model_efficiency(machine, plan, objective->smallest, objective->largest);
}

/* The next amount that is tried: a quarter longer, in whole steps, or the last one. */
static uint32_t longer(uint32_t bytes, uint32_t last)
{
    const uint32_t next = (bytes + bytes / 4 + EARLY_STEP) / EARLY_STEP * EARLY_STEP;

    return next < last ? next : last;
}

double rbuf_model_choose_early(const struct rbuf_machine *machine,
                               const struct rbuf_objective *objective, uint32_t most,
                               struct rbuf_plan *plan)
{
    const uint32_t block = plan->schedule.block_bytes;
    const uint32_t last = most / block * block; /* early data take whole blocks, rounded up */
    uint32_t bytes = objective->early_bytes;
    struct rbuf_plan tried = *plan;
    double best, found;

    if (plan->rendezvous != RBUF_RENDEZVOUS_EARLY) {
        return rbuf_model_efficiency(machine, plan, objective->smallest, objective->largest);
    }
    best = rate_early(machine, objective, bytes, &tried);
    for (uint32_t next = bytes; next < last;) {
        next = longer(next, last);
        found = rate_early(machine, objective, next, &tried);
        best = found > best ? found : best;
    }
    while ((found = rate_early(machine, objective, bytes, plan)) < NEARLY * best) {
        bytes = longer(bytes, last);
    }
    return found;
}
