/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Machines: the two clusters of the superpipeline's paper and networks of today, as the model and
 * the simulator take them. machines.c says of each number whether it is printed somewhere or
 * inferred, and from what.
 */
#ifndef RBUF_SIM_MACHINES_H
#define RBUF_SIM_MACHINES_H

#include "model/machine.h"

#define SIM_INFERRED_FROM 3

struct sim_machine {
    const char *name;
    const char *summary;
    const char *printed;  /* what a source states */
    const char *inferred; /* what it does not, and what that follows from */
    const char *inferred_from[SIM_INFERRED_FROM +
                              1]; /* of that, the statements of `figures`; NULL ends them */
    struct rbuf_machine machine;
};

extern const struct sim_machine sim_machines[];
extern const unsigned sim_machine_count;

/* The machine of that name, or the end of the program. */
const struct sim_machine *sim_machine_named(const char *name);

#endif
