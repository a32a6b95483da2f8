/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The key of the checksum (core/base/checksum.h): numbers that look random, the same everywhere.
 *
 * Number n is the n-th of splitmix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014, section 5), seeded with the first 64 bits of the
 * fraction of pi. It depends on n alone, so the compiler makes the table.
 */
#ifndef RBUF_CORE_CHECKSUM_KEY_H
#define RBUF_CORE_CHECKSUM_KEY_H

#include <stdint.h>

#define CHECKSUM_KEY_SEED UINT64_C(0x243f6a8885a308d3)

#define CHECKSUM_KEY_STEP(n) (CHECKSUM_KEY_SEED + ((n) + 1) * UINT64_C(0x9e3779b97f4a7c15))
#define CHECKSUM_KEY_MIX1(z) (((z) ^ (z) >> 30) * UINT64_C(0xbf58476d1ce4e5b9))
#define CHECKSUM_KEY_MIX2(z) (((z) ^ (z) >> 27) * UINT64_C(0x94d049bb133111eb))
#define CHECKSUM_KEY_MIX3(z) ((z) ^ (z) >> 31)

/* The n-th number, a constant. */
#define CHECKSUM_KEY(n)                                                                            \
    CHECKSUM_KEY_MIX3(CHECKSUM_KEY_MIX2(CHECKSUM_KEY_MIX1(CHECKSUM_KEY_STEP((uint64_t) (n)))))

/* So many of them from the n-th on, as a table is initialised. */
#define CHECKSUM_KEY_4(n)                                                                          \
    CHECKSUM_KEY(n), CHECKSUM_KEY((n) + 1), CHECKSUM_KEY((n) + 2), CHECKSUM_KEY((n) + 3)
#define CHECKSUM_KEY_16(n)                                                                         \
    CHECKSUM_KEY_4(n), CHECKSUM_KEY_4((n) + 4), CHECKSUM_KEY_4((n) + 8), CHECKSUM_KEY_4((n) + 12)
#define CHECKSUM_KEY_64(n)                                                                         \
    CHECKSUM_KEY_16(n), CHECKSUM_KEY_16((n) + 16), CHECKSUM_KEY_16((n) + 32),                      \
        CHECKSUM_KEY_16((n) + 48)
#define CHECKSUM_KEY_256(n)                                                                        \
    CHECKSUM_KEY_64(n), CHECKSUM_KEY_64((n) + 64), CHECKSUM_KEY_64((n) + 128),                     \
        CHECKSUM_KEY_64((n) + 192)

#endif
