/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * The schedule for a machine, by trying: what the paper leaves to heuristics (section 4,
 * "Discussion") is a few thousand predictions (staged.h).
 */
#ifndef RBUF_MODEL_CHOOSE_H
#define RBUF_MODEL_CHOOSE_H

#include "model/plan.h"

/* What a schedule is to be good for, and what it may use. */
struct rbuf_objective {
    uint64_t smallest; /* message lengths, bytes, each power of two times this alike */
    uint64_t largest;
    uint64_t staging_bytes; /* most staging of a message at the receiver: buffers * largest chunk */
    uint32_t block_bytes;   /* 0: to be chosen */
    enum rbuf_arrival arrival;
    enum rbuf_rendezvous rendezvous;
    uint32_t early_bytes;   /* EARLY: room for early data, or C0 if that is more */
    uint32_t opening_bytes; /* EARLY: most of the first chunk */
};

/* What a plan is measured by, ns: raw RDMA behind the same rendezvous; EARLY: behind none, as there
 * is hardly a wait for it. */
double rbuf_model_reference(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                            uint64_t bytes);

/* The reference over the plan's time: the mean over the lengths from smallest to largest, each
 * twice the one before. */
double rbuf_model_efficiency(const struct rbuf_machine *machine, const struct rbuf_plan *plan,
                             uint64_t smallest, uint64_t largest);

/* Picks C0, q, the largest chunk, buffers and the block size; returns the plan's efficiency, or 0
 * if `staging_bytes` has room for nothing. Takes some ten milliseconds. */
double rbuf_model_choose(const struct rbuf_machine *machine, const struct rbuf_objective *objective,
                         struct rbuf_plan *plan);

/* EARLY: gives the plan the least room for early data, from the objective's to `most` bytes, with
 * which it is nearly as good as with any that is tried between these: the wire is to have enough to
 * carry until the RTR is here. Another plan stays as it is. Returns the plan's efficiency. */
double rbuf_model_choose_early(const struct rbuf_machine *machine,
                               const struct rbuf_objective *objective, uint32_t most,
                               struct rbuf_plan *plan);

#endif
