/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * How a message is staged: its schedule, how the receiver finds chunks, what precedes them. The
 * paper's naive copy and its pipeline are plans like any other. A plan holds no message: one serves
 * every length.
 */
#ifndef RBUF_MODEL_PLAN_H
#define RBUF_MODEL_PLAN_H

#include "core/base/schedule.h"
#include "core/base/wire.h" /* enum rbuf_arrival */
#include "model/machine.h"

/* What happens before the data. RTS: the sender's request; RTR: the receiver's answer, which names
 * the place. */
enum rbuf_rendezvous {
    RBUF_RENDEZVOUS_NONE,       /* the place is known: the paper's raw benchmark */
    RBUF_RENDEZVOUS_SERIAL,     /* the transfer begins with the RTR */
    RBUF_RENDEZVOUS_OVERLAPPED, /* the sender's first step is done while the RTS is under way */
    RBUF_RENDEZVOUS_EARLY       /* early data: the first chunks go right behind the RTS */
};

/* How a message is staged. */
struct rbuf_plan {
    struct rbuf_schedule schedule;
    enum rbuf_arrival arrival;
    enum rbuf_rendezvous rendezvous;
    uint32_t early_blocks; /* EARLY: room for early data, at the receiver */
};

/* Section 2's naive copy as a plan: one chunk, seen as a whole. Of `bytes` <= 65535 blocks. */
struct rbuf_plan rbuf_plan_copy(uint64_t bytes, uint32_t block_bytes);

/* Section 3's pipeline with the chunk of equation 3 in whole blocks, at least one and at most the
 * message, chunks seen as a whole, no folding (`RBUF_BUFFERS_MAX` buffers). */
struct rbuf_plan rbuf_plan_pipeline(const struct rbuf_machine *machine, uint64_t bytes,
                                    uint32_t block_bytes);

/* EARLY: gives the plan so much room for early data and a first chunk of `opening_bytes` at most,
 * rounded as the component does: in whole blocks, C0 and a block of early data at least. */
void rbuf_plan_early(struct rbuf_plan *plan, uint32_t early_bytes, uint32_t opening_bytes);

#endif
