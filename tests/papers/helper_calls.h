/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Sequences of messages of one process, as programs make them: what is computed before each, from
 * where it is sent, and which buffer. The same on every machine and in every run.
 */
#ifndef RBUF_SIM_HELPER_CALLS_H
#define RBUF_SIM_HELPER_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_CALLS_MOST 4096u
#define SIM_TASKS      16u /* of the grouped FT */

struct sim_call {
    uint64_t compute_ns; /* before it */
    uint64_t base;
    uint64_t bytes;
    uint64_t frames;
    bool more; /* the next one is under way together with it */
};

struct sim_calls {
    bool quiet; /* helper_nas.c: no noise */
    uint32_t count;
    struct sim_call call[SIM_CALLS_MOST];
};

struct sim_sequence {
    const char *name;
    const char *summary;
    bool periodic; /* the paper's 94 % within 5 % is asked of it */
    double ready;  /* %: so many messages at least find their memory registered */
    void (*make)(struct sim_calls *calls);
};

extern const struct sim_sequence sim_sequences[];
extern const unsigned sim_sequence_count;

/* helper_nas.c: NAS benchmarks, and programs of the paper's. */
extern const struct sim_sequence sim_programs[];
extern const unsigned sim_program_count;

/* FT.C.16 in two dimensions, 2 by 8, as one task sees it: what goes to tasks of its own node needs
 * no registration. */
void sim_grouped_ft(struct sim_calls *calls, unsigned task, const unsigned node_of[SIM_TASKS]);

#endif
