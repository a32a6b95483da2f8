/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A sequence of messages with each way to register their memory, in simulated time.
 *
 * What a registration costs is a line; so is a message; both are those of the paper's machines,
 * about (ConnectX, 2008). A registration of the main thread waits for one of the helper that is
 * under way, as if one lock of the kernel were held by either.
 */
#ifndef RBUF_SIM_HELPER_RUN_H
#define RBUF_SIM_HELPER_RUN_H

#include "core/helper/helper.h"
#include "helper_calls.h"

enum sim_strategy {
    SIM_HELPER,
    SIM_ON_DEMAND,    /* registered before each message, deregistered behind it */
    SIM_LEAVE_PINNED, /* registered at first use */
    SIM_PIPELINE,     /* chunks registered while others travel (Woodall et al., 2006) */
    SIM_STRATEGIES
};

struct sim_outcome {
    uint64_t message_ns;                         /* in messages, all of them */
    uint64_t total_ns;                           /* with what was computed */
    uint64_t peak_bytes;                         /* registered */
    uint64_t average_bytes;                      /* over the time */
    struct rbuf_prediction_counters predictions; /* of the helper */
    uint64_t foreseen;                           /* messages that found their memory registered */
};

struct sim_outcome sim_run(const struct sim_calls *calls, enum sim_strategy strategy,
                           uint32_t window);

#endif
