/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Inputs that are a sequence of steps: records of one size, which are mutated as such, so that what
 * comes behind a change keeps its meaning.
 */
#ifndef RBUF_FUZZ_RECORDS_H
#define RBUF_FUZZ_RECORDS_H

#include <stddef.h>
#include <stdint.h>

/* One step. What a code means, and what its operands, is the target's. */
struct record {
    uint8_t code;
    uint8_t which;
    uint16_t amount;
    uint32_t spare;
    uint64_t value;
};

#define RECORD_BYTES 16u

/* Takes the record at the front of [*data, *data + *left); zeros behind the end. False if nothing
 * is left. */
bool record_take(const uint8_t **data, size_t *left, struct record *record);

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t max_size,
                                 unsigned int seed);

#endif
