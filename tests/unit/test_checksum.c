/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The checksum: the same by all instructions, at every length and alignment;
 * the copy that it comes with, also while the source changes; and that it tells a block from each
 * that has part of another one's bytes. The bound that core/base/checksum.h states is counted out
 * with words of 3 bits.
 */
#include "core/base/checksum_paths.h"
#include "core/base/copy.h"
#include "random.h"
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#define LARGEST (140u * 1024)
#define ALIGN   64u
#define GUARD   64u
#define SPACE   (GUARD + ALIGN + LARGEST + GUARD)
#define PAYLOAD 4088u
#define WORDS   (PAYLOAD / 8)

static unsigned char source[SPACE], sink[SPACE];

static const size_t sizes[] = {4079,  4080,  4081,  4087,  4088,  4089,   4095,   4096,   4097,
                               4104,  8184,  8192,  8193,  65527, 65528,  65529,  65535,  65536,
                               65537, 65544, 69640, 98304, 98305, 131072, 131080, LARGEST};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* One path at one place: the value, the bytes and what lies around them. */
static void check_path(enum rbuf_checksum_path path, size_t from, size_t to, size_t bytes,
                       uint64_t expected)
{
    unsigned char *target = sink + GUARD + to;
    uint64_t sum;

    memset(target - GUARD, 0xa5, bytes + 2 * GUARD);
    sum = rbuf_copy_checksum_by(path, target, source + from, bytes);
    if (sum != expected || rbuf_checksum_by(path, source + from, bytes) != expected ||
        rbuf_checksum_by(path, target, bytes) != expected) {
        ck_abort_msg("path %d, %zu bytes, %zu to %zu: another value", path, bytes, from, to);
    }
    if (memcmp(target, source + from, bytes) != 0) {
        ck_abort_msg("path %d, %zu bytes, %zu to %zu: a wrong copy", path, bytes, from, to);
    }
    for (size_t i = 0; i < GUARD; i++) {
        if (target[-1 - (ptrdiff_t) i] != 0xa5 || target[bytes + i] != 0xa5) {
            ck_abort_msg("path %d, %zu bytes, %zu to %zu: wrote beside the target", path, bytes,
                         from, to);
        }
    }
}

static void check_paths(size_t from, size_t to, size_t bytes)
{
    uint64_t expected = rbuf_checksum(source + from, bytes);

    ck_assert_uint_eq(expected >> RBUF_CHECKSUM_BITS, 0);
    for (int path = 0; path < RBUF_CHECKSUM_PATHS; path++) {
        if (rbuf_checksum_has((enum rbuf_checksum_path) path)) {
            check_path((enum rbuf_checksum_path) path, from, to, bytes, expected);
        }
    }
    if (rbuf_copy_checksum(sink + GUARD + to, source + from, bytes) != expected) {
        ck_abort_msg("%zu bytes, %zu to %zu: another value", bytes, from, to);
    }
}

static void fill_source(void)
{
    sim_pattern_fill(source, sizeof(source), 1);
}

START_TEST(every_size)
{
    struct sim_random random = {5};

    fill_source();
    for (size_t bytes = 0; bytes <= 9000; bytes++) {
        check_paths(0, 0, bytes);
        check_paths(sim_random_below(&random, ALIGN), sim_random_below(&random, ALIGN), bytes);
    }
    for (size_t i = 0; i < SIZES; i++) {
        check_paths(0, 0, sizes[i]);
    }
}
END_TEST

START_TEST(every_alignment)
{
    fill_source();
    for (size_t bytes = 0; bytes <= 600; bytes++) {
        for (size_t shift = 0; shift < ALIGN; shift++) {
            check_paths(shift, 0, bytes);
            check_paths(0, shift, bytes);
        }
    }
    for (size_t i = 0; i < SIZES; i++) {
        size_t step = sizes[i] < 9000 ? 1 : 13;

        for (size_t from = 0; from < ALIGN; from += step) {
            for (size_t to = 0; to < ALIGN; to += step) {
                check_paths(from, to, sizes[i]);
            }
        }
    }
}
END_TEST

/* Values that were once computed, so that no change of the formula goes unseen: both sides of a
 * connection have to have the same. */
START_TEST(known_values)
{
    static const struct {
        size_t bytes;
        uint64_t sum;
    } known[] = {{0, UINT64_C(0x4c6cf8873a)},     {1, UINT64_C(0x40f0deb52f)},
                 {32, UINT64_C(0xbfcd4b34d9)},    {40, UINT64_C(0x4bb8be57ee)},
                 {4088, UINT64_C(0xe6b7e0dd9c)},  {4096, UINT64_C(0x5ae63f247c)},
                 {65528, UINT64_C(0x8c6f716224)}, {131072, UINT64_C(0x3d84fc08f2)}};

    fill_source();
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        ck_assert_msg(rbuf_checksum(source, known[i].bytes) == known[i].sum, "%zu bytes: %#llx",
                      known[i].bytes, (unsigned long long) rbuf_checksum(source, known[i].bytes));
    }
}
END_TEST

START_TEST(every_bit)
{
    const size_t lengths[] = {1, 7, 8, 40, PAYLOAD, 3 * PAYLOAD};

    fill_source();
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint64_t sum = rbuf_checksum(source, lengths[i]);

        for (size_t bit = 0; bit < 8 * lengths[i]; bit++) {
            source[bit / 8] ^= (unsigned char) (1u << bit % 8);
            if (rbuf_checksum(source, lengths[i]) == sum) {
                ck_abort_msg("%zu bytes: bit %zu makes no difference", lengths[i], bit);
            }
            source[bit / 8] ^= (unsigned char) (1u << bit % 8);
        }
    }
}
END_TEST

/* Zeros at the end are part of the content. */
START_TEST(every_length)
{
    static unsigned char zeros[2 * PAYLOAD];
    static uint64_t sum[2 * PAYLOAD];

    for (size_t bytes = 0; bytes < 2 * PAYLOAD; bytes++) {
        sum[bytes] = rbuf_checksum(zeros, bytes);
        for (size_t other = 0; other < bytes; other++) {
            if (sum[other] == sum[bytes]) {
                ck_abort_msg("%zu and %zu zeros have the same value", other, bytes);
            }
        }
    }
}
END_TEST

/* ---- a block that is partly written ---- */

enum content {
    CONTENT_ANY,     /* nothing that is like something else */
    CONTENT_ANY_TOO, /* another such */
    CONTENT_ZEROS,   /* memory that was never used */
    CONTENT_ONES,
    CONTENT_COUNTER,       /* 8 bytes that count, as most tests send */
    CONTENT_COUNTER_LATER, /* the same one message on */
    CONTENT_SHIFTED,       /* CONTENT_ANY, 8 bytes further on */
    CONTENT_INTS,          /* 4 bytes that count */
    CONTENT_DOUBLES,
    CONTENT_SIGNS, /* those with all signs changed: one high bit in each word */
    CONTENTS
};

static uint64_t content_word(enum content content, size_t word)
{
    double number = 1.0 + (double) word / 3;
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    switch (content) {
    case CONTENT_ANY:
        return sim_pattern(1, word + 1);
    case CONTENT_ANY_TOO:
        return sim_pattern(2, word);
    case CONTENT_ONES:
        return UINT64_MAX;
    case CONTENT_COUNTER:
        return word;
    case CONTENT_COUNTER_LATER:
        return word + 1;
    case CONTENT_SHIFTED:
        return sim_pattern(1, word);
    case CONTENT_INTS:
        return (2 * word + 1) << 32 | 2 * word;
    case CONTENT_DOUBLES:
        return bits;
    case CONTENT_SIGNS:
        return bits ^ UINT64_C(1) << 63;
    default:
        return 0;
    }
}

static void content_fill(enum content content, uint64_t *words)
{
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = content_word(content, i);
    }
}

/* A mixture is none of both, unless its bytes are. */
static void check_mixture(const uint64_t *mixed, const uint64_t *one, const uint64_t *other,
                          const uint64_t *sums, size_t at)
{
    uint64_t sum = rbuf_checksum(mixed, PAYLOAD);

    if ((sum == sums[0]) != (memcmp(mixed, one, PAYLOAD) == 0) ||
        (sum == sums[1]) != (memcmp(mixed, other, PAYLOAD) == 0)) {
        ck_abort_msg("mixed at word %zu: takes one content for another", at);
    }
}

/* `one` up to a word and `other` from there on; and one line of 64 bytes, or one word, of `one`. */
static void check_mixtures(const uint64_t *one, const uint64_t *other)
{
    const uint64_t sums[] = {rbuf_checksum(one, PAYLOAD), rbuf_checksum(other, PAYLOAD)};
    static uint64_t prefix[WORDS], mixed[WORDS];

    memcpy(prefix, other, PAYLOAD);
    for (size_t at = 0; at < WORDS; at++) {
        prefix[at] = one[at];
        check_mixture(prefix, one, other, sums, at);

        memcpy(mixed, other, PAYLOAD);
        mixed[at] = one[at];
        check_mixture(mixed, one, other, sums, at);
        for (size_t i = at + 1; i < at + 8 && i < WORDS; i++) {
            mixed[i] = one[i];
        }
        check_mixture(mixed, one, other, sums, at);
    }
}

START_TEST(every_mixture)
{
    static uint64_t one[WORDS], other[WORDS];

    content_fill((enum content) _i, one);
    for (int content = 0; content < CONTENTS; content++) {
        content_fill((enum content) content, other);
        if (content != _i) {
            ck_assert_uint_ne(rbuf_checksum(one, PAYLOAD), rbuf_checksum(other, PAYLOAD));
        }
        check_mixtures(one, other);
    }
}
END_TEST

/* The same words at other places: lines exchanged, and words. */
START_TEST(every_exchange)
{
    static uint64_t words[WORDS];
    uint64_t sum;

    content_fill(CONTENT_ANY, words);
    sum = rbuf_checksum(words, PAYLOAD);
    for (size_t at = 0; at < WORDS; at++) {
        for (size_t other = 0; other < at; other++) {
            uint64_t word = words[at];

            words[at] = words[other];
            words[other] = word;
            if (rbuf_checksum(words, PAYLOAD) == sum) {
                ck_abort_msg("words %zu and %zu can be exchanged", at, other);
            }
            words[other] = words[at];
            words[at] = word;
        }
    }
}
END_TEST

/* ---- a source that changes ---- */

static _Atomic bool over;

/* An adapter, as it were: two contents in turn, a line after the other. */
static void *write_source(void *unused)
{
    volatile uint64_t *words = (volatile uint64_t *) (void *) (source + GUARD);

    for (uint64_t turn = 0; !atomic_load_explicit(&over, memory_order_relaxed); turn++) {
        for (size_t i = 0; i < WORDS; i++) {
            words[i] = turn * UINT64_C(0x9e3779b97f4a7c15) + i;
        }
    }
    return unused;
}

/* The value is that of the bytes which were stored, whatever the source had before and after. */
START_TEST(changing_source)
{
    const size_t lengths[] = {40, 200, 1001, PAYLOAD, PAYLOAD - 1};
    unsigned char *from = source + GUARD, *to = sink + GUARD;
    unsigned changed = 0;
    pthread_t thread;

    atomic_store(&over, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_source, NULL), 0);
    for (unsigned turn = 0; turn < 100000 || (changed == 0 && turn < 10000000); turn++) {
        size_t bytes = lengths[turn % 5];
        /* One more than there are: what the processor is given otherwise. */
        int path = (int) (turn / 5 % (RBUF_CHECKSUM_PATHS + 1));
        uint64_t sum =
            path < RBUF_CHECKSUM_PATHS && rbuf_checksum_has((enum rbuf_checksum_path) path)
                ? rbuf_copy_checksum_by((enum rbuf_checksum_path) path, to, from, bytes)
                : rbuf_copy_checksum(to, from, bytes);

        changed += memcmp(to, from, bytes) != 0;
        if (rbuf_checksum(to, bytes) != sum) {
            ck_abort_msg("path %d, %zu bytes: the value is not of what was stored", path, bytes);
        }
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    ck_assert_msg(changed > 0, "the source never changed meanwhile");
}
END_TEST

/* ---- the bound ---- */

#define BITS  3u
#define MASK  ((1u << BITS) - 1)
#define TUPLE (4 * BITS) /* two pairs of words */

/* What the checksum has of a segment before its end, with words of BITS bits. */
static unsigned reduced(unsigned tuple, unsigned key)
{
    unsigned word[4], products;

    for (unsigned i = 0; i < 4; i++) {
        word[i] = ((tuple >> i * BITS) + (key >> i * BITS)) & MASK;
    }
    products = (word[0] * word[1] + word[2] * word[3]) & ((1u << 2 * BITS) - 1);
    return products << 2 * BITS | (word[0] ^ word[2]) << BITS | (word[1] ^ word[3]);
}

/*
 * All keys and all contents of two pairs. A content enters by its sum with the key alone, so that
 * one of the two that are compared may be 0.
 */
START_TEST(bound)
{
    unsigned most = 0;

    for (unsigned other = 1; other < 1u << TUPLE; other++) {
        unsigned equal = 0;

        for (unsigned key = 0; key < 1u << TUPLE; key++) {
            equal += reduced(0, key) == reduced(other, key);
        }
        most = equal > most ? equal : most;
    }
    ck_assert_msg(3 * most <= 2 * (1u << (TUPLE - BITS)), "%u of %u keys", most, 1u << TUPLE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checksum");

    unit_add(suite, every_size);
    unit_add(suite, every_alignment);
    unit_add(suite, known_values);
    unit_add(suite, every_bit);
    unit_add(suite, every_length);
    unit_add_loop(suite, every_mixture, CONTENTS);
    unit_add(suite, every_exchange);
    unit_add(suite, changing_source);
    unit_add(suite, bound);
    return unit_run(suite);
}
