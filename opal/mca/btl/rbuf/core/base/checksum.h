/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A checksum of 40 bits, by which a receiver knows that what it copied is what was sent. What is
 * wrong is most likely what the memory had before: bytes of an earlier message, often much like
 * these, from some place on or in some lines.
 *
 * The formula. A segment is 4 KB of the content; bytes that are missing in its last 8 count as 0.
 * Its words of 32 bits get a word of the key each, modulo 2^32; t is such a sum. Then, over pairs,
 *
 *     N = sum of t[2i] * t[2i+1], modulo 2^64
 *     X = exclusive or of the pairs (t[2i], t[2i+1]): 64 bits
 *
 * N is NH (J. Black, S. Halevi, H. Krawczyk, T. Krovetz, P. Rogaway, "UMAC: fast and secure message
 * authentication", CRYPTO 1999, section 4). Segments that are complete become 60 bits each of
 * (N, X) and then a polynomial P modulo 2^61 - 1. The value is the highest 40 bits of
 * a * (N + l * bytes) + b * X + c * P + d, modulo 2^128, where N and X are of what is not complete:
 * multiply-shift (M. Thorup, "High speed hashing for integers and strings", 2015, section 3).
 *
 * The bound. The key is fixed, the same everywhere and no secret: it protects from chance, not from
 * somebody who chooses contents by it. For two different contents that were not chosen by it, each
 * below 2 GB, and the key drawn at random, the values are equal with a probability below 0.7 *
 * 2^-32. Of the same length, take a segment where they differ.
 *
 *  1. Some word differs by something else than 2^31; say it is the first of its pair. Let v be the
 *     lowest bit of the difference. Bit v of t changes, and bit v + 1 does or not as bit v of t was
 *     before. So X is the same for at most half of the keys of first words. Whichever those are, at
 *     most one key in 2^32 of the pair's second word has the same N: this is the UMAC paper's proof
 *     for NH. Both: 1/2 * 2^-32. Likewise with first and second exchanged.
 *  2. All words that differ do so by 2^31, their highest bit. For the same X their number is even
 *     among the first words, and among the second, so two pairs at least differ. What each adds to
 *     the difference of N is independent of the other, and a multiple of 2^31. Two independent
 *     values have the sum that is wanted with at most the root of (sum of squared probabilities of
 *     one, times that of the other). One word differs: +-t * 2^31 by the sign of the other, squares
 *     sum to 1/2 * 2^-32. Both do: two triangles, squares sum to 2/3 * 2^-32.
 *
 * So (N, X) is the same with at most 0.67 * 2^-32. To that add 2^-40 for the end, 2^-60 and n *
 * 2^-60 for n complete segments; of different lengths, N is the same with at most 2^-33, by l.
 * Without X the bound of NH is 2^-32, which the 2^-40 exceeds. Step 2's factor is counted out for
 * short words by tests/unit/test_checksum.c.
 *
 * Why this one. tests/cost/checksum_time candidates has the speed of each with its copy, as a part
 * of rbuf_copy()'s, at 4088 bytes by AVX2. On an AMD EPYC of family 26:
 *
 *                                second cache   from memory   to memory   nearest cache
 *     NH                              0.90          0.74         0.87          0.55
 *     NH and X (this)                 0.86          0.75         0.90          0.50
 *     NH twice, shifted key           0.71          0.65         0.88          0.37
 *     CRC32C, three streams           0.46          0.31         0.28          0.22
 *     NH, words of 64 bits            0.35          0.46         0.53          0.15
 *
 * The complete function has some hundredths less. NH alone has 2^-32, which the end's 2^-40 makes
 * more; CRC32C has no such bound; NH twice has 2^-64, more than 40 bits can have. XXH3 multiplies
 * pairs of words likewise, without a proven bound; it was not measured.
 *
 * Any thread: nothing is written but what the caller hands in.
 */
#ifndef RBUF_CORE_CHECKSUM_H
#define RBUF_CORE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define RBUF_CHECKSUM_BITS 40u

/* Of `bytes` bytes at `data`, of any alignment; 40 bits. Equal bytes and length give equal values
 * on every machine of the same (little) byte order, whatever instructions it has. */
uint64_t rbuf_checksum(const void *data, size_t bytes);

/* Copies like rbuf_copy() (core/base/copy.h) between regions that do not overlap, and returns
 * rbuf_checksum(from, bytes) of the values that it stored: each byte of the source is loaded once,
 * since an adapter may be writing it. */
uint64_t rbuf_copy_checksum(void *to, const void *from, size_t bytes);

/* A checksum of what stands in memory for its `use`-th use: those of equal bytes differ from one
 * use to the next, and come again only after 2^40. */
static inline uint64_t rbuf_checksum_of_use(uint64_t checksum, uint64_t use)
{
    return (checksum + use * 0x9e3779b97f4a7c15u) & ((1ull << RBUF_CHECKSUM_BITS) - 1);
}

#endif
