/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A schedule against the others of a grid over C0 and q, simulated: what the model's choice and the
 * tuner's are judged by.
 */
#ifndef RBUF_SIM_GRID_H
#define RBUF_SIM_GRID_H

#include <stddef.h>

#include "model/choose.h"
#include "measure.h"

struct sim_grid {
    const uint32_t *first_bytes;
    size_t first_count;
    const double *growths;
    size_t growth_count;
};

/* The machine with what the rendezvous of the simulated users costs: what a schedule is chosen for.
 */
struct rbuf_machine sim_machine_seen(const struct rbuf_machine *machine);

/* Raw over simulated time, the mean over the aim's lengths: what rbuf_model_efficiency() predicts.
 * Early data are C0 and a block at least. */
double sim_efficiency(const struct rbuf_machine *machine, const struct rbuf_objective *aim,
                      const struct rbuf_plan *plan);

/* The best efficiency of the grid; all else is as in the plan. */
double sim_grid_best(const struct rbuf_machine *machine, const struct rbuf_objective *aim,
                     const struct rbuf_plan *plan, const struct sim_grid *grid);

#endif
