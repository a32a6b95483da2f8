/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counts where processes may run (bindings.h). A job has far fewer different sets than processes,
 * so each is kept once. For a job of n processes, with s different sets, p of them on a host, this
 * takes n * s comparisons of short texts and n * p of sets.
 */
#include "common/bindings.h"

#include <stdlib.h>
#include <string.h>

#include "common/cpuset.h"

struct set {
    char *list;
    uint32_t processors;
    struct rbuf_cpuset cpus;
};

/* The processes of a host that have that set: one each as they are added. */
struct group {
    uint32_t host;
    uint32_t set;
    uint32_t processes;
};

struct rbuf_bindings {
    struct set *sets;
    size_t set_count;
    struct group *groups;
    size_t group_count;
};

struct rbuf_bindings *rbuf_bindings_new(void)
{
    return calloc(1, sizeof(struct rbuf_bindings));
}

void rbuf_bindings_free(struct rbuf_bindings *bindings)
{
    if (bindings == NULL) {
        return;
    }
    for (size_t i = 0; i < bindings->set_count; i++) {
        free(bindings->sets[i].list);
    }
    free(bindings->sets);
    free(bindings->groups);
    free(bindings);
}

/* The number of the set; false: it is none, is empty, or there is no memory. */
static bool find_set(struct rbuf_bindings *bindings, const char *list, uint32_t *number)
{
    struct set *more, *set;

    for (size_t i = bindings->set_count; i-- > 0;) {
        if (strcmp(bindings->sets[i].list, list) == 0) {
            *number = (uint32_t) i;
            return true;
        }
    }
    more = realloc(bindings->sets, (bindings->set_count + 1) * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    bindings->sets = more;
    set = &more[bindings->set_count];
    if (!rbuf_cpuset_read(&set->cpus, list) || (set->list = strdup(list)) == NULL) {
        return false;
    }
    set->processors = rbuf_cpuset_count(&set->cpus);
    *number = (uint32_t) bindings->set_count++;
    return true;
}

/* Room for twice as many whenever their number is a power of two. */
static bool make_room(struct rbuf_bindings *bindings)
{
    const size_t count = bindings->group_count;
    struct group *more;

    if ((count & (count - 1)) != 0) {
        return true;
    }
    more = realloc(bindings->groups, (count > 0 ? 2 * count : 1) * sizeof(*more));
    bindings->groups = more != NULL ? more : bindings->groups;
    return more != NULL;
}

void rbuf_bindings_add(struct rbuf_bindings *bindings, uint32_t host, const char *list)
{
    uint32_t set;

    if (list[0] != '\0' && find_set(bindings, list, &set) && make_room(bindings)) {
        bindings->groups[bindings->group_count++] = (struct group){host, set, 1};
    }
}

static int compare(const void *a, const void *b)
{
    const struct group *one = a;
    const struct group *other = b;

    if (one->host != other->host) {
        return one->host < other->host ? -1 : 1;
    }
    return one->set == other->set ? 0 : one->set < other->set ? -1 : 1;
}

/* Brings those of a host together, and makes those of equal sets one. */
static void merge(struct rbuf_bindings *bindings)
{
    struct group *groups = bindings->groups;
    size_t kept = 0;

    if (bindings->group_count == 0) {
        return;
    }
    qsort(groups, bindings->group_count, sizeof(groups[0]), compare);
    for (size_t i = 1; i < bindings->group_count; i++) {
        if (compare(&groups[kept], &groups[i]) == 0) {
            groups[kept].processes += groups[i].processes;
        } else {
            groups[++kept] = groups[i];
        }
    }
    bindings->group_count = kept + 1;
}

/* How many of a host's processes may run only where those of `all` may. */
static uint32_t processes_within(const struct rbuf_bindings *bindings, const struct group *groups,
                                 size_t count, const struct group *all)
{
    uint32_t processes = 0;

    for (size_t i = 0; i < count; i++) {
        if (rbuf_cpuset_within(&bindings->sets[groups[i].set].cpus,
                               &bindings->sets[all->set].cpus)) {
            processes += groups[i].processes;
        }
    }
    return processes;
}

static bool is_worse(const struct rbuf_shortage *one, const struct rbuf_shortage *other)
{
    return (uint64_t) one->processes * other->processors >
           (uint64_t) other->processes * one->processors;
}

/* The worst of a host, whose groups these are. False: there is none. */
static bool shortage_of_host(const struct rbuf_bindings *bindings, const struct group *groups,
                             size_t count, struct rbuf_shortage *shortage)
{
    struct rbuf_shortage worst = {.host = groups[0].host, .processes = 1, .processors = 1};

    for (size_t i = 0; i < count; i++) {
        const struct rbuf_shortage here = {
            .host = groups[0].host,
            .processes = processes_within(bindings, groups, count, &groups[i]),
            .processors = bindings->sets[groups[i].set].processors};

        worst = is_worse(&here, &worst) ? here : worst;
    }
    *shortage = worst;
    return worst.processes > worst.processors;
}

bool rbuf_bindings_shortage(struct rbuf_bindings *bindings, struct rbuf_shortage *shortage)
{
    struct rbuf_shortage worst = {.processes = 1, .processors = 1};
    size_t next;

    merge(bindings);
    for (size_t i = 0; i < bindings->group_count; i = next) {
        struct rbuf_shortage here;

        for (next = i + 1; next < bindings->group_count &&
                           bindings->groups[next].host == bindings->groups[i].host;) {
            next++;
        }
        if (shortage_of_host(bindings, &bindings->groups[i], next - i, &here)) {
            here.hosts = ++worst.hosts;
            worst = is_worse(&here, &worst) ? here : worst;
        }
    }
    if (worst.hosts == 0) {
        return false;
    }
    *shortage = worst;
    return true;
}
