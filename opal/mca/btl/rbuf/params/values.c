/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reading values (params/values.h). Pure functions.
 */
#include "params/values.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The value of a digit, or 16 if it is none. */
static unsigned digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return (unsigned) (digit - '0');
    }
    if (digit >= 'a' && digit <= 'f') {
        return (unsigned) (digit - 'a') + 10;
    }
    return digit >= 'A' && digit <= 'F' ? (unsigned) (digit - 'A') + 10 : 16;
}

/* The digits at `text`, and where they end. Not strtoull(), which takes signs, blanks and a second
 * 0x. False: there are none, or too many. */
static bool read_digits(const char *text, unsigned base, uint64_t *number, const char **end)
{
    uint64_t value = 0;

    *end = text;
    for (; digit_value(**end) < base; (*end)++) {
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit_value(**end), &value)) {
            return false;
        }
    }
    *number = value;
    return *end != text;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits and one of the units; the unit "" stands for none. */
static bool read_with_unit(const char *text, const struct unit *units, uint64_t *value)
{
    uint64_t number;
    const char *end;

    if (!read_digits(text, 10, &number, &end)) {
        return false;
    }
    for (; units->name != NULL; units++) {
        if (strcasecmp(end, units->name) == 0) {
            if (number > UINT64_MAX / units->factor) {
                return false;
            }
            *value = number * units->factor;
            return true;
        }
    }
    return false;
}

bool mca_btl_rbuf_read_size(const char *text, uint64_t *bytes)
{
    static const struct unit units[] = {{"", 1},         {"B", 1},         {"k", 1 << 10},
                                        {"kB", 1 << 10}, {"KiB", 1 << 10}, {"M", 1 << 20},
                                        {"MB", 1 << 20}, {"MiB", 1 << 20}, {"G", 1 << 30},
                                        {"GB", 1 << 30}, {"GiB", 1 << 30}, {NULL, 0}};

    return read_with_unit(text, units, bytes);
}

bool mca_btl_rbuf_read_count(const char *text, uint64_t *count)
{
    bool hexadecimal = strncasecmp(text, "0x", 2) == 0;
    uint64_t number;
    const char *end;

    if (!read_digits(text + (hexadecimal ? 2 : 0), hexadecimal ? 16 : 10, &number, &end) ||
        *end != '\0') {
        return false;
    }
    *count = number;
    return true;
}

bool mca_btl_rbuf_read_time(const char *text, uint64_t *ns)
{
    static const struct unit units[] = {
        {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};

    if (strcmp(text, "0") == 0) {
        *ns = 0;
        return true;
    }
    return read_with_unit(text, units, ns);
}

bool mca_btl_rbuf_read_ratio(const char *text, uint64_t *fixed)
{
    uint64_t whole;
    uint64_t part = 0;
    uint64_t scale = 1;
    const char *end;

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
