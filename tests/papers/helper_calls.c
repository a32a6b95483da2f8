/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The figures of the helper's paper as sequences, and others that a predictor may meet, with the
 * list of them (helper_calls.h); helper_nas.c has programs. Noise comes from fixed seeds.
 */
#include "helper_calls.h"

#include "random.h"

#define KB         1024ull
#define MB         (1024ull * KB)
#define US         1000ull
#define MS         (1000ull * US)
#define FAR        (1024ull * MB) /* between buffers */
#define PER_MYRIAD 10000ull

/* A message of `bytes` from the call site and buffer of that number, after about `compute_ns`: the
 * noise is that much more at most, in parts of 10000. */
static void add(struct sim_calls *calls, uint64_t compute_ns, uint64_t noise, uint64_t buffer,
                uint64_t bytes, uint64_t frames)
{
    struct sim_random random = {calls->count * 977ull + frames};
    uint64_t more = compute_ns / PER_MYRIAD * noise / 1000 * sim_random_below(&random, 1001);

    calls->call[calls->count++] = (struct sim_call){.compute_ns = compute_ns + more,
                                                    .base = (1 + buffer) * FAR,
                                                    .bytes = bytes,
                                                    .frames = frames};
}

static void figure1(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 30; i++) {
        add(calls, i == 0 ? 0 : 1000 * MS, 10, i % 3, 5 * MB, 1 + i % 3);
    }
}

/* The same with 20 ms between, and as unsteady as on a machine. */
static void jitter(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 90; i++) {
        add(calls, 20 * MS, 500, i % 3, 5 * MB, 1 + i % 3);
    }
}

static void single(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 1000; i++) {
        add(calls, 10 * MS, 20, 0, MB, 1);
    }
}

static void noisy(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 1000; i++) {
        add(calls, 10 * MS, 400, 0, MB, 1);
    }
}

static void two_periods(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 400; i++) {
        add(calls, 10 * MS, 20, 0, MB, 1);
        if (i % 3 == 0) {
            add(calls, 2 * MS, 20, 1, 4 * MB, 2);
        }
    }
}

/* One call site and buffer, reached on two ways: the points before it tell when it comes again. */
static void two_paths(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 300; i++) {
        add(calls, 10 * MS, 20, 1, MB, 2);
        add(calls, 5 * MS, 20, 0, MB, 1);
        add(calls, 40 * MS, 20, 2, MB, 3);
        add(calls, 5 * MS, 20, 0, MB, 1);
    }
}

static void loops(struct sim_calls *calls, unsigned first, unsigned second)
{
    while (calls->count < 2000) {
        for (unsigned i = 0; i < first; i++) {
            add(calls, 5 * MS + (i == 0 ? 80 * MS : 0), 20, 0, MB, 1);
        }
        for (unsigned i = 0; i < second; i++) {
            add(calls, 8 * MS, 20, 1, MB, 2);
        }
    }
}

static void nested(struct sim_calls *calls)
{
    loops(calls, 40, 25);
}

static void short_nested(struct sim_calls *calls)
{
    loops(calls, 6, 4);
}

/* All at once after each step: a transposition, or the faces of a cube. */
static void bursts(struct sim_calls *calls)
{
    for (unsigned step = 0; step < 100; step++) {
        for (unsigned i = 0; i < 16; i++) {
            add(calls, i == 0 ? 50 * MS : 20 * US, 20, i, MB, 1);
        }
    }
}

static void tight(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 1000; i++) {
        add(calls, 30 * US, 20, i % 4, 256 * KB, 1);
    }
}

static void growing(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 500; i++) {
        add(calls, 5 * MS + i * 100 * US, 20, 0, MB, 1);
    }
}

static void irregular(struct sim_calls *calls)
{
    struct sim_random random = {42};

    for (unsigned i = 0; i < 2000; i++) {
        uint64_t buffer = sim_random_below(&random, 64);

        add(calls, 50 * US + sim_random_size(&random, 20 * MS), 0, buffer, (16 + buffer * 16) * KB,
            1 + sim_random_below(&random, 5));
    }
}

static void fresh(struct sim_calls *calls)
{
    for (unsigned i = 0; i < 1000; i++) {
        add(calls, 5 * MS, 20, i, 4 * MB, 1);
    }
}

const struct sim_sequence sim_sequences[] = {
    {"figure1", "figure 1: three buffers of 5 MB, a second between", true, 60, figure1},
    {"jitter", "the same of 30 turns, 20 ms and up to 5 % more between", true, 86, jitter},
    {"single", "one buffer every 10 ms", true, 99, single},
    {"noisy", "the same, up to 4 % later", true, 99, noisy},
    {"two-periods", "a second buffer every third time", true, 97, two_periods},
    {"two-paths", "one call site on two ways", true, 98, two_paths},
    {"nested", "figure 4: loops of 40 and 25 turns", true, 98, nested},
    {"short-nested", "the same of 6 and 4 turns", true, 98, short_nested},
    {"bursts", "16 buffers at once, every 50 ms", true, 95, bursts},
    {"tight", "four buffers, nothing but messages", true, 98, tight},
    {"growing", "each interval longer than the last", false, 0, growing},
    {"irregular", "64 buffers at random", false, 0, irregular},
    {"fresh", "figure 10: no buffer comes again", false, 0, fresh}};
const unsigned sim_sequence_count = sizeof(sim_sequences) / sizeof(sim_sequences[0]);
