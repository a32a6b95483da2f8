/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The protocols of the figures on one simulated machine: what a message takes by each, ns, one way.
 *
 * A bench has the machine and the schedules that the model chooses for it. Opened once and closed
 * once; between it only measures, each length anew. One thread.
 */
#ifndef RBUF_FIGURES_BENCH_H
#define RBUF_FIGURES_BENCH_H

#include <stdint.h>

#include "machines.h"
#include "measure.h"

#define KB       1024ull
#define MB       (1024ull * KB)
#define SMALLEST (1 * KB)
#define FINE     (2 * MB) /* up to here in steps of 5 %, then by doubling */
#define LARGEST  (16 * MB)
#define BLOCK    4096u

/* A machine with what is simulated on it. */
struct bench {
    const struct sim_machine *on;
    struct rbuf_plan tuned;
    struct rbuf_plan staged;
    struct rbuf_plan early;
    struct sim_measure *plain; /* blocks of BLOCK bytes */
    struct sim_measure *for_tuned;
    struct sim_measure *for_staged;
    struct sim_measure *for_early;
};

/* Lengths: powers of 1.05, as in the paper, and of two. The next one after `bytes`. */
uint64_t figures_next_length(uint64_t bytes);

/* The paper's schedule, C0 12 KB and q 1.5. */
struct rbuf_plan figures_paper_plan(void);

struct bench bench_open(const char *name);
void bench_close(struct bench *bench);
const struct rbuf_machine *machine_of(const struct bench *bench);

/* Without a rendezvous. */
double time_raw(const struct bench *bench, uint64_t bytes);
double time_register(const struct bench *bench, uint64_t bytes);
double time_copy(const struct bench *bench, uint64_t bytes);
double time_pipeline(const struct bench *bench, uint64_t bytes);
double time_superpipeline(const struct bench *bench, uint64_t bytes);
double time_tuned(const struct bench *bench, uint64_t bytes);

/* With one. */
double time_staged(const struct bench *bench, uint64_t bytes);
double time_early(const struct bench *bench, uint64_t bytes);
double time_reregister(const struct bench *bench, uint64_t bytes);
double time_cached(const struct bench *bench, uint64_t bytes);

/* A transfer with the schedule that is best for this length. */
double best_at(const struct bench *bench, enum rbuf_rendezvous rendezvous, uint64_t bytes);

#endif
