/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * A sequence of messages with each way to register their memory, in simulated time.
 *
 * What a registration costs is a line; so is a message; both are those of the paper's machines,
 * about (ConnectX, 2008). A registration of the main thread waits for one of the helper that is
 * under way, as if one lock of the kernel were held by either. Messages that are waited for
 * together keep what they have registered until then.
 */
#ifndef RBUF_SIM_HELPER_RUN_H
#define RBUF_SIM_HELPER_RUN_H

#include "core/helper/helper.h"
#include "helper_calls.h"
#include "periodicity.h"

enum sim_strategy {
    SIM_HELPER,
    SIM_ON_DEMAND,    /* registered before each message, deregistered behind it */
    SIM_LEAVE_PINNED, /* registered at first use */
    SIM_PIPELINE,     /* chunks registered while others travel (Woodall et al., 2006) */
    SIM_STRATEGIES,
    /* As the openib BTL of Open MPI has it: the first MB is copied, then pieces of 1 MB, four at
     * most at a time. */
    SIM_PIPELINE_OPENIB = SIM_STRATEGIES,
    SIM_PIPELINE_PINNED /* the same, and pieces stay registered */
};

/* A helper other than the one that ships. */
struct sim_helper {
    uint32_t window; /* of its predictor */
    bool
        whole_queue; /* it takes all that was given back before it looks what is to be registered */
    bool prompt;     /* it reckons as if it woke at once (t_p without that term) */
    uint32_t sharers; /* helpers on its core: equation 2, and it waits for the others; 0: alone */
    uint64_t slice_ns;
    struct periodicity *rival; /* predicts beside it; NULL: none does */
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

struct sim_outcome sim_run_helper(const struct sim_calls *calls, const struct sim_helper *how);

#endif
