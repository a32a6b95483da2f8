/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The table of classes and the generator x' = 5^13 x mod 2^46.
 *
 * All arithmetic is on integers: 2^46 divides 2^64, so products may wrap, and a key, the floor of
 * (range / 4) times the sum of four numbers in [0, 1), is a shift of the sum of four states.
 */
#include "classes.h"

static const struct is_class classes[] = {
    {'S',
     16,
     11,
     9,
     1,
     128,
     {{48427, 0, 1, 0},
      {17148, 18, 1, 0},
      {23627, 346, 1, 0},
      {62548, 64917, -1, 0},
      {4431, 65463, -1, 0}}},
    {'W',
     20,
     16,
     10,
     1,
     1024,
     {{357773, 1249, 1, -2},
      {934767, 11698, 1, -2},
      {875723, 1039987, -1, 0},
      {898999, 1043896, -1, 0},
      {404505, 1048018, -1, 0}}},
    {'A',
     23,
     19,
     10,
     1,
     1024,
     {{2112377, 104, 1, -1},
      {662041, 17523, 1, -1},
      {5336171, 123928, 1, -1},
      {3642833, 8288932, -1, -1},
      {4250760, 8388264, -1, -1}}},
    {'B',
     25,
     21,
     10,
     1,
     1024,
     {{41869, 33422937, -1, 0},
      {812306, 10244, 1, 0},
      {5102857, 59149, 1, 0},
      {18232239, 33135281, -1, 0},
      {26860214, 99, 1, 0}}},
    {'C',
     27,
     23,
     10,
     1,
     1024,
     {{44172927, 61147, 1, 0},
      {72999161, 882988, 1, 0},
      {74326391, 266290, 1, 0},
      {129606274, 133997595, -1, 0},
      {21736814, 133525895, -1, 0}}},
    {'D',
     31,
     27,
     10,
     4,
     1024,
     {{1317351170, 1, 1, 0},
      {995930646, 36538729, 1, 0},
      {1157283250, 1978098519, -1, 0},
      {1503301535, 2145192618, -1, 0},
      {1453734525, 2147425337, -1, 0}}},
};

static const uint64_t MULTIPLIER = 1220703125; /* 5^13 */
static const uint64_t SEED = 314159265;
static const uint64_t MASK = (UINT64_C(1) << 46) - 1;

const struct is_class *is_class_find(char name)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (classes[i].name == name) {
            return &classes[i];
        }
    }
    return NULL;
}

int64_t is_expected_rank(const struct is_class *cls, int test, int t)
{
    const struct is_test_key *key = &cls->test[test];

    return key->rank + (int64_t) key->sign * (t + key->offset);
}

/* The state after `steps` steps from the seed: the multiplier is raised by squaring. */
static uint64_t state_after(uint64_t steps)
{
    uint64_t power = MULTIPLIER;
    uint64_t state = SEED;

    for (; steps > 0; steps >>= 1) {
        if (steps & 1) {
            state = state * power & MASK;
        }
        power = power * power & MASK;
    }
    return state;
}

void is_generate_keys(const struct is_class *cls, int64_t first, uint32_t *keys, size_t count)
{
    const int shift = 46 + 2 - cls->max_key_log2;
    uint64_t state = state_after(4 * (uint64_t) first);

    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (int draw = 0; draw < 4; draw++) {
            state = state * MULTIPLIER & MASK;
            sum += state;
        }
        keys[i] = (uint32_t) (sum >> shift);
    }
}
