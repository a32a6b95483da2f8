/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reading values (params/values.h). Pure functions.
 */
#include "params/values.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The number that `text` begins with, and where it ends. False: it begins with no digit, as
 * strtoull() would let it, or is too large. */
static bool read_digits(const char *text, int base, uint64_t *number, char **end)
{
    errno = 0;
    *number = strtoull(text, end, base);
    return isdigit((unsigned char) text[0]) && errno == 0;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits and one of the units; the unit "" stands for none. */
static bool read_with_unit(const char *text, int base, const struct unit *units, uint64_t *value)
{
    uint64_t number;
    char *end;

    if (!read_digits(text, base, &number, &end)) {
        return false;
    }
    while (units->name != NULL && strcasecmp(end, units->name) != 0) {
        units++;
    }
    if (units->name == NULL || __builtin_mul_overflow(number, units->factor, &number)) {
        return false;
    }
    *value = number;
    return true;
}

bool mca_btl_rbuf_read_size(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {{"", 1},         {"B", 1},         {"k", 1 << 10},
                                        {"kB", 1 << 10}, {"KiB", 1 << 10}, {"M", 1 << 20},
                                        {"MB", 1 << 20}, {"MiB", 1 << 20}, {"G", 1 << 30},
                                        {"GB", 1 << 30}, {"GiB", 1 << 30}, {NULL, 0}};

    return read_with_unit(text, 10, units, bytes);
}

bool mca_btl_rbuf_read_count(const char *text, uint64_t *count)
{
    static const struct unit none[] = {{"", 1}, {NULL, 0}};

    return read_with_unit(text, strncasecmp(text, "0x", 2) == 0 ? 16 : 10, none, count);
}

bool mca_btl_rbuf_read_time(const char *text, uint64_t *ns)
{
    static const struct unit units[] = {
        {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};

    if (strcmp(text, "0") == 0) {
        *ns = 0;
        return true;
    }
    return read_with_unit(text, 10, units, ns);
}

bool mca_btl_rbuf_read_ratio(const char *text, uint64_t *fixed)
{
    uint64_t whole;
    uint64_t part = 0;
    uint64_t scale = 1;
    char *end;

    if (!read_digits(text, 10, &whole, &end) || whole > UINT16_MAX) {
        return false;
    }
    if (*end == '.') {
        for (end++; isdigit((unsigned char) *end); end++) {
            if (scale < 1000000000) { /* further digits are below the resolution */
                part = part * 10 + (uint64_t) (*end - '0');
                scale *= 10;
            }
        }
        if (scale == 1) {
            return false;
        }
    }
    if (*end != '\0') {
        return false;
    }
    *fixed = (whole << 16) + (part << 16) / scale; /* down: what is below 1 stays so */
    return true;
}
