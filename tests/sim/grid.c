/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/* What a schedule is worth in the simulator, and the best one of a grid. */
#include "grid.h"

struct rbuf_machine sim_machine_seen(const struct rbuf_machine *machine)
{
    struct sim_measure *measure = sim_measure_open(machine, 4096, 65536);
    struct rbuf_machine seen = *sim_measure_machine(measure);

    sim_measure_close(measure);
    return seen;
}

static struct sim_measure *open_for(const struct rbuf_machine *machine,
                                    const struct rbuf_objective *aim, const struct rbuf_plan *plan)
{
    uint32_t block = plan->schedule.block_bytes;
    uint32_t least = plan->schedule.first_blocks + 1u;

    if (plan->rendezvous == RBUF_RENDEZVOUS_EARLY) {
        return sim_measure_open_early(machine, block, aim->largest,
                                      (plan->early_blocks > least ? plan->early_blocks : least) *
                                          block);
    }
    return sim_measure_open(machine, block, aim->largest);
}

double sim_efficiency(const struct rbuf_machine *machine, const struct rbuf_objective *aim,
                      const struct rbuf_plan *plan)
{
    struct sim_measure *measure = open_for(machine, aim, plan);
    const struct rbuf_machine *seen = sim_measure_machine(measure);
    double sum = 0;
    unsigned sizes = 0;

    for (uint64_t bytes = aim->smallest; bytes <= aim->largest; bytes *= 2) {
        sum += rbuf_model_reference(seen, plan, bytes) / sim_measure_staged(measure, plan, bytes);
        sizes++;
    }
    sim_measure_close(measure);
    return sum / sizes;
}

double sim_grid_best(const struct rbuf_machine *machine, const struct rbuf_objective *aim,
                     const struct rbuf_plan *plan, const struct sim_grid *grid)
{
    struct rbuf_plan tried = *plan;
    uint32_t block = plan->schedule.block_bytes, most = plan->schedule.buffer_blocks;
    double best = 0;

    for (size_t i = 0; i < grid->first_count; i++) {
        uint32_t first = grid->first_bytes[i] > block ? grid->first_bytes[i] / block : 1;

        tried.schedule.first_blocks = (uint16_t) (first < most ? first : most);
        for (size_t k = 0; k < grid->growth_count; k++) {
            double found;

            tried.schedule.growth = (uint32_t) (grid->growths[k] * RBUF_GROWTH_ONE);
            found = sim_efficiency(machine, aim, &tried);
            best = found > best ? found : best;
        }
    }
    return best;
}
