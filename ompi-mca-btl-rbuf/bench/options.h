/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-bench was asked to do: the command line, parsed and bounded (common/options.h).
 */
#ifndef RBUF_BENCH_OPTIONS_H
#define RBUF_BENCH_OPTIONS_H

#include "bench/cases.h"
#include "common/options.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    BENCH_MAX_SIZES = 1024,
    BENCH_MAX_CHOICES = 32,
    BENCH_MAX_WINDOW = 4096,
    BENCH_MAX_SLOTS = 1 << 18, /* messages of a burst with buffers that are used again */
    BENCH_MAX_NEW = 512        /* messages of a burst with buffers of their own */
};

/* The values of an option that takes several; each combination of such lists is measured. */
struct bench_list {
    int values[BENCH_MAX_CHOICES];
    int count;
};

struct bench_options {
    size_t sizes[BENCH_MAX_SIZES]; /* bytes */
    size_t size_count;
    struct bench_list patterns; /* enum bench_pattern */
    struct bench_list reuse;    /* per cent of the messages whose buffers were used before */
    struct bench_list types;    /* enum bench_type */
    struct bench_list caches;   /* enum bench_cache */
    int window;                 /* messages under way at once; 0: the pattern's own */
    int burst;                  /* exchanges back to back in a repetition; 0: the pattern's own */
    int sets;                   /* of buffers, which the exchanges of a burst use in turn */
    size_t working_set;         /* bytes that the pattern processor computes on; 0: none */
    int reps;
    double late_us;
    bool pages; /* buffers share none */
    bool check;
    bool cold_start; /* no messages before the first case */
    bool json;
    bool probe;
    double probe_rate;                    /* bytes/s a quiet machine must reach */
    double handover_least, handover_most; /* ns from core to core of a quiet machine */
    double probe_wait;                    /* s to wait for quiet in one run, all sizes together */
    char message[OPTIONS_MESSAGE_MAX];
};

/* Fills *options from the command line; with OPTIONS_BAD only `message` is meaningful. */
enum options_result bench_parse(struct bench_options *options, int argc, char **argv);

/* Whether so many ranks measure that; false with `message` set. */
bool bench_takes_ranks(struct bench_options *options, int ranks);

/* Messages under way at once in this pattern, and exchanges a repetition, as asked for. */
int bench_window(const struct bench_options *options, enum bench_pattern pattern);
int bench_burst(const struct bench_options *options, enum bench_pattern pattern, int reuse);

/* Sets of a window's buffers that a burst uses in turn; new ones are as many as its exchanges. */
int bench_sets(const struct bench_options *options, enum bench_pattern pattern, int reuse);

/* The options with their defaults, as a section of the help. */
void bench_print_options(FILE *stream);

#endif
