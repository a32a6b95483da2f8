/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A checksum of 40 bits by which a receiver knows that what it copied is what was sent.
 *
 * NH (J. Black, S. Halevi, H. Krawczyk, T. Krovetz, P. Rogaway, "UMAC: fast and secure message
 * authentication", CRYPTO 1999, section 4) over words of 32 bits, beside an exclusive or, by
 * segments of 4 KB.
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

/* A checksum in pieces; the caller owns it and nothing has to be freed. */
struct rbuf_checksum_state {
    uint64_t products; /* of the segment of 4 KB that is not complete: sum of products */
    uint64_t words;    /* and exclusive or of words */
    uint64_t segments; /* of those that are complete: a polynomial */
    uint64_t bytes;    /* so far */
};

void rbuf_checksum_begin(struct rbuf_checksum_state *state);

/* Adds `bytes` at `data`: a multiple of 8, but for the last time before rbuf_checksum_end(). */
void rbuf_checksum_add(struct rbuf_checksum_state *state, const void *data, size_t bytes);

/* Returns what rbuf_checksum() returns for all that was added, in one. */
uint64_t rbuf_checksum_end(const struct rbuf_checksum_state *state);

/* A checksum of what stands in memory for its `use`-th use: those of equal bytes differ from one
 * use to the next, and come again only after 2^40. */
static inline uint64_t rbuf_checksum_of_use(uint64_t checksum, uint64_t use)
{
    return (checksum + use * 0x9e3779b97f4a7c15u) & ((1ull << RBUF_CHECKSUM_BITS) - 1);
}

#endif
