/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The checksum of core/base/checksum.h, where its formula and bound are: once for each set of
 * instructions.
 *
 * A path is a constant wherever it is handed on, and what it is handed to is always_inline: each
 * path is compiled into code of its own, with and without the copy.
 */
#include "core/base/checksum_paths.h"

#include <string.h>

#include "core/base/checksum_key.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SEGMENT_BYTES 4096u
#define SEGMENT_WORDS (SEGMENT_BYTES / 8)
#define PRIME         ((UINT64_C(1) << 61) - 1)
#define TURN_BYTES    128u
#define LARGE_BYTES   256u /* from here on the wider vectors win what their call takes */
#define INLINE        static inline __attribute__((always_inline))

__extension__ typedef unsigned __int128 wide;

/* What is added to the words of a segment. */
static const uint64_t segment_key[SEGMENT_WORDS]
    __attribute__((aligned(64))) = {CHECKSUM_KEY_256(0), CHECKSUM_KEY_256(256)};

/* Factors of 128 bits are two numbers of the key each, low half first. */
static const uint64_t segment_factor[] = {CHECKSUM_KEY_4(512)};
static const uint64_t end_factor[] = {CHECKSUM_KEY_4(516), CHECKSUM_KEY(520), CHECKSUM_KEY(521)};
static const uint64_t end_term[] = {CHECKSUM_KEY(522), CHECKSUM_KEY(523)};
static const uint64_t length_factor = CHECKSUM_KEY(524);
static const uint64_t point = CHECKSUM_KEY(525) >> 3; /* of the polynomial */

/* What one segment is reduced to. */
struct pair {
    uint64_t products;
    uint64_t words;
};

/* Where the bytes come from and where they go to; NULL: they are not copied. */
struct run {
    const unsigned char *from;
    unsigned char *to;
};

/*
 * A value that was loaded is in a register from here on. The compiler sees the source as memory
 * that nobody writes and may otherwise load it again instead of keeping it.
 */
INLINE uint64_t loaded(uint64_t word)
{
    __asm__("" : "+r"(word));
    return word;
}

INLINE uint64_t load_word(const unsigned char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof(word));
    return word;
}

/* The key of what stands `at` bytes behind the beginning of a segment. */
INLINE const unsigned char *key_at(size_t at)
{
    return (const unsigned char *) segment_key + at;
}

INLINE void add_word(struct pair *pair, uint64_t word, uint64_t key)
{
    uint32_t low = (uint32_t) word + (uint32_t) key;
    uint32_t high = (uint32_t) (word >> 32) + (uint32_t) (key >> 32);

    pair->products += (uint64_t) low * high;
    pair->words ^= (uint64_t) high << 32 | low;
}

/* 4, 2 and 1 bytes: as many as are left, each loaded once. */
INLINE uint64_t take_tail(struct run run, size_t at, size_t bytes, bool copying)
{
    uint64_t word = 0;
    size_t done = 0;

#pragma GCC unroll 3
    for (size_t part = 4; part > 0; part /= 2) {
        uint64_t value = 0;

        if ((bytes & part) == 0) {
            continue;
        }
        memcpy(&value, run.from + at + done, part);
        value = loaded(value);
        if (copying) {
            memcpy(run.to + at + done, &value, part);
        }
        word |= value << (8 * done);
        done += part;
    }
    return word;
}

/* The rest of a run from `at` on, 8 bytes at a time; what is missing in the last counts as 0. */
INLINE void words_portable(struct pair *pair, struct run run, size_t at, size_t bytes, bool copying)
{
    for (; bytes - at >= 8; at += 8) {
        uint64_t word = loaded(load_word(run.from + at));

        if (copying) {
            memcpy(run.to + at, &word, sizeof(word));
        }
        add_word(pair, word, load_word(key_at(at)));
    }
    if (at < bytes) {
        add_word(pair, take_tail(run, at, bytes - at, copying), load_word(key_at(at)));
    }
}

#if defined(__x86_64__)
/* Sums in the making, one in each lane of 64 bits. */
struct lanes16 {
    __m128i products;
    __m128i words;
};

INLINE void add_vector16(struct lanes16 *lanes, __m128i vector, __m128i key)
{
    vector = _mm_add_epi32(vector, key);
    lanes->products =
        _mm_add_epi64(lanes->products, _mm_mul_epu32(vector, _mm_srli_epi64(vector, 32)));
    lanes->words = _mm_xor_si128(lanes->words, vector);
}

INLINE void add_lanes16(struct pair *pair, const struct lanes16 *lanes)
{
    __m128i products =
        _mm_add_epi64(lanes->products, _mm_unpackhi_epi64(lanes->products, lanes->products));
    __m128i words = _mm_xor_si128(lanes->words, _mm_unpackhi_epi64(lanes->words, lanes->words));
    uint64_t sum;

    _mm_storel_epi64((__m128i *) &sum, products);
    pair->products += sum;
    _mm_storel_epi64((__m128i *) &sum, words);
    pair->words ^= sum;
}

/* 16 bytes at a time from `at` on, a multiple of 16. Returns the bytes done. */
INLINE size_t vectors_sse2(struct lanes16 *lanes, struct run run, size_t at, size_t bytes,
                           bool copying)
{
    for (; bytes - at >= 16; at += 16) {
        __m128i vector = _mm_loadu_si128((const __m128i *) (run.from + at));

        __asm__("" : "+x"(vector));
        if (copying) {
            _mm_storeu_si128((__m128i *) (run.to + at), vector);
        }
        add_vector16(lanes, vector, _mm_load_si128((const __m128i *) key_at(at)));
    }
    return at;
}

#define AVX2 __attribute__((target("avx2")))

/* The same of lanes that are twice as many. */
struct lanes32 {
    __m256i products;
    __m256i words;
};

AVX2 INLINE void add_vector32(struct lanes32 *lanes, __m256i vector, const unsigned char *key)
{
    vector = _mm256_add_epi32(vector, _mm256_loadu_si256((const __m256i *) key));
    lanes->products =
        _mm256_add_epi64(lanes->products, _mm256_mul_epu32(vector, _mm256_srli_epi64(vector, 32)));
    lanes->words = _mm256_xor_si256(lanes->words, vector);
}

AVX2 INLINE struct lanes16 halves_of(const struct lanes32 *lanes)
{
    return (struct lanes16){.products = _mm_add_epi64(_mm256_castsi256_si128(lanes->products),
                                                      _mm256_extracti128_si256(lanes->products, 1)),
                            .words = _mm_xor_si128(_mm256_castsi256_si128(lanes->words),
                                                   _mm256_extracti128_si256(lanes->words, 1))};
}

/* 128 bytes a turn, all loads before the stores. Returns the bytes done. */
AVX2 INLINE size_t turns_avx2(struct lanes32 *lanes, struct run run, size_t bytes, bool copying)
{
    size_t at = 0;

    for (; bytes - at >= TURN_BYTES; at += TURN_BYTES) {
        const __m256i *source = (const __m256i *) (run.from + at);
        __m256i a = _mm256_loadu_si256(source);
        __m256i b = _mm256_loadu_si256(source + 1);
        __m256i c = _mm256_loadu_si256(source + 2);
        __m256i d = _mm256_loadu_si256(source + 3);

        __asm__("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d));
        if (copying) {
            __m256i *sink = (__m256i *) (run.to + at);

            _mm256_storeu_si256(sink, a);
            _mm256_storeu_si256(sink + 1, b);
            _mm256_storeu_si256(sink + 2, c);
            _mm256_storeu_si256(sink + 3, d);
        }
        add_vector32(&lanes[0], a, key_at(at));
        add_vector32(&lanes[1], b, key_at(at + 32));
        add_vector32(&lanes[0], c, key_at(at + 64));
        add_vector32(&lanes[1], d, key_at(at + 96));
    }
    return at;
}

AVX2 INLINE void run_avx2(struct pair *pair, struct run run, size_t bytes, bool copying)
{
    struct lanes32 lanes[2] = {0};
    struct lanes16 halves;
    size_t at = turns_avx2(lanes, run, bytes, copying);

    for (; bytes - at >= 32; at += 32) {
        __m256i vector = _mm256_loadu_si256((const __m256i *) (run.from + at));

        __asm__("" : "+x"(vector));
        if (copying) {
            _mm256_storeu_si256((__m256i *) (run.to + at), vector);
        }
        add_vector32(&lanes[0], vector, key_at(at));
    }
    lanes[0].products = _mm256_add_epi64(lanes[0].products, lanes[1].products);
    lanes[0].words = _mm256_xor_si256(lanes[0].words, lanes[1].words);
    halves = halves_of(&lanes[0]);
    at = vectors_sse2(&halves, run, at, bytes, copying);
    add_lanes16(pair, &halves);
    words_portable(pair, run, at, bytes, copying);
}

/* Not inlined: what is compiled for fewer instructions cannot hold it. */
AVX2 static struct pair large_avx2(const struct run *run, size_t bytes)
{
    struct pair pair = {0};

    if (run->to != NULL) {
        run_avx2(&pair, *run, bytes, true);
    } else {
        run_avx2(&pair, *run, bytes, false);
    }
    return pair;
}
#endif

/* Adds `bytes` that lie in one segment. */
INLINE void add_run(enum rbuf_checksum_path path, struct pair *pair, struct run run, size_t bytes,
                    bool copying)
{
    size_t at = 0;

#if defined(__x86_64__)
    if (path == RBUF_CHECKSUM_AVX2 && bytes >= LARGE_BYTES) {
        const struct pair more = large_avx2(&run, bytes);

        pair->products += more.products;
        pair->words ^= more.words;
        return;
    }
    if (path != RBUF_CHECKSUM_PORTABLE) {
        struct lanes16 lanes = {_mm_setzero_si128(), _mm_setzero_si128()};

        at = vectors_sse2(&lanes, run, at, bytes, copying);
        add_lanes16(pair, &lanes);
    }
#else
    (void) path;
#endif
    words_portable(pair, run, at, bytes, copying);
}

/* factor * value modulo 2^128. */
INLINE wide times(const uint64_t *factor, uint64_t value)
{
    return (wide) factor[0] * value + ((wide) (factor[1] * value) << 64);
}

/* value * point + next modulo PRIME, for a value and a next below it. */
INLINE uint64_t horner(uint64_t value, uint64_t next)
{
    wide product = (wide) value * point + next;
    uint64_t sum = ((uint64_t) product & PRIME) + (uint64_t) (product >> 61);

    sum = (sum & PRIME) + (sum >> 61);
    return sum == PRIME ? 0 : sum;
}

/* The polynomial of the segments that are complete, with one more. */
INLINE uint64_t add_segment(uint64_t segments, const struct pair *pair)
{
    wide sum = times(segment_factor, pair->products) + times(segment_factor + 2, pair->words);

    return horner(segments, (uint64_t) (sum >> 68));
}

/* The highest 40 bits of a sum of 128; `segments` is 0 where none is complete. */
INLINE uint64_t end(const struct pair *pair, uint64_t segments, uint64_t bytes)
{
    const uint64_t products = pair->products + length_factor * bytes;
    wide low = ((wide) end_term[1] << 64 | end_term[0]) + (wide) end_factor[0] * products +
               (wide) end_factor[2] * pair->words + (wide) end_factor[4] * segments;
    uint64_t high = (uint64_t) (low >> 64) + end_factor[1] * products +
                    end_factor[3] * pair->words + end_factor[5] * segments;

    return high >> (64 - RBUF_CHECKSUM_BITS);
}

INLINE uint64_t whole(enum rbuf_checksum_path path, void *to, const void *from, size_t bytes,
                      bool copying)
{
    struct run run = {.from = from, .to = to};
    struct pair pair = {0};
    uint64_t segments = 0;
    size_t left = bytes;

    for (; left >= SEGMENT_BYTES; left -= SEGMENT_BYTES) {
        add_run(path, &pair, run, SEGMENT_BYTES, copying);
        segments = add_segment(segments, &pair);
        pair = (struct pair){0};
        run.from += SEGMENT_BYTES;
        run.to = copying ? run.to + SEGMENT_BYTES : NULL;
    }
    add_run(path, &pair, run, left, copying);
    return end(&pair, segments, bytes);
}

#if defined(__x86_64__)
/* What an eager ring's short message has: a multiple of 8 bytes below LARGE_BYTES, without a call.
 */
INLINE uint64_t short_sse2(unsigned char *to, const unsigned char *from, size_t bytes, bool copying)
{
    const struct run run = {.from = from, .to = to};
    const size_t whole = bytes / 16 * 16;
    struct lanes16 lanes = {_mm_setzero_si128(), _mm_setzero_si128()};
    struct pair pair = {0};

    if (whole < bytes) {
        __m128i vector = _mm_loadl_epi64((const __m128i *) (from + whole));

        __asm__("" : "+x"(vector));
        if (copying) {
            _mm_storel_epi64((__m128i *) (to + whole), vector);
        }
        add_vector16(&lanes, vector, _mm_loadl_epi64((const __m128i *) key_at(whole)));
    }
    (void) vectors_sse2(&lanes, run, 0, whole, copying);
    add_lanes16(&pair, &lanes);
    return end(&pair, 0, bytes);
}
#endif

static uint64_t whole_portable(void *to, const void *from, size_t bytes)
{
    return to != NULL ? whole(RBUF_CHECKSUM_PORTABLE, to, from, bytes, true)
                      : whole(RBUF_CHECKSUM_PORTABLE, NULL, from, bytes, false);
}

#if defined(__x86_64__)
static uint64_t whole_sse2(void *to, const void *from, size_t bytes)
{
    return to != NULL ? whole(RBUF_CHECKSUM_SSE2, to, from, bytes, true)
                      : whole(RBUF_CHECKSUM_SSE2, NULL, from, bytes, false);
}

static uint64_t whole_avx2(void *to, const void *from, size_t bytes)
{
    return to != NULL ? whole(RBUF_CHECKSUM_AVX2, to, from, bytes, true)
                      : whole(RBUF_CHECKSUM_AVX2, NULL, from, bytes, false);
}
#endif

/* The best that the processor has. */
INLINE uint64_t choose(void *to, const void *from, size_t bytes, bool copying)
{
#if defined(__x86_64__)
    if (bytes < LARGE_BYTES) {
        return bytes % 8 == 0 ? short_sse2(to, from, bytes, copying) : whole_sse2(to, from, bytes);
    }
    return __builtin_cpu_supports("avx2") ? whole_avx2(to, from, bytes)
                                          : whole_sse2(to, from, bytes);
#else
    (void) copying;
    return whole_portable(to, from, bytes);
#endif
}

uint64_t rbuf_checksum(const void *data, size_t bytes)
{
    return choose(NULL, data, bytes, false);
}

uint64_t rbuf_copy_checksum(void *to, const void *from, size_t bytes)
{
    return choose(to, from, bytes, true);
}

bool rbuf_checksum_has(enum rbuf_checksum_path path)
{
#if defined(__x86_64__)
    return path != RBUF_CHECKSUM_AVX2 || __builtin_cpu_supports("avx2");
#else
    return path == RBUF_CHECKSUM_PORTABLE;
#endif
}

uint64_t rbuf_copy_checksum_by(enum rbuf_checksum_path path, void *to, const void *from,
                               size_t bytes)
{
#if defined(__x86_64__)
    if (path == RBUF_CHECKSUM_AVX2) {
        return whole_avx2(to, from, bytes);
    }
    if (path == RBUF_CHECKSUM_SSE2) {
        return whole_sse2(to, from, bytes);
    }
#endif
    (void) path;
    return whole_portable(to, from, bytes);
}

uint64_t rbuf_checksum_by(enum rbuf_checksum_path path, const void *data, size_t bytes)
{
    return rbuf_copy_checksum_by(path, NULL, data, bytes);
}
