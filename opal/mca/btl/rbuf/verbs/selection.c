/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Compares ports and picks those to use, fabric by fabric (selection.h has the rules). Pure
 * functions.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strverscmp() */
#endif
#include "verbs/selection.h"

#include <stdlib.h>
#include <string.h>

static unsigned partition_of(const struct rbuf_candidate *port)
{
    return port->address.pkey & RBUF_PKEY_PARTITION;
}

static bool of_one_fabric(const struct rbuf_candidate *one, const struct rbuf_candidate *other)
{
    return one->address.link_layer == other->address.link_layer &&
           one->address.subnet == other->address.subnet && partition_of(one) == partition_of(other);
}

/* Less than 0: `one` is the better choice, more: `other` is; wherever they are. */
static int compare_links(const struct rbuf_candidate *one, const struct rbuf_candidate *other)
{
    if (one->outside != other->outside) {
        return one->outside ? 1 : -1;
    }
    if (one->link_local != other->link_local) {
        return one->link_local ? 1 : -1;
    }
    return (int) other->address.speed - (int) one->address.speed;
}

static int compare_in_fabric(const struct rbuf_candidate *one, const struct rbuf_candidate *other)
{
    int order = compare_links(one, other);

    if (order == 0) {
        order = (one->levels > other->levels) - (one->levels < other->levels);
    }
    return order != 0 ? order : strverscmp(one->name, other->name);
}

/* Two fabrics, by what is best of each. */
static int compare_fabrics(const struct rbuf_candidate *one, const struct rbuf_candidate *other)
{
    const int order = compare_links(one, other);

    if (order != 0) {
        return order;
    }
    if (one->address.link_layer != other->address.link_layer) {
        return one->address.link_layer == RBUF_LINK_INFINIBAND ? -1 : 1;
    }
    if (one->address.link_layer == RBUF_LINK_ETHERNET) {
        return compare_in_fabric(one, other);
    }
    if (one->address.subnet != other->address.subnet) {
        return one->address.subnet < other->address.subnet ? -1 : 1;
    }
    return (int) partition_of(one) - (int) partition_of(other);
}

static int compare_chosen(const void *a, const void *b)
{
    const struct rbuf_candidate *one = *(struct rbuf_candidate *const *) a;
    const struct rbuf_candidate *other = *(struct rbuf_candidate *const *) b;

    return one->best != other->best ? compare_fabrics(one->best, other->best)
                                    : strverscmp(one->name, other->name);
}

/* True of a port that nobody has set up, if there are others on Ethernet, and of one that is not in
 * the partition that is wanted, if there are others. */
static bool is_left_out(const struct rbuf_candidate *ports, size_t count,
                        const struct rbuf_candidate *port)
{
    for (const struct rbuf_candidate *other = ports; other < ports + count; other++) {
        if (other->state != RBUF_CANDIDATE_ACTIVE) {
            continue;
        }
        if (port->link_local && other->address.link_layer == RBUF_LINK_ETHERNET &&
            !other->link_local) {
            return true;
        }
        if (port->outside && !other->outside) {
            return true;
        }
    }
    return false;
}

static const struct rbuf_candidate *best_of_fabric(const struct rbuf_candidate *ports, size_t count,
                                                   const struct rbuf_candidate *port)
{
    const struct rbuf_candidate *best = port;

    for (const struct rbuf_candidate *other = ports; other < ports + count; other++) {
        if (other->state == RBUF_CANDIDATE_ACTIVE && of_one_fabric(other, port) &&
            compare_in_fabric(other, best) < 0) {
            best = other;
        }
    }
    return best;
}

size_t rbuf_select(struct rbuf_candidate *ports, size_t count, struct rbuf_candidate **chosen)
{
    size_t written = 0;

    for (struct rbuf_candidate *port = ports; port < ports + count; port++) {
        if (port->state != RBUF_CANDIDATE_ACTIVE || is_left_out(ports, count, port)) {
            continue;
        }
        port->best = best_of_fabric(ports, count, port);
        if (port->device == port->best->device && compare_links(port, port->best) == 0) {
            chosen[written++] = port;
        }
    }
    if (written > 1) {
        qsort(chosen, written, sizeof(*chosen), compare_chosen);
    }
    return written;
}
