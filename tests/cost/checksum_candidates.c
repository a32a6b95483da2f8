/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* The loops of checksums that were not taken (checksum_candidates.h), by AVX2 where they can. */
#include "checksum_candidates.h"

#include <string.h>

#include "core/base/checksum_key.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2")))
#define CRC    __attribute__((target("sse4.2")))

__extension__ typedef unsigned __int128 wide;

enum sum {
    SUM_NONE,     /* the copy alone, written as the others are */
    SUM_NH,       /* NH with words of 32 bits */
    SUM_NH_XOR,   /* that, and the exclusive or of the keyed words: what was taken */
    SUM_NH_TWICE, /* NH twice, the second time by a key that is shifted by two pairs */
};

static const uint64_t key[1024] __attribute__((aligned(64))) = {
    CHECKSUM_KEY_256(0), CHECKSUM_KEY_256(256), CHECKSUM_KEY_256(512), CHECKSUM_KEY_256(768)};

/* Four sums of lanes, which a real one would reduce. */
struct lanes {
    __m256i sum[4];
};

AVX2 INLINE __m256i product(__m256i word)
{
    return _mm256_mul_epu32(word, _mm256_srli_epi64(word, 32));
}

AVX2 INLINE void add(enum sum kind, struct lanes *lanes, __m256i vector, const __m256i *with)
{
    const unsigned char *shifted = (const unsigned char *) with + 16;
    __m256i word = _mm256_add_epi32(vector, *with);

    if (kind == SUM_NONE) {
        return;
    }
    lanes->sum[0] = _mm256_add_epi64(lanes->sum[0], product(word));
    if (kind == SUM_NH_XOR) {
        lanes->sum[1] = _mm256_xor_si256(lanes->sum[1], word);
    }
    if (kind == SUM_NH_TWICE) {
        word = _mm256_add_epi32(vector, _mm256_loadu_si256((const __m256i *) shifted));
        lanes->sum[1] = _mm256_add_epi64(lanes->sum[1], product(word));
    }
}

AVX2 INLINE uint64_t vectors(enum sum kind, unsigned char *to, const unsigned char *from,
                             size_t bytes)
{
    struct lanes lanes[2] = {0};
    uint64_t lane[4];
    size_t at = 0;

    for (; bytes - at >= 128; at += 128) {
        const __m256i *with = (const __m256i *) (key + at / 8);
        __m256i part[4];

#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            part[i] = _mm256_loadu_si256((const __m256i *) (from + at) + i);
            __asm__("" : "+x"(part[i]));
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            _mm256_storeu_si256((__m256i *) (to + at) + i, part[i]);
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            add(kind, &lanes[i % 2], part[i], with + i);
        }
    }
    memcpy(to + at, from + at, bytes - at);
    lanes[0].sum[0] = _mm256_add_epi64(lanes[0].sum[0], lanes[1].sum[0]);
    lanes[0].sum[1] = _mm256_xor_si256(lanes[0].sum[1], lanes[1].sum[1]);
    lanes[0].sum[0] = _mm256_xor_si256(lanes[0].sum[0], lanes[0].sum[1]);
    memcpy(lane, &lanes[0].sum[0], sizeof(lane));
    return lane[0] ^ lane[1] ^ lane[2] ^ lane[3];
}

AVX2 static uint64_t copy_alone(void *to, const void *from, size_t bytes)
{
    return vectors(SUM_NONE, to, from, bytes);
}

AVX2 static uint64_t nh(void *to, const void *from, size_t bytes)
{
    return vectors(SUM_NH, to, from, bytes);
}

AVX2 static uint64_t nh_xor(void *to, const void *from, size_t bytes)
{
    return vectors(SUM_NH_XOR, to, from, bytes);
}

AVX2 static uint64_t nh_twice(void *to, const void *from, size_t bytes)
{
    return vectors(SUM_NH_TWICE, to, from, bytes);
}

INLINE uint64_t take(unsigned char *to, const unsigned char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof(word));
    __asm__("" : "+r"(word));
    memcpy(to, &word, sizeof(word));
    return word;
}

/* Three streams, since an instruction takes three cycles and one can begin in each. */
CRC static uint64_t crc32c(void *to, const void *from, size_t bytes)
{
    const size_t third = bytes / 24 * 8;
    unsigned char *sink = to;
    const unsigned char *source = from;
    uint64_t crc[3] = {0};

    for (size_t at = 0; at < third; at += 8) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 3; i++) {
            crc[i] = _mm_crc32_u64(crc[i], take(sink + at + i * third, source + at + i * third));
        }
    }
    memcpy(sink + 3 * third, source + 3 * third, bytes - 3 * third);
    return crc[0] ^ crc[1] ^ crc[2];
}

/* NH with words of 64 bits, its sum of 128. */
static uint64_t nh_scalar(void *to, const void *from, size_t bytes)
{
    unsigned char *sink = to;
    const unsigned char *source = from;
    wide sum[2] = {0};
    size_t at = 0;

    for (; bytes - at >= 32; at += 32) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 2; i++) {
            uint64_t low = take(sink + at + 16 * i, source + at + 16 * i) + key[at / 8 + 2 * i];
            uint64_t high =
                take(sink + at + 16 * i + 8, source + at + 16 * i + 8) + key[at / 8 + 2 * i + 1];

            sum[i] += (wide) low * high;
        }
    }
    memcpy(sink + at, source + at, bytes - at);
    sum[0] += sum[1];
    return (uint64_t) sum[0] ^ (uint64_t) (sum[0] >> 64);
}

void checksum_candidates(struct candidate *candidate)
{
    const struct candidate all[CANDIDATES] = {
        {"the copy alone", copy_alone}, {"CRC32C, three streams", crc32c},
        {"NH, words of 32 bits", nh},   {"NH and exclusive or", nh_xor},
        {"NH twice", nh_twice},         {"NH, words of 64 bits", nh_scalar},
    };

    for (unsigned i = 0; i < CANDIDATES; i++) {
        candidate[i] = all[i];
        if (all[i].call == crc32c ? !__builtin_cpu_supports("sse4.2")
                                  : !__builtin_cpu_supports("avx2")) {
            candidate[i].call = NULL;
        }
    }
}
#else
void checksum_candidates(struct candidate *candidate)
{
    memset(candidate, 0, CANDIDATES * sizeof(*candidate));
}
#endif
