/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* See cpuset.h. */
#include "common/cpuset.h"

#include <sched.h>
#include <string.h>

#define WORDS (RBUF_CPUSET_PROCESSORS / RBUF_CPUSET_WORD)

bool rbuf_cpuset_own(struct rbuf_cpuset *set)
{
    memset(set, 0, sizeof(*set));
    /* The kernel's masks and cpu_set_t are arrays of unsigned long. */
    return sched_getaffinity(0, sizeof(set->word), (cpu_set_t *) (void *) set->word) == 0;
}

static bool has(const struct rbuf_cpuset *set, uint32_t number)
{
    return (set->word[number / RBUF_CPUSET_WORD] >> number % RBUF_CPUSET_WORD & 1) != 0;
}

static void add(struct rbuf_cpuset *set, uint32_t number)
{
    set->word[number / RBUF_CPUSET_WORD] |= 1ul << number % RBUF_CPUSET_WORD;
}

/* A number that is low enough, at the beginning of `*text`, which is moved behind it. */
static bool take_number(const char **text, uint32_t *number)
{
    const size_t digits = strspn(*text, "0123456789");

    if (digits == 0 || digits > 5) {
        return false;
    }
    *number = 0;
    for (size_t i = 0; i < digits; i++) {
        *number = 10 * *number + (uint32_t) (*(*text)++ - '0');
    }
    return *number < RBUF_CPUSET_PROCESSORS;
}

static bool take(const char **text, char what)
{
    if (**text != what) {
        return false;
    }
    (*text)++;
    return true;
}

bool rbuf_cpuset_read(struct rbuf_cpuset *set, const char *list)
{
    uint32_t least = 0; /* what the next number must be at least */

    memset(set, 0, sizeof(*set));
    if (*list == '\0') {
        return true;
    }
    do {
        uint32_t first, last;

        if (!take_number(&list, &first) || first < least) {
            return false;
        }
        last = first;
        if (take(&list, '-') && (!take_number(&list, &last) || last <= first)) {
            return false;
        }
        for (uint32_t i = first; i <= last; i++) {
            add(set, i);
        }
        least = last + 2;
    } while (take(&list, ','));
    return *list == '\0';
}

void rbuf_cpuset_print(const struct rbuf_cpuset *set, FILE *stream)
{
    const char *separator = "";

    for (uint32_t first = 0; first < RBUF_CPUSET_PROCESSORS; first++) {
        uint32_t last = first;

        if (!has(set, first)) {
            continue;
        }
        while (last + 1 < RBUF_CPUSET_PROCESSORS && has(set, last + 1)) {
            last++;
        }
        fprintf(stream, last > first ? "%s%u-%u" : "%s%u", separator, first, last);
        separator = ",";
        first = last;
    }
}

uint32_t rbuf_cpuset_count(const struct rbuf_cpuset *set)
{
    uint32_t count = 0;

    for (size_t i = 0; i < WORDS; i++) {
        count += (uint32_t) __builtin_popcountl(set->word[i]);
    }
    return count;
}

bool rbuf_cpuset_within(const struct rbuf_cpuset *set, const struct rbuf_cpuset *all)
{
    for (size_t i = 0; i < WORDS; i++) {
        if ((set->word[i] & ~all->word[i]) != 0) {
            return false;
        }
    }
    return true;
}
