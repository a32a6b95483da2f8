/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What every fuzzing target starts with: reading the input piece by piece, and saying what must
 * hold. A target is one file fuzz_NAME.c with LLVMFuzzerTestOneInput(); run.sh knows how to build
 * it.
 *
 * An input is used up from its front; behind its end there are zeros. All of a target is a function
 * of the input alone, so that what libFuzzer finds happens again.
 */
#ifndef RBUF_FUZZ_H
#define RBUF_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is a finding unless `holds`. */
static inline void fuzz_require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz: does not hold: %s\n", what);
        abort();
    }
}

#define FUZZ_CHANGES '+' /* first byte of an input that fuzz_change() is for */

/* Applies an input that is a list of changes, each two bytes of where and one of what, to a good
 * message: unlike one that is a message itself, it outlives the message's form and version. */
static inline void fuzz_change(void *message, size_t bytes, const uint8_t *changes, size_t size)
{
    for (; size >= 3; changes += 3, size -= 3) {
        ((uint8_t *) message)[(changes[0] | (size_t) changes[1] << 8) % bytes] = changes[2];
    }
}

struct fuzz_input {
    const uint8_t *data;
    size_t left;
};

/* The next bytes, little end first, as a number. */
static inline uint64_t fuzz_take(struct fuzz_input *input, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes && input->left > 0; i++, input->left--) {
        value |= (uint64_t) *input->data++ << (8 * i);
    }
    return value;
}

/* The next bytes, up to `stop` (which is used up too) or to the end, as a text of its own, which
 * the caller frees. It is no longer than needed, so that a read behind its end shows. */
static inline char *fuzz_text(struct fuzz_input *input, char stop)
{
    size_t length = 0;
    char *text;

    while (length < input->left && input->data[length] != (uint8_t) stop &&
           input->data[length] != 0) {
        length++;
    }
    text = malloc(length + 1);
    fuzz_require(text != NULL, "there is memory");
    if (length > 0) {
        memcpy(text, input->data, length);
    }
    text[length] = '\0';
    input->data += length;
    input->left -= length;
    if (input->left > 0) {
        input->data++;
        input->left--;
    }
    return text;
}

/* Bytes that this thread has on the heap, to be compared with another such sum (heap.c). */
size_t fuzz_heap(void);

#endif
