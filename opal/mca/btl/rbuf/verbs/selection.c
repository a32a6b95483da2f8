/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Compares ports and picks those to use, fabric by fabric (selection.h has the rules). Pure
 * functions.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strverscmp() */
#endif
#include "verbs/selection.h"

#include <string.h>

static bool of_one_fabric(const struct rbuf_selectable *one, const struct rbuf_selectable *other)
{
    return one->link_layer == other->link_layer && one->subnet == other->subnet &&
           one->partition == other->partition;
}

/* Less than 0: `one` is the better choice, more: `other` is; wherever they are. */
static int compare_links(const struct rbuf_selectable *one, const struct rbuf_selectable *other)
{
    if (one->outside != other->outside) {
        return one->outside ? 1 : -1;
    }
    if (one->link_local != other->link_local) {
        return one->link_local ? 1 : -1;
    }
    return (one->speed < other->speed) - (one->speed > other->speed);
}

static int compare_in_fabric(const struct rbuf_selectable *one, const struct rbuf_selectable *other)
{
    int order = compare_links(one, other);

    if (order == 0) {
        order = (one->levels > other->levels) - (one->levels < other->levels);
    }
    return order != 0 ? order : strverscmp(one->name, other->name);
}

static int compare_fabrics(const struct rbuf_selectable *one, const struct rbuf_selectable *other)
{
    int order = compare_links(one, other);

    if (order == 0 && one->link_layer != other->link_layer) {
        return one->link_layer == RBUF_LINK_INFINIBAND ? -1 : 1;
    }
    if (order == 0 && one->link_layer == RBUF_LINK_ETHERNET && !of_one_fabric(one, other)) {
        return compare_in_fabric(one, other);
    }
    if (order == 0) {
        order = (one->subnet > other->subnet) - (one->subnet < other->subnet);
    }
    return order != 0 ? order : (int) one->partition - (int) other->partition;
}

/* True of a port that nobody has set up, if there are others on Ethernet, and of one that is not in
 * the partition that is wanted, if there are others. */
static bool is_left_out(const struct rbuf_selectable *ports, size_t count, size_t port)
{
    for (size_t i = 0; i < count; i++) {
        if (ports[port].link_local && ports[i].link_layer == RBUF_LINK_ETHERNET &&
            !ports[i].link_local) {
            return true;
        }
        if (ports[port].outside && !ports[i].outside) {
            return true;
        }
    }
    return false;
}

static bool is_best_of_its_fabric(const struct rbuf_selectable *ports, size_t count, size_t port)
{
    for (size_t i = 0; i < count; i++) {
        if (of_one_fabric(&ports[i], &ports[port]) &&
            compare_in_fabric(&ports[i], &ports[port]) < 0) {
            return false;
        }
    }
    return !is_left_out(ports, count, port);
}

/* The best port of the best fabric behind that of `last` (NULL: of all); NULL: there is none. */
static const struct rbuf_selectable *next_best(const struct rbuf_selectable *ports, size_t count,
                                               const struct rbuf_selectable *last)
{
    const struct rbuf_selectable *best = NULL;

    for (size_t i = 0; i < count; i++) {
        if (is_best_of_its_fabric(ports, count, i) &&
            (last == NULL || compare_fabrics(last, &ports[i]) < 0) &&
            (best == NULL || compare_fabrics(&ports[i], best) < 0)) {
            best = &ports[i];
        }
    }
    return best;
}

/* The next by name, behind `last` (NULL: of all), of the ports of the adapter that are as good as
 * `best`; NULL: there is none. */
static const struct rbuf_selectable *next_like(const struct rbuf_selectable *ports, size_t count,
                                               const struct rbuf_selectable *best,
                                               const struct rbuf_selectable *last)
{
    const struct rbuf_selectable *next = NULL;

    for (size_t i = 0; i < count; i++) {
        if (ports[i].device == best->device && of_one_fabric(&ports[i], best) &&
            compare_links(&ports[i], best) == 0 &&
            (last == NULL || strverscmp(ports[i].name, last->name) > 0) &&
            (next == NULL || strverscmp(ports[i].name, next->name) < 0)) {
            next = &ports[i];
        }
    }
    return next;
}

size_t rbuf_select(const struct rbuf_selectable *ports, size_t count, size_t *chosen)
{
    const struct rbuf_selectable *best = NULL;
    size_t written = 0;

    while ((best = next_best(ports, count, best)) != NULL) {
        const struct rbuf_selectable *port = NULL;

        while ((port = next_like(ports, count, best, port)) != NULL) {
            chosen[written++] = (size_t) (port - ports);
        }
    }
    return written;
}
