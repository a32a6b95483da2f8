/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The model's times against the simulator's, which runs core itself: within 2 % on every machine,
 * for every way to stage or not to stage a message, from 4 KB to 64 MB.
 */
#include <math.h>

#include "machines.h"
#include "measure.h"
#include "model/staged.h"
#include "unit.h"

#define MOST_OFF 0.02

/* A sanitizer makes this slow and needs less of it: times are the same. */
#if defined(__SANITIZE_ADDRESS__)
#define BUFFERS_STEP 6
#define LONG_TESTS   0
#else
#define BUFFERS_STEP 1
#define LONG_TESTS   1
#endif

#define KB 1024ull
#define MB (1024ull * KB)

/* Powers of two and what lies between them; those above 1 MB take long. */
static const uint64_t short_sizes[] = {
    4 * KB, 4089,    6000,   8 * KB,   12 * KB,  12264,    12265,    16 * KB,  24 * KB, 32 * KB,
    48000,  64 * KB, 100000, 128 * KB, 192 * KB, 256 * KB, 384 * KB, 512 * KB, 777777,  1 * MB};
static const uint64_t long_sizes[] = {1500000, 2 * MB, 3000001, 4 * MB, 8 * MB, 12345678, 16 * MB};
static const uint64_t longest_sizes[] = {24 * MB, 32 * MB, 48 * MB, 64 * MB};

#define COUNT(sizes) (sizeof(sizes) / sizeof((sizes)[0]))

struct worst {
    double off;
    unsigned checked;
    uint64_t bytes;
    char what[160];
};

static void check(struct worst *worst, const char *what, uint64_t bytes, double simulated,
                  double predicted)
{
    double off = fabs(predicted / simulated - 1);

    ck_assert_msg(off <= MOST_OFF, "%s, %llu bytes: %.0f ns simulated, %.0f predicted (%+.2f %%)",
                  what, (unsigned long long) bytes, simulated, predicted,
                  100 * (predicted / simulated - 1));
    worst->checked++;
    if (off > worst->off) {
        worst->off = off;
        worst->bytes = bytes;
        snprintf(worst->what, sizeof(worst->what), "%s", what);
    }
}

static void check_staged(struct worst *worst, struct sim_measure *measure,
                         const struct rbuf_plan *plan, const char *name, uint64_t bytes)
{
    const struct rbuf_schedule *schedule = &plan->schedule;
    char what[160];

    snprintf(what, sizeof(what),
             "%s, C0 %u, q %.2f, at most %u, %u buffers of %u-byte blocks, arrival %d, "
             "rendezvous %d",
             name, schedule->first_blocks, schedule->growth / (double) RBUF_GROWTH_ONE,
             schedule->buffer_blocks, schedule->buffers, schedule->block_bytes, plan->arrival,
             plan->rendezvous);
    check(worst, what, bytes, sim_measure_staged(measure, plan, bytes),
          rbuf_model_staged(sim_measure_machine(measure), plan, bytes));
}

static void check_in_place(struct worst *worst, struct sim_measure *measure, const char *name,
                           enum rbuf_rendezvous rendezvous, uint64_t bytes)
{
    const struct rbuf_machine *machine = sim_measure_machine(measure);

    for (int registered = 0; registered <= RBUF_REGISTERED_NONE; registered++) {
        char what[96];

        snprintf(what, sizeof(what), "%s in place, registered %d, rendezvous %d", name, registered,
                 rendezvous);
        check(worst, what, bytes,
              sim_measure_in_place(measure, (enum rbuf_registered) registered, rendezvous, bytes),
              rbuf_model_in_place(machine, bytes, (enum rbuf_registered) registered, rendezvous));
    }
}

static void report(const struct worst *worst)
{
    printf("%4u times, at most %.2f %% off (%llu bytes; %s)\n", worst->checked, 100 * worst->off,
           (unsigned long long) worst->bytes, worst->what);
}

/* Every machine, every number of buffers, C0 and q between and beyond what is sensible. */
START_TEST(schedules)
{
    static const struct {
        double growth;
        uint16_t first, largest;
    } shapes[] = {{1.5, 3, 64}, {1, 4, 4},     {1, 1, 1},   {2, 1, 128},
                  {3, 2, 32},   {1.25, 8, 64}, {4, 4, 256}, {1.1, 16, 16}};
    const struct sim_machine *on = &sim_machines[_i];
    struct sim_measure *measure = sim_measure_open(&on->machine, 4096, 2 * MB);
    struct worst worst = {0};

    for (size_t shape = 0; shape < COUNT(shapes); shape++) {
        for (uint8_t buffers = 2; buffers <= 8; buffers += BUFFERS_STEP) {
            struct rbuf_plan plan = {
                .schedule = {.block_bytes = 4096,
                             .growth = (uint32_t) (shapes[shape].growth * RBUF_GROWTH_ONE),
                             .first_blocks = shapes[shape].first,
                             .buffer_blocks = shapes[shape].largest,
                             .buffers = buffers},
                .arrival = RBUF_ARRIVAL_BLOCK};

            for (size_t i = 0; i < COUNT(short_sizes); i++) {
                plan.rendezvous = (enum rbuf_rendezvous)((i + buffers) % 3);
                check_staged(&worst, measure, &plan, on->name, short_sizes[i]);
            }
        }
    }
    sim_measure_close(measure);
    report(&worst);
}
END_TEST

/* The first chunks right behind the rendezvous: all of a message, most of it, little of it. */
START_TEST(early_data)
{
    static const struct {
        double growth;
        uint16_t first, largest, early_blocks;
        uint8_t buffers;
        uint32_t block;
        enum rbuf_arrival arrival;
    } shapes[] = {{1.5, 3, 64, 10, 3, 4096, RBUF_ARRIVAL_BLOCK},
                  {1.5, 2, 64, 10, 3, 4096, RBUF_ARRIVAL_BLOCK},
                  {3, 4, 64, 16, 3, 4096, RBUF_ARRIVAL_CHUNK},
                  {2, 16, 64, 17, 4, 4096, RBUF_ARRIVAL_BLOCK},
                  {1, 8, 8, 9, 2, 4096, RBUF_ARRIVAL_BLOCK},
                  {1.25, 3, 16, 64, 3, 2048, RBUF_ARRIVAL_CHUNK},
                  {1.5, 2, 16, 3, 3, 16384, RBUF_ARRIVAL_BLOCK}};
    const struct sim_machine *on = &sim_machines[_i];
    struct worst worst = {0};

    for (size_t shape = 0; shape < COUNT(shapes); shape++) {
        struct rbuf_plan plan = {
            .schedule = {.block_bytes = shapes[shape].block,
                         .growth = (uint32_t) (shapes[shape].growth * RBUF_GROWTH_ONE),
                         .first_blocks = shapes[shape].first,
                         .buffer_blocks = shapes[shape].largest,
                         .buffers = shapes[shape].buffers},
            .arrival = shapes[shape].arrival,
            .rendezvous = RBUF_RENDEZVOUS_EARLY,
            .early_blocks = shapes[shape].early_blocks};
        struct sim_measure *measure = sim_measure_open_early(
            &on->machine, shapes[shape].block, 2 * MB, plan.early_blocks * shapes[shape].block);

        rbuf_plan_early(&plan, plan.early_blocks * shapes[shape].block, SIM_OPENING_BYTES);
        for (size_t i = 0; i < COUNT(short_sizes); i++) {
            check_staged(&worst, measure, &plan, on->name, short_sizes[i]);
        }
        sim_measure_close(measure);
    }
    report(&worst);
}
END_TEST

/* Other blocks, whole chunks, all rendezvous. */
START_TEST(ways)
{
    static const enum rbuf_arrival arrivals[] = {RBUF_ARRIVAL_BLOCK, RBUF_ARRIVAL_CHUNK,
                                                 RBUF_ARRIVAL_IMMEDIATE};
    static const uint32_t block_sizes[] = {1024, 2048, 4096, 16384};
    const struct sim_machine *on = &sim_machines[_i];
    struct worst worst = {0};

    for (size_t b = 0; b < COUNT(block_sizes); b++) {
        struct sim_measure *measure = sim_measure_open(&on->machine, block_sizes[b], 2 * MB);

        for (size_t i = 0; i < COUNT(short_sizes); i++) {
            for (int way = 0; way < 9; way++) {
                struct rbuf_plan plan = {
                    .schedule = {.block_bytes = block_sizes[b],
                                 .growth = RBUF_GROWTH_ONE * 3 / 2,
                                 .first_blocks = (uint16_t) (1 + 8192 / block_sizes[b]),
                                 .buffer_blocks = (uint16_t) (262144 / block_sizes[b]),
                                 .buffers = 3,
                                 .taper = way >= 3 ? RBUF_TAPER_TAIL : RBUF_TAPER_NONE},
                    .arrival = arrivals[way / 3],
                    .rendezvous = (enum rbuf_rendezvous)(way % 3)};

                check_staged(&worst, measure, &plan, on->name, short_sizes[i]);
            }
        }
        sim_measure_close(measure);
    }
    report(&worst);
}
END_TEST

/* The paper's other protocols. */
START_TEST(protocols)
{
    const struct sim_machine *on = &sim_machines[_i];
    struct sim_measure *measure = sim_measure_open(&on->machine, 4096, 2 * MB);
    struct worst worst = {0};

    for (size_t i = 0; i < COUNT(short_sizes); i++) {
        uint64_t bytes = short_sizes[i];

        for (int rendezvous = 0; rendezvous < 3; rendezvous++) {
            struct rbuf_plan plan = rbuf_plan_copy(bytes, 4096);

            plan.rendezvous = (enum rbuf_rendezvous) rendezvous;
            check_staged(&worst, measure, &plan, on->name, bytes);
            plan = rbuf_plan_pipeline(sim_measure_machine(measure), bytes, 4096);
            plan.rendezvous = (enum rbuf_rendezvous) rendezvous;
            check_staged(&worst, measure, &plan, on->name, bytes);
            check_in_place(&worst, measure, on->name, (enum rbuf_rendezvous) rendezvous, bytes);
        }
    }
    sim_measure_close(measure);
    report(&worst);
}
END_TEST

/* C0 12 KB, q 1.5. */
static const struct rbuf_schedule papers = {.block_bytes = 4096,
                                            .growth = RBUF_GROWTH_ONE * 3 / 2,
                                            .first_blocks = 3,
                                            .buffer_blocks = 64,
                                            .buffers = 3};

static void check_long(struct worst *worst, struct sim_measure *measure, const char *name,
                       uint64_t bytes)
{
    struct rbuf_plan plan = {.schedule = papers,
                             .arrival = RBUF_ARRIVAL_BLOCK,
                             .rendezvous = RBUF_RENDEZVOUS_OVERLAPPED};

    check_staged(worst, measure, &plan, name, bytes);
    plan.schedule.growth = 2 * RBUF_GROWTH_ONE;
    plan.schedule.buffer_blocks = 128;
    plan.schedule.buffers = 2;
    plan.rendezvous = RBUF_RENDEZVOUS_NONE;
    check_staged(worst, measure, &plan, name, bytes);
}

/* Likewise, with early data. */
static void check_long_early(struct worst *worst, const struct sim_machine *on, uint64_t bytes)
{
    struct sim_measure *measure =
        sim_measure_open_early(&on->machine, 4096, 2 * MB, SIM_EARLY_BYTES);
    struct rbuf_plan plan = {
        .schedule = papers, .arrival = RBUF_ARRIVAL_BLOCK, .rendezvous = RBUF_RENDEZVOUS_EARLY};

    rbuf_plan_early(&plan, SIM_EARLY_BYTES, SIM_OPENING_BYTES);
    check_staged(worst, measure, &plan, on->name, bytes);
    sim_measure_close(measure);
}

START_TEST(long_messages)
{
    const struct sim_machine *on = &sim_machines[_i];
    struct sim_measure *measure = sim_measure_open(&on->machine, 4096, 2 * MB);
    struct worst worst = {0};

    for (size_t i = 0; i < COUNT(long_sizes); i++) {
        check_long(&worst, measure, on->name, long_sizes[i]);
    }
    check(&worst, on->name, 16 * MB,
          sim_measure_in_place(measure, RBUF_REGISTERED_BOTH, RBUF_RENDEZVOUS_SERIAL, 16 * MB),
          rbuf_model_in_place(sim_measure_machine(measure), 16 * MB, RBUF_REGISTERED_BOTH,
                              RBUF_RENDEZVOUS_SERIAL));
    sim_measure_close(measure);
    check_long_early(&worst, on, 16 * MB);
    report(&worst);
}
END_TEST

START_TEST(longest_messages)
{
    static const char *const names[] = {"graphene", "infini", "edr", "ndr"};
    const struct sim_machine *on = sim_machine_named(names[_i]);
    struct sim_measure *measure = sim_measure_open(&on->machine, 4096, 2 * MB);
    struct worst worst = {0};

    for (size_t i = 0; i < COUNT(longest_sizes); i++) {
        check_long(&worst, measure, on->name, longest_sizes[i]);
    }
    sim_measure_close(measure);
    check_long_early(&worst, on, 64 * MB);
    report(&worst);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predict");

    unit_add_loop(suite, schedules, (int) sim_machine_count);
    unit_add_loop(suite, early_data, (int) sim_machine_count);
    unit_add_loop(suite, ways, (int) sim_machine_count);
    unit_add_loop(suite, protocols, (int) sim_machine_count);
    if (LONG_TESTS) {
        unit_add_loop(suite, long_messages, (int) sim_machine_count);
        unit_add_loop(suite, longest_messages, 4);
    }
    return unit_run(suite);
}
