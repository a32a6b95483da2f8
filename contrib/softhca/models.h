/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Adapters that the emulated device can be like: who they say they are, their limits, and what
 * their providers answer and refuse. A constant table and pure functions; the launcher has it too.
 */
#ifndef SOFTHCA_MODELS_H
#define SOFTHCA_MODELS_H

#include <stdbool.h>
#include <stdint.h>

enum model_network { NETWORK_EITHER, NETWORK_ROCE, NETWORK_IWARP, NETWORK_UNSPECIFIED };
enum model_atomics { ATOMICS_NONE, ATOMICS_HCA, ATOMICS_GLOBAL };
/* What becomes of a request for more than there is. */
enum model_excess { EXCESS_REFUSED, EXCESS_CUT };
/* How much inline a queue pair gets that asks for some. */
enum model_inline { INLINE_AS_ASKED, INLINE_THAT_FITS };
enum model_depth { DEPTH_AS_ASKED, DEPTH_POWER_OF_TWO };

struct device_model {
    const char *name;
    const char *summary;
    uint32_t vendor_id, part_id;
    const char *type; /* sysfs hca_type */
    enum model_network network;
    bool has_rc;
    enum model_atomics atomics;
    bool tells_order; /* answers ibv_query_qp_data_in_order, in RTS */
    uint32_t max_qp_wr, max_sge, max_cqe;
    uint32_t max_srq, max_srq_wr, max_srq_sge; /* 0: no shared receive queues */
    uint32_t max_reads;                        /* in flight a queue pair */
    uint32_t max_inline;                       /* bytes */
    enum model_excess depth_excess, inline_excess;
    enum model_inline inline_granted;
    enum model_depth depth_granted;
    /* Units of a send queue that a request of so many elements and inline bytes takes, 0 if it
     * takes none such; and how many a queue may have. NULL: the depth alone counts. */
    uint32_t (*request_units)(uint32_t max_sge, uint32_t max_inline);
    uint32_t max_units;
    const char *source;
    const char *inferred; /* what no source says; "" if nothing */
};

/* Ends with an entry whose name is NULL; the first is the device as it is without being like one.
 */
extern const struct device_model device_models[];

/* NULL if there is none of that name. */
const struct device_model *model_find(const char *name);

/* Whether a send queue of so many requests can be had; depth is cut where the provider cuts it. */
bool model_takes_queue(const struct device_model *model, uint32_t *depth, uint32_t max_sge,
                       uint32_t max_inline);

#endif
