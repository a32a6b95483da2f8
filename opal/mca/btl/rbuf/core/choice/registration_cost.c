/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The line through what registrations took (core/choice/registration_cost.h), by weighted least
 * squares.
 */
#include "core/choice/registration_cost.h"

#define AGEING    (15.0 / 16.0) /* what a measurement counts after the next one */
#define FAR_PAGES 1024          /* the assumed line is given as its values here and at one page */
#define MOST      16            /* times what is expected, that one measurement counts as */

static void add(struct rbuf_registration_cost *cost, double pages, double ns)
{
    cost->weight += 1;
    cost->x += pages;
    cost->y += ns;
    cost->xx += pages * pages;
    cost->xy += pages * ns;
}

void rbuf_registration_cost_open(struct rbuf_registration_cost *cost, uint64_t base_ns,
                                 uint64_t page_ns)
{
    *cost = (struct rbuf_registration_cost){0};
    add(cost, 1, (double) (base_ns + page_ns));
    add(cost, FAR_PAGES, (double) (base_ns + page_ns * FAR_PAGES));
}

void rbuf_registration_cost_add(struct rbuf_registration_cost *cost, uint64_t pages, uint64_t ns)
{
    const uint64_t most = rbuf_registration_cost_of(cost, pages) * MOST;

    cost->weight *= AGEING;
    cost->x *= AGEING;
    cost->y *= AGEING;
    cost->xx *= AGEING;
    cost->xy *= AGEING;
    add(cost, (double) pages, (double) (ns < most ? ns : most));
}

uint64_t rbuf_registration_cost_of(const struct rbuf_registration_cost *cost, uint64_t pages)
{
    double spread = cost->weight * cost->xx - cost->x * cost->x;
    double slope = 0;
    double ns;

    if (spread > cost->xx * 1e-6) { /* else all were of one size, and what is asked for is too */
        slope = (cost->weight * cost->xy - cost->x * cost->y) / spread;
    }
    slope = slope > 0 ? slope : 0;
    ns = (cost->y - slope * cost->x) / cost->weight + slope * (double) pages;
    return ns < 1 ? 1 : (uint64_t) ns;
}
