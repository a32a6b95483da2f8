/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Reads and prints the kernel's lists of processors (cpuset.h). The sets are those of glibc
 * (CPU_SET(3)). Lists are read and printed here: hwloc, which does both, need not be there, and it
 * reads more than the kernel prints.
 */
#include "common/cpuset.h"

#include <stdlib.h>
#include <string.h>

bool rbuf_cpuset_own(struct rbuf_cpuset *set)
{
    memset(set, 0, sizeof(*set));
    return sched_getaffinity(0, sizeof(set->cpus), set->cpus) == 0;
}

static bool has(const struct rbuf_cpuset *set, uint32_t number)
{
    return number < RBUF_CPUSET_PROCESSORS && CPU_ISSET_S(number, sizeof(set->cpus), set->cpus);
}

void rbuf_cpuset_print(const struct rbuf_cpuset *set, FILE *stream)
{
    const char *separator = "";

    for (uint32_t first = 0; first < RBUF_CPUSET_PROCESSORS; first++) {
        uint32_t last = first;

        if (!has(set, first)) {
            continue;
        }
        while (has(set, last + 1)) {
            last++;
        }
        fprintf(stream, last > first ? "%s%u-%u" : "%s%u", separator, first, last);
        separator = ",";
        first = last;
    }
}

static bool is_printed_as(const struct rbuf_cpuset *set, const char *list)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool same;

    if (stream == NULL) {
        return false;
    }
    rbuf_cpuset_print(set, stream);
    same = fclose(stream) == 0 && strcmp(text, list) == 0;
    free(text);
    return same;
}

/* strtoul() takes more than digits, and numbers may be out of order: only what is printed as it was
 * read is such a list. */
bool rbuf_cpuset_read(struct rbuf_cpuset *set, const char *list)
{
    const char *rest = list;

    memset(set, 0, sizeof(*set));
    while (*rest != '\0') {
        char *end;
        const unsigned long first = strtoul(rest, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        if (end == rest || last >= RBUF_CPUSET_PROCESSORS) {
            return false;
        }
        for (unsigned long i = first; i <= last; i++) {
            CPU_SET_S(i, sizeof(set->cpus), set->cpus);
        }
        rest = *end == ',' ? end + 1 : end;
    }
    return is_printed_as(set, list);
}

uint32_t rbuf_cpuset_count(const struct rbuf_cpuset *set)
{
    return (uint32_t) CPU_COUNT_S(sizeof(set->cpus), set->cpus);
}

bool rbuf_cpuset_within(const struct rbuf_cpuset *set, const struct rbuf_cpuset *all)
{
    struct rbuf_cpuset both;

    CPU_AND_S(sizeof(both.cpus), both.cpus, set->cpus, all->cpus);
    return CPU_EQUAL_S(sizeof(both.cpus), both.cpus, set->cpus);
}
