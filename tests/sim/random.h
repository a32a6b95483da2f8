/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Seeded pseudo-random numbers (splitmix64): the same seed gives the same run on every machine.
 */
#ifndef RBUF_SIM_RANDOM_H
#define RBUF_SIM_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sim_random {
    uint64_t state;
};

static inline uint64_t sim_random_next(struct sim_random *random)
{
    uint64_t mixed = random->state += 0x9e3779b97f4a7c15ull;

    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
    return mixed ^ mixed >> 31;
}

/* A number in 0..bound-1; 0 for a bound of 0. */
static inline uint64_t sim_random_below(struct sim_random *random, uint64_t bound)
{
    return bound == 0 ? 0 : sim_random_next(random) % bound;
}

/* A number in 1..most, small ones as likely as large ones of each power of two. */
static inline uint64_t sim_random_size(struct sim_random *random, uint64_t most)
{
    unsigned bits = 0;

    while (bits < 63 && most >> (bits + 1) != 0) {
        bits++;
    }
    uint64_t size = 1 + sim_random_below(random, 1ull << sim_random_below(random, bits + 2));

    return size < most ? size : most;
}

/* Eight bytes, from byte 8 * `word` on, of the endless pattern named by `seed`. No two places and
 * no two seeds share long runs, so that displaced or stale data does not go unseen. */
#define SIM_PATTERN_ZEROS UINT64_MAX /* the seed of a pattern of zeros */

static inline uint64_t sim_pattern(uint64_t seed, uint64_t word)
{
    struct sim_random random = {seed * 0xd1342543de82ef95ull + word};

    return seed == SIM_PATTERN_ZEROS ? 0 : sim_random_next(&random);
}

static inline void sim_pattern_fill(void *to, size_t bytes, uint64_t seed)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = sim_pattern(seed, at / sizeof(word));

        memcpy((unsigned char *) to + at, &word,
               bytes - at < sizeof(word) ? bytes - at : sizeof(word));
    }
}

/* True if `data` is the pattern. */
static inline bool sim_pattern_right(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *from = (const unsigned char *) data;
    size_t whole = bytes / sizeof(uint64_t), rest = bytes % sizeof(uint64_t);
    uint64_t word;

    for (size_t i = 0; i < whole; i++) {
        memcpy(&word, from + i * sizeof(word), sizeof(word));
        if (word != sim_pattern(seed, i)) {
            return false;
        }
    }
    word = sim_pattern(seed, whole);
    return rest == 0 || memcmp(from + bytes - rest, &word, rest) == 0;
}

#endif
