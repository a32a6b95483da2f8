/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What rbuf-bench was asked to do: the command line, parsed and bounded.
 *
 * Sizes are bytes; 12k, 1M and 2g count in powers of 1024. Every rank parses the same arguments
 * and comes to the same answer, so a refusal needs no communication.
 */
#ifndef RBUF_BENCH_OPTIONS_H
#define RBUF_BENCH_OPTIONS_H

#include <stddef.h>
#include <stdbool.h>

enum bench_buffers { BENCH_REUSED, BENCH_FRESH };
enum bench_pattern { BENCH_PINGPONG, BENCH_BOTH };

enum bench_verdict {
    BENCH_RUN,
    BENCH_HELP, /* print the usage and leave with status 0 */
    BENCH_BAD,  /* `message` says why; leave with status 2 */
};

enum { BENCH_MAX_SIZES = 1024 };

struct bench_options {
    size_t sizes[BENCH_MAX_SIZES];
    size_t size_count;
    enum bench_buffers buffers;
    enum bench_pattern pattern;
    int reps;
    bool check;
    bool probe;
    double probe_rate; /* bytes/s a quiet machine must reach */
    double probe_wait; /* s to wait for quiet in one run, all sizes together */
    char message[160];
};

extern const char BENCH_USAGE[];

/* Fills *options from the command line; on BENCH_BAD only `message` is meaningful. */
enum bench_verdict bench_parse(struct bench_options *options, int argc, char **argv);

/* Reads a size of `length` characters such as 4096, 12k or 1M. False on anything else. */
bool bench_parse_size(const char *text, size_t length, size_t *size);

#endif
