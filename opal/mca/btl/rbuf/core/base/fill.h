/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What stands in memory that an adapter is about to write, where a checksum proves what has come.
 *
 * A checksum says what the receiver has read, not that all of the write is placed: a word that is
 * still under way may be like the word that stands there, as in a buffer of zeros. Were the place
 * then given back, the word could land in its next use. So before the sender may write it, a place
 * is filled with a value that no payload has: then a checksum that is right says that every word
 * is there, and that nothing more comes (tests/model/placement.pml).
 *
 * The value is random and stays in this process, so a payload has it by chance alone: 2^-57 a word.
 * It never looks like the word at the end of a ring message (core/eager/ring_word.h). It is told
 * apart by aligned words of 8 bytes: of an adapter that places single bytes of a word late one in
 * 256 would go unseen.
 */
#ifndef RBUF_CORE_FILL_H
#define RBUF_CORE_FILL_H

#include <stddef.h>
#include <stdint.h>

/* The value, made of 64 random bits; 0 makes one that is not random, for tests. Its highest 7 bits
 * are the tag that no word has. */
static inline uint64_t rbuf_fill_value(uint64_t random)
{
    return (random ^ 0x9e3779b97f4a7c15u) >> 7;
}

/* Fills `bytes`, a multiple of 8, from `to` on, aligned to 8. */
static inline void rbuf_fill(void *to, size_t bytes, uint64_t value)
{
    typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
    unsigned char *at = to;

    for (; bytes >= sizeof(pair); bytes -= sizeof(pair), at += sizeof(pair)) {
        *(pair *) (void *) at = (pair){value, value};
    }
    if (bytes > 0) {
        *(uint64_t *) (void *) at = value;
    }
}

#endif
