/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What a case is made of besides its size: a pattern, a type of message, a state of the caches;
 * each with its name on the command line and its help.
 */
#ifndef RBUF_BENCH_CASES_H
#define RBUF_BENCH_CASES_H

#include <stdbool.h>

enum bench_pattern {
    BENCH_PINGPONG,
    BENCH_STREAM,
    BENCH_RATE,
    BENCH_BOTH,
    BENCH_OVERLAP_SEND,
    BENCH_OVERLAP_RECV,
    BENCH_OVERLAP,
    BENCH_LATE,
    BENCH_SENDS,
    BENCH_PROCESSOR,
    BENCH_SPECTRUM,
    BENCH_PUT,
    BENCH_GET,
    BENCH_PUT_SPECTRUM,
    BENCH_GET_SPECTRUM,
    BENCH_PUT_PSCW,
    BENCH_GET_PSCW,
    BENCH_PUTS_GETS,
    BENCH_PUT_GET_PSCW,
    BENCH_BCAST,
    BENCH_SCATTER,
    BENCH_ALLREDUCE,
    BENCH_BARRIER,
    BENCH_PATTERNS
};

/* Needs a window of memory; more than two ranks may take part. */
static inline bool bench_is_one_sided(enum bench_pattern pattern)
{
    return pattern >= BENCH_PUT && pattern <= BENCH_PUT_GET_PSCW;
}
static inline bool bench_is_collective(enum bench_pattern pattern)
{
    return pattern >= BENCH_BCAST && pattern <= BENCH_BARRIER;
}
/* What is sent must have no gaps. */
static inline bool bench_is_of_bytes(enum bench_pattern pattern)
{
    return pattern == BENCH_SCATTER || pattern == BENCH_ALLREDUCE;
}

/* What a message is made of. */
enum bench_type { BENCH_BYTES, BENCH_VECTOR, BENCH_STRUCT, BENCH_TYPES };

/* Which buffers the caches have been emptied of before the clock starts. */
enum bench_cache { BENCH_WARM, BENCH_COLD_RECV, BENCH_COLD, BENCH_CACHES };

/* A word of the command line with what it means. */
struct bench_word {
    const char *name, *help;
};

extern const struct bench_word bench_pattern_words[BENCH_PATTERNS];
extern const struct bench_word bench_type_words[BENCH_TYPES];
extern const struct bench_word bench_cache_words[BENCH_CACHES];

#endif
