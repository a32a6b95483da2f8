/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What the helper's work costs, and whether there is time for it: the registration and
 * deregistration conditions of the paper that predictor.h cites, sections 3.2 (equation 1) and 5
 * (equation 2):
 *
 *     t_c + t_p + n (t_slice + t_cs) <= t_d
 *
 * n counts the helper threads on the core, this one too: its own slice may just begin or end, so
 * its next one may be a whole round away. A helper that has a core to itself goes by equation 1.
 *
 * A registration or deregistration costs a * pages + b, fitted to what this run has measured. Queue
 * and table operations cost so much for each item, all of which are assumed to be compared. What
 * the helper takes to wake up is part of t_p: the paper's never sleeps.
 *
 * Threads: the helper alone.
 */
#ifndef RBUF_CORE_HELPER_DEADLINE_H
#define RBUF_CORE_HELPER_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/choice/registration_cost.h"

struct rbuf_helper_costs {
    struct rbuf_registration_cost registering;
    struct rbuf_registration_cost deregistering;
    uint64_t compare_ns; /* of one item of a queue or table */
    uint64_t hash_ns;    /* of one point */
    uint64_t wake_ns;    /* from when the helper is to run until it does */
    uint64_t slice_ns;   /* t_slice + t_cs */
    uint32_t sharers;    /* n: helpers on its core, with this one; 0: it is alone, equation 1 */
};

/* How full queue and tables are. */
struct rbuf_helper_load {
    uint32_t queued;
    uint32_t regions;
    uint32_t sites;
    uint64_t largest_pages; /* what may have to be deregistered before */
};

/* t_p of a deregistration that is followed by a registration in time, ns. */
uint64_t rbuf_deadline_deregister_ns(const struct rbuf_helper_costs *costs,
                                     const struct rbuf_helper_load *load, uint64_t pages);

/* t_p of a registration that waits for one more point and deregistration of the largest, ns. */
uint64_t rbuf_deadline_register_ns(const struct rbuf_helper_costs *costs,
                                   const struct rbuf_helper_load *load, uint64_t pages);

#endif
