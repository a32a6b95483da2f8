/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Equations 1 and 2: is there time to register or to deregister? (core/helper/deadline.h)
 */
#include "core/helper/deadline.h"

/* What follows a registration or goes before one, whichever is asked about: t_insert, t_register
 * and t_update, the way to the processor, and the turns of other helpers on it. */
static uint64_t common(const struct rbuf_helper_costs *costs, const struct rbuf_helper_load *load,
                       uint64_t pages)
{
    return costs->compare_ns * load->queued +
           rbuf_registration_cost_of(&costs->registering, pages) + costs->compare_ns * load->sites +
           costs->wake_ns + costs->sharers * costs->slice_ns;
}

uint64_t rbuf_deadline_deregister_ns(const struct rbuf_helper_costs *costs,
                                     const struct rbuf_helper_load *load, uint64_t pages)
{
    return rbuf_registration_cost_of(&costs->deregistering, pages) + common(costs, load, pages);
}

uint64_t rbuf_deadline_register_ns(const struct rbuf_helper_costs *costs,
                                   const struct rbuf_helper_load *load, uint64_t pages)
{
    return costs->hash_ns + costs->compare_ns * load->regions +
           rbuf_registration_cost_of(&costs->deregistering, load->largest_pages) +
           common(costs, load, pages);
}
