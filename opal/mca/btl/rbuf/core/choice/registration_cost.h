/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What it costs to register memory: a + b * pages ns, a straight line through what this run has
 * measured, of which older measurements count less and less. It starts from a line that is assumed.
 */
#ifndef RBUF_CORE_REGISTRATION_COST_H
#define RBUF_CORE_REGISTRATION_COST_H

#include <stdint.h>

/* Sums over the measurements (x pages, y ns), each weighted by its age. */
struct rbuf_registration_cost {
    double weight;
    double x;
    double y;
    double xx;
    double xy;
};

void rbuf_registration_cost_open(struct rbuf_registration_cost *cost, uint64_t base_ns,
                                 uint64_t page_ns);

/* A registration of `pages` pages took `ns`. One whose thread lost the processor meanwhile takes a
 * thousand times as long as others: a measurement counts as 16 times what is expected, at most. */
void rbuf_registration_cost_add(struct rbuf_registration_cost *cost, uint64_t pages, uint64_t ns);

/* What one of `pages` pages is expected to take, ns; never 0. */
uint64_t rbuf_registration_cost_of(const struct rbuf_registration_cost *cost, uint64_t pages);

#endif
