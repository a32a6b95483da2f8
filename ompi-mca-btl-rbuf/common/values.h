/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Values on a command line. Nothing is rounded or guessed: what is not wholly understood is not
 * read, and then the output is left alone. Numbers with units are read by the component's own
 * reader, so that a size here is what it is in a parameter, and sizes are written as that reads
 * them. Pure functions, any thread.
 */
#ifndef RBUF_COMMON_VALUES_H
#define RBUF_COMMON_VALUES_H

#include <stdbool.h>

#include "params/values.h" /* mca_btl_rbuf_read_size(): 4096, 12k, 1M, in powers of 1024 */

enum {
    VALUE_ITEM_MAX = 64, /* characters of a list's item, the final 0 included */
    VALUE_SIZE_MAX = 24  /* and of a size */
};

/* Reads a number from least to most. */
bool value_number(const char *text, double least, double most, double *value);

/* The same without a fraction. */
bool value_whole(const char *text, int least, int most, int *value);

/* Reads a share: 0% to 100%, whole per cent. */
bool value_percent(const char *text, int *percent);

/* Takes the next item off a list with commas. *rest, which must not be NULL, is then what is behind
 * it, or NULL if it was the last one. False: the item is longer than any value. */
bool value_next(const char **rest, char item[VALUE_ITEM_MAX]);

/* Writes a size such as 12k or 1M; bytes where it is not whole. */
void value_size_text(char text[VALUE_SIZE_MAX], uint64_t bytes);

#endif
