/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Values on a command line: sizes, numbers, words. Nothing is rounded or guessed: what is not
 * wholly understood is not read, and then the output is left alone.
 */
#ifndef RBUF_BENCH_VALUES_H
#define RBUF_BENCH_VALUES_H

#include <stddef.h>
#include <stdbool.h>

/* Reads a size of `length` characters such as 4096, 12k or 1M, in powers of 1024. */
bool bench_parse_size(const char *text, size_t length, size_t *size);

/* Reads a number from least to most. */
bool bench_parse_number(const char *text, double least, double most, double *value);

/* The same without a fraction. */
bool bench_parse_whole(const char *text, int least, int most, int *value);

/* Reads a share of `length` characters: 0% to 100%, whole per cent. */
bool bench_parse_share(const char *text, size_t length, int *percent);

#endif
