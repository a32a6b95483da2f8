/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Parses numbers with units (see units.h). A number is kept as digits and a power of ten, so that
 * no value goes through floating point: a fraction is exact or it is refused.
 */
#include "units.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

struct suffix {
    const char *text;
    uint64_t factor;
};

static const struct suffix rate_suffixes[] = {
    {"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}, {NULL, 0},
};

static const struct suffix size_suffixes[] = {
    {"", 1}, {"k", 1 << 10}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0},
};

static const struct suffix time_suffixes[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0},
};

/* A decimal number: digits / 10^decimals. */
struct decimal {
    uint64_t digits;
    uint64_t divisor;
};

/* Reads digits[.digits]; returns the first character behind it, or NULL if there is no number or it
 * does not fit. A point wants a digit on both sides. */
static const char *parse_decimal(const char *text, struct decimal *number)
{
    struct decimal value = {0, 1};
    bool in_fraction = false;
    for (;; text++) {
        if (*text == '.' && !in_fraction && isdigit((unsigned char) text[1])) {
            in_fraction = true;
            continue;
        }
        if (!isdigit((unsigned char) *text))
            break;
        uint64_t digit = (uint64_t) (*text - '0');
        if (__builtin_mul_overflow(value.digits, 10, &value.digits) ||
            __builtin_add_overflow(value.digits, digit, &value.digits))
            return NULL;
        if (in_fraction && __builtin_mul_overflow(value.divisor, 10, &value.divisor))
            return NULL;
    }
    *number = value;
    return text;
}

static const struct suffix *find_suffix(const struct suffix *suffixes, const char *text,
                                        size_t length)
{
    for (const struct suffix *s = suffixes; s->text; s++)
        if (strlen(s->text) == length && memcmp(s->text, text, length) == 0)
            return s;
    return NULL;
}

/* Parses the first length characters of text as one number with one of the suffixes. */
static bool parse_scaled(const char *text, size_t length, const struct suffix *suffixes,
                         uint64_t *result)
{
    struct decimal number;
    if (length == 0 || !isdigit((unsigned char) *text))
        return false;
    const char *end = parse_decimal(text, &number);
    if (!end || (size_t) (end - text) > length)
        return false;
    size_t rest = length - (size_t) (end - text);
    const struct suffix *suffix = find_suffix(suffixes, end, rest);
    if (!suffix) {
        /* Nought needs no unit. */
        if (rest != 0 || number.digits != 0)
            return false;
        *result = 0;
        return true;
    }
    unsigned __int128 scaled = (unsigned __int128) number.digits * suffix->factor;
    if (scaled % number.divisor != 0 || scaled / number.divisor > UINT64_MAX)
        return false;
    *result = (uint64_t) (scaled / number.divisor);
    return true;
}

bool units_parse_rate(const char *text, uint64_t *bytes_per_second)
{
    return parse_scaled(text, strlen(text), rate_suffixes, bytes_per_second);
}

bool units_parse_size(const char *text, uint64_t *bytes)
{
    return parse_scaled(text, strlen(text), size_suffixes, bytes);
}

bool units_parse_time(const char *text, uint64_t *ns)
{
    return parse_scaled(text, strlen(text), time_suffixes, ns);
}

bool units_parse_cost(const char *text, struct softhca_cost *cost)
{
    const char *comma = strchr(text, ',');
    struct softhca_cost value;
    if (!comma || !parse_scaled(text, (size_t) (comma - text), time_suffixes, &value.base) ||
        !units_parse_time(comma + 1, &value.page))
        return false;
    *cost = value;
    return true;
}
