/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What to do with a machine: predicted times, the schedule that the model chooses, and the sizes
 * and counts at which one protocol overtakes another. Pure functions over the cost model (model/).
 */
#ifndef RBUF_TUNE_ADVICE_H
#define RBUF_TUNE_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/plan.h"

enum tune_protocol {
    TUNE_EAGER,       /* copied into a message, sent meanwhile, copied out; no rendezvous */
    TUNE_REGISTER,    /* in place, registered on both sides each time */
    TUNE_COPY,        /* staged as a whole */
    TUNE_PIPELINE,    /* chunks of the paper's optimal size */
    TUNE_CURRENT,     /* superpipeline as it is set */
    TUNE_RECOMMENDED, /* superpipeline as it is recommended */
    TUNE_IN_PLACE,    /* registered before on both sides */
    TUNE_PROTOCOLS
};

extern const char *const tune_protocol_names[TUNE_PROTOCOLS];

#define TUNE_SMALLEST 4096ull       /* of the sizes that are predicted */
#define TUNE_LARGEST  (64ull << 20) /* each twice the one before */
#define TUNE_NO_SIZE  UINT64_MAX    /* no such size */
#define TUNE_NO_COUNT (-1.0)        /* no such count */

struct tune_advice {
    struct rbuf_machine machine;
    struct rbuf_plan current;
    struct rbuf_plan recommended;
    double current_efficiency;     /* raw time over staged time, mean of 16 KB to 16 MB */
    double recommended_efficiency; /* likewise */
    uint64_t beats_eager;          /* smallest message that is staged faster than sent eagerly */
    uint64_t copy_ends;            /* from this size on q is 1 or less, or TUNE_NO_SIZE */
    uint64_t in_place_wins;        /* from this size on a buffer that is registered is faster */
};

/* What is given, whatever the schedule. */
struct tune_conditions {
    bool in_order; /* as the port places them */
    enum rbuf_rendezvous rendezvous;
    uint32_t early_bytes;         /* EARLY: room for early data, as it is set */
    uint64_t total_staging_bytes; /* EARLY: all that the receiver has */
    uint32_t opening_bytes;       /* EARLY: most of the first chunk */
    uint64_t staging_bytes;       /* most staging of a message */
};

/* `current` is the schedule as set. */
struct tune_advice tune_advise(const struct rbuf_machine *machine,
                               const struct rbuf_schedule *current,
                               const struct tune_conditions *conditions);

/* One way, ns. */
double tune_predict(const struct tune_advice *advice, enum tune_protocol protocol, uint64_t bytes);

/* How often a buffer of `bytes` must be used for its registrations to have paid, against the
 * recommended schedule; TUNE_NO_COUNT if they never do. */
double tune_uses(const struct tune_advice *advice, uint64_t bytes);

/* B_copy of the slower side over B_net, at this size: the q of equation 5. */
double tune_growth(const struct rbuf_machine *machine, uint64_t bytes);

#endif
