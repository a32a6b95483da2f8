/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the files of the long run share: the dice, the bytes of a message, and how a wrong is said.
 *
 * Every decision comes from dice that are a function of the seed and of where in the run they are
 * thrown, so that all ranks know the whole plan without talking, and a run can begin at any epoch.
 * Nothing here is used by more than one thread.
 */
#ifndef RBUF_TESTS_SOAK_H
#define RBUF_TESTS_SOAK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SOAK_RANKS = 64, /* most ranks of a run */
    SOAK_UNTOUCHED = 0x5a,
    SOAK_K = 1024,
    SOAK_M = 1024 * 1024,
};

/* This process, and where it is in the run. */
struct soak {
    uint64_t seed;
    int rank, ranks;    /* in MPI_COMM_WORLD */
    uint64_t epoch;     /* now */
    int round;          /* of the epoch */
    const char *kind;   /* of the round */
    const char *step;   /* of the round, for the watchdog */
    int step_number;    /* the message that the step is about, or -1 */
    uint64_t checked;   /* bytes compared so far */
    uint64_t messages;  /* messages compared so far */
    size_t block;       /* payload of a flagged block: sizes are drawn around its multiples */
    size_t largest;     /* btl_rbuf_largest_chunk */
    unsigned pause_max; /* ms: the longest that a rank computes */
};

extern struct soak soak;

/* Says where and what, and ends the job: what comes after a wrong byte means nothing. */
_Noreturn void soak_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An MPI call that must succeed. */
void soak_mpi(int code, const char *what);

/* Memory that must be there. */
void *soak_memory(size_t bytes);

static inline void soak_at(const char *step, int number)
{
    soak.step = step;
    soak.step_number = number;
}

/* ---- dice ---- */

struct dice {
    uint64_t state;
};

static inline uint64_t dice_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Dice for one place of the run; different for every pair of arguments. */
static inline struct dice dice_for(uint64_t place, uint64_t detail)
{
    return (struct dice){dice_mix(dice_mix(soak.seed + 1) ^ dice_mix(place * 2 + 1) ^
                                  dice_mix(detail + UINT64_C(0x632be59bd9b4e019)))};
}

static inline uint64_t dice_roll(struct dice *dice)
{
    dice->state += UINT64_C(0x9e3779b97f4a7c15);
    return dice_mix(dice->state);
}

/* 0 to below - 1. */
static inline size_t dice_below(struct dice *dice, size_t below)
{
    return below == 0 ? 0 : (size_t) (dice_roll(dice) % below);
}

static inline size_t dice_between(struct dice *dice, size_t first, size_t last)
{
    return first + dice_below(dice, last - first + 1);
}

static inline bool dice_percent(struct dice *dice, unsigned percent)
{
    return dice_below(dice, 100) < percent;
}

/* An index, as probable as its weight; weights end with a negative one. */
static inline int dice_weighted(struct dice *dice, const int *weights)
{
    size_t sum = 0, at;
    int i = 0;

    for (const int *w = weights; *w >= 0; w++) {
        sum += (size_t) *w;
    }
    for (at = dice_below(dice, sum); at >= (size_t) weights[i]; i++) {
        at -= (size_t) weights[i];
    }
    return i;
}

/* A length in bytes, at most `most`, likely near where a protocol changes its mind. */
size_t dice_bytes(struct dice *dice, size_t most);

/* ---- bytes ---- */

/* Writes bytes `from` to from + bytes - 1 of the message with that key. */
void pattern_fill(void *memory, size_t bytes, uint64_t key, size_t from);

/* The place of the first byte that is not as it should be; `bytes` if all are. */
size_t pattern_match(const void *memory, size_t bytes, uint64_t key, size_t from);

/* Which bytes of the message with that key these are; fewer than PATTERN_TELLING may not tell.
 * False if they are none of it. */
enum { PATTERN_LONGEST = 16 * SOAK_M, PATTERN_TELLING = 15 };
bool pattern_locate(const void *memory, size_t bytes, uint64_t key, size_t *at);

/* The place of the first byte that is not SOAK_UNTOUCHED; `bytes` if all are. */
size_t untouched_match(const void *memory, size_t bytes);

/* ---- what a round can be; every rank of the communicator calls it with equal dice ---- */

/* A communicator and what its members share. */
struct group {
    MPI_Comm comm;
    int rank, ranks; /* in comm */
    uint64_t id;     /* the same at all members, different for groups of one epoch */
};

void exchange_round(const struct group *group, struct dice dice);
void flood_round(const struct group *group, struct dice dice);
void repeat_round(const struct group *group, struct dice dice);
void truncate_round(const struct group *group, struct dice dice);
void collective_round(const struct group *group, struct dice dice);
void window_round(const struct group *group, struct dice dice);

/* Every rank sends the others enough of every kind that pools have grown to their limits. */
void warm_up(const struct group *group);

/* ---- memory and descriptors that the process holds ---- */

struct resources {
    size_t resident;    /* bytes */
    size_t pinned;      /* bytes, as the transport counts them; 0 if it does not */
    int descriptors;    /* open */
    bool pinned_counts; /* the transport has a counter */
};

void resources_open(void);
void resources_close(void);
void resources_look(struct resources *resources);

#endif
