/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Protocol auto's choice on networks of today: which path it takes for new buffers and for those
 * that are used again, by what messages take in the simulator there (tests/sim/protocols.h), beside
 * the static protocol that takes the least.
 */
#include "machines.h"
#include "protocols.h"
#include "unit.h"

#define KB       1024ull
#define MB       (1024ull * KB)
#define SMALLEST (64 * KB)
#define LARGEST  (16 * MB)
#define LEARNING 1000
#define MESSAGES 1000

/* Closer than this the static protocols are alike, so that either choice is right. */
#define ALIKE 1.02

static const char *const networks[] = {"hdr", "ndr", "xdr"};

static struct sim_protocol_bench *bench_of(const struct rbuf_machine *machine)
{
    const struct rbuf_plan plan = sim_tuned_plan(machine, RBUF_RENDEZVOUS_EARLY);

    return sim_protocol_open(machine, &plan, NULL, LARGEST);
}

/* The messages of 100 that go in place, once it has learnt. */
static unsigned in_place_of(const struct sim_protocol_times *times, unsigned percent,
                            enum sim_protocol *best, double *apart)
{
    struct sim_program *program = sim_program_open(times, 3);
    unsigned in_place;
    double staged, cached;

    for (int i = 0; i < LEARNING + MESSAGES; i++) {
        if (i == LEARNING) {
            sim_program_restart(program);
        }
        sim_program_message(program, percent);
    }
    in_place = 100 * program->in_place / program->messages;
    *best = sim_program_best(program);
    staged = program->took[SIM_SUPERPIPELINE];
    cached = program->took[SIM_RCACHE];
    *apart = staged > cached ? staged / cached : cached / staged;
    sim_program_close(program);
    return in_place;
}

/* New buffers are copied, and those that are used again take the path of the best. */
static void check_picks(const char *network, const struct sim_protocol_times *times)
{
    for (unsigned percent = 0; percent <= 100; percent += 100) {
        enum sim_protocol best;
        double apart;
        const unsigned in_place = in_place_of(times, percent, &best, &apart);

        printf("%s, %llu KB, %u %% used again: best is %s by a factor of %.2f, %u %% in place\n",
               network, (unsigned long long) times->bytes / KB, percent, sim_protocol_name(best),
               apart, in_place);
        ck_assert_int_ne(best, SIM_REGISTER); /* for each message: never */
        if (apart > ALIKE) {
            ck_assert_msg(best == SIM_RCACHE ? in_place >= 95 : in_place <= 5,
                          "%s, %llu KB, %u %%: %u %% in place", network,
                          (unsigned long long) times->bytes / KB, percent, in_place);
        }
    }
}

START_TEST(picks_the_best_static_protocol)
{
    const struct rbuf_machine *machine = &sim_machine_named(networks[_i])->machine;
    struct sim_protocol_bench *bench = bench_of(machine);

    for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 2) {
        const struct sim_protocol_times times = sim_protocol_times(bench, bytes);

        check_picks(networks[_i], &times);
    }
    sim_protocol_close(bench);
}
END_TEST

/* A message saves there as much as one registration costs, and less than that of both its ends, so
 * that of a mixture those that come again go in place, and no others. */
START_TEST(both_ends_are_paid_for)
{
    struct sim_protocol_bench *bench = bench_of(&sim_machine_named("xdr")->machine);
    const struct sim_protocol_times times = sim_protocol_times(bench, LARGEST);
    enum sim_protocol best;
    double apart;
    const unsigned in_place = in_place_of(&times, 50, &best, &apart);

    ck_assert_uint_ge(in_place, 45);
    ck_assert_uint_le(in_place, 55);
    sim_protocol_close(bench);
}
END_TEST

/* Up to 100 Gbit/s a core outruns the port. */
START_TEST(default_by_network)
{
    ck_assert(!sim_default_is_auto(&sim_machine_named("infini")->machine));
    ck_assert(!sim_default_is_auto(&sim_machine_named("edr")->machine));
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        ck_assert(sim_default_is_auto(&sim_machine_named(networks[i])->machine));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choice_networks");

    unit_add(suite, both_ends_are_paid_for);
    unit_add(suite, default_by_network);
    unit_add_loop(suite, picks_the_best_static_protocol, sizeof(networks) / sizeof(networks[0]));
    return unit_run(suite);
}
