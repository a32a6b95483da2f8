/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
#include "bench/values.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool bench_parse_size(const char *text, size_t length, size_t *size)
{
    uint64_t value = 0;
    size_t i = 0;

    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        if (value > (UINT64_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (uint64_t) (text[i] - '0');
    }
    if (i == 0 || length - i > 1) {
        return false;
    }
    if (i < length) {
        static const char suffixes[] = "kKmMgG";
        const char *suffix = text[i] == '\0' ? NULL : strchr(suffixes, text[i]);
        if (suffix == NULL) {
            return false;
        }
        const int shift = 10 * ((int) (suffix - suffixes) / 2 + 1);
        if (value > UINT64_MAX >> shift) {
            return false;
        }
        value <<= shift;
    }
    *size = (size_t) value;
    return true;
}

bool bench_parse_number(const char *text, double least, double most, double *value)
{
    char *end;
    const double number = strtod(text, &end);

    if (end == text || *end != '\0' || !(number >= least && number <= most)) {
        return false;
    }
    *value = number;
    return true;
}

bool bench_parse_whole(const char *text, int least, int most, int *value)
{
    double number;

    if (!bench_parse_number(text, least, most, &number) || number != floor(number)) {
        return false;
    }
    *value = (int) number;
    return true;
}

bool bench_parse_share(const char *text, size_t length, int *percent)
{
    int value = 0;

    if (length < 2 || length > 4 || text[length - 1] != '%') {
        return false;
    }
    for (size_t i = 0; i + 1 < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    if (value > 100) {
        return false;
    }
    *percent = value;
    return true;
}
