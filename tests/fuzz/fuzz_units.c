/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The launcher's numbers with units, compared with a reader written here once more: exact or
 * refused, and nothing set on a refusal.
 */
#include "fuzz.h"

#include <ctype.h>

#include "units.h"

struct unit {
    const char *text;
    uint64_t factor;
};

static const struct unit rate_units[] = {{"", 1},        {"k", 1000},       {"K", 1000},
                                         {"M", 1000000}, {"G", 1000000000}, {NULL, 0}};
static const struct unit size_units[] = {{"", 1},        {"k", 1 << 10}, {"K", 1 << 10},
                                         {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
static const struct unit time_units[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};

/* All digits of a number, point left out; false if its form is wrong or it has more digits than 64
 * bits hold. *places is how many stood behind the point; *end the unit. */
static bool split(const char *text, uint64_t *value, unsigned *places, const char **end)
{
    unsigned __int128 number = 0;
    bool point = false;

    *places = 0;
    if (!isdigit((unsigned char) *text)) {
        return false;
    }
    for (; isdigit((unsigned char) *text) ||
           (*text == '.' && !point && isdigit((unsigned char) text[1]));
         text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        number = number * 10 + (unsigned) (*text - '0');
        *places += point;
        if (number > UINT64_MAX || *places > 19) {
            return false;
        }
    }
    *value = (uint64_t) number;
    *end = text;
    return true;
}

static bool again(const char *text, const struct unit *units, uint64_t *value)
{
    unsigned __int128 product, divisor = 1;
    uint64_t number;
    unsigned places;
    const char *unit;

    if (!split(text, &number, &places, &unit)) {
        return false;
    }
    while (units->text != NULL && strcmp(units->text, unit) != 0) {
        units++;
    }
    if (units->text == NULL) {
        *value = 0;
        return number == 0 && *unit == '\0'; /* nought needs no unit */
    }
    for (; places > 0; places--) {
        divisor *= 10;
    }
    product = (unsigned __int128) number * units->factor;
    *value = (uint64_t) (product / divisor);
    return product % divisor == 0 && product / divisor <= UINT64_MAX;
}

typedef bool reader(const char *text, uint64_t *value);

static void compare(const char *text, reader *read, const struct unit *units)
{
    uint64_t value = 0xa5a5, expected = 0;
    bool taken = read(text, &value);

    fuzz_require(taken == again(text, units, &expected), "what is right is read, and only that");
    fuzz_require(taken ? value == expected : value == 0xa5a5, "what is read is what was meant");
}

static void compare_cost(const char *text)
{
    struct softhca_cost cost = {0xa5a5, 0xa5a5};
    bool taken = units_parse_cost(text, &cost);
    char *first = strdup(text);
    char *comma = strchr(first, ',');
    uint64_t base = 0, page = 0;
    bool expected = false;

    if (comma != NULL) {
        *comma = '\0';
        expected = again(first, time_units, &base) && again(comma + 1, time_units, &page);
    }
    fuzz_require(taken == expected, "a cost is two times");
    fuzz_require(taken ? cost.base == base && cost.page == page
                       : cost.base == 0xa5a5 && cost.page == 0xa5a5,
                 "a cost is what was meant");
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};

    while (input.left > 0) {
        char *text = fuzz_text(&input, '\n');

        compare(text, units_parse_rate, rate_units);
        compare(text, units_parse_size, size_units);
        compare(text, units_parse_time, time_units);
        compare_cost(text);
        free(text);
    }
    return 0;
}
