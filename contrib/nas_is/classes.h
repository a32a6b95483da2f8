/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The problem classes of NAS IS and the key sequence.
 *
 * A class fixes the number of keys, their range, the buckets, and five test keys whose rank in
 * the sorted sequence is published for each of the ten iterations. The key sequence does not
 * depend on the number of ranks: a rank computes the state of the generator at its first key.
 */
#ifndef NAS_IS_CLASSES_H
#define NAS_IS_CLASSES_H

#include <stddef.h>
#include <stdint.h>

enum {
    IS_TEST_KEYS = 5,
    IS_ITERATIONS = 10,
};

/* A test key's rank in iteration t is rank + sign * (t + offset). */
struct is_test_key {
    int64_t index; /* which key of the whole sequence, from 0 */
    int64_t rank;
    int sign;
    int offset;
};

struct is_class {
    char name;
    int keys_log2;    /* number of keys over all ranks */
    int max_key_log2; /* keys are below 2^max_key_log2 */
    int buckets_log2;
    int min_ranks; /* what NPB accepts */
    int max_ranks;
    struct is_test_key test[IS_TEST_KEYS];
};

/* The class of that letter, NULL if there is none. */
const struct is_class *is_class_find(char name);

/* The rank that test key `test` (0..4) must have in iteration `t` (1..10). */
int64_t is_expected_rank(const struct is_class *cls, int test, int t);

/* Fills keys[0..count) with the keys first, first + 1, ... of the class's sequence. */
void is_generate_keys(const struct is_class *cls, int64_t first, uint32_t *keys, size_t count);

#endif
