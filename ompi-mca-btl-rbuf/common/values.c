/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads values without a unit, shares and lists; writes sizes.
 */
#include "common/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool value_number(const char *text, double least, double most, double *value)
{
    char *end;
    const double number = strtod(text, &end);

    if (end == text || *end != '\0' || !(number >= least && number <= most)) {
        return false;
    }
    *value = number;
    return true;
}

bool value_whole(const char *text, int least, int most, int *value)
{
    double number;

    if (!value_number(text, least, most, &number) || number != floor(number)) {
        return false;
    }
    *value = (int) number;
    return true;
}

bool value_percent(const char *text, int *percent)
{
    const size_t digits = strspn(text, "0123456789");
    int value = 0;

    if (digits < 1 || digits > 3 || strcmp(text + digits, "%") != 0) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        value = value * 10 + (text[i] - '0');
    }
    if (value > 100) {
        return false;
    }
    *percent = value;
    return true;
}

bool value_next(const char **rest, char item[VALUE_ITEM_MAX])
{
    const char *text = *rest;
    const size_t length = strcspn(text, ",");

    if (length >= VALUE_ITEM_MAX) {
        return false;
    }
    memcpy(item, text, length);
    item[length] = '\0';
    *rest = text[length] == ',' ? text + length + 1 : NULL;
    return true;
}

void value_size_text(char text[VALUE_SIZE_MAX], uint64_t bytes)
{
    if (bytes > 0 && bytes % (1u << 20) == 0) {
        snprintf(text, VALUE_SIZE_MAX, "%" PRIu64 "M", bytes >> 20);
    } else if (bytes > 0 && bytes % 1024 == 0) {
        snprintf(text, VALUE_SIZE_MAX, "%" PRIu64 "k", bytes >> 10);
    } else {
        snprintf(text, VALUE_SIZE_MAX, "%" PRIu64, bytes);
    }
}
