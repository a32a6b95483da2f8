/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Numbers with units, as the launcher's options take them. Strict: the whole text has to be a
 * number with one of the suffixes named, and its value a whole count of the base unit. A fraction
 * is taken where it comes out whole ("1.4G" is 1400000000 bytes a second, "12.5k" of size is 12800
 * bytes). All functions are pure; the outputs are set on success only.
 */
#ifndef SOFTHCA_UNITS_H
#define SOFTHCA_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* What each kind of value may look like, for messages. */
#define UNITS_RATE_ALLOWED "a number with k, M or G (powers of 1000, bytes a second), such as 1.4G"
#define UNITS_SIZE_ALLOWED "a number with k, M or G (powers of 1024, bytes), such as 64M"
#define UNITS_TIME_ALLOWED "a number with ns, us, ms or s, such as 1.5us; or 0"
#define UNITS_COST_ALLOWED                                                                         \
    "BASE,PAGE: two times, for a call and for each 4 KB page, such as 68us,200ns"

/* The cost of one registration call, ns: base, and page for every 4 KB page that it covers. */
struct softhca_cost {
    uint64_t base;
    uint64_t page;
};

/* Bytes a second; 0 means unlimited. */
bool units_parse_rate(const char *text, uint64_t *bytes_per_second);

/* Bytes. */
bool units_parse_size(const char *text, uint64_t *bytes);

/* Nanoseconds. */
bool units_parse_time(const char *text, uint64_t *ns);

/* Two times with a comma between. */
bool units_parse_cost(const char *text, struct softhca_cost *cost);

#endif
