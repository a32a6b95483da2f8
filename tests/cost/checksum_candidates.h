/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What else core/base/checksum.h could have been, each with a copy, for checksum_time. They are the
 * part of each that takes the time: nothing is made of what is left over at the end of a block.
 */
#ifndef RBUF_COST_CHECKSUM_CANDIDATES_H
#define RBUF_COST_CHECKSUM_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

/* Copies `bytes`, up to 4096, and returns a sum of them. */
typedef uint64_t checksum_candidate(void *to, const void *from, size_t bytes);

struct candidate {
    const char *name;
    checksum_candidate *call; /* NULL: this processor has not the instructions */
};

#define CANDIDATES 6u

/* Fills candidate[0..CANDIDATES). */
void checksum_candidates(struct candidate *candidate);

#endif
