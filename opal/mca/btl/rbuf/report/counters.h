/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counters: one table with names and texts, read as MPI_T performance variables, and printed at the
 * end (report/report.h). Sums over the modules of the process, also those closed already.
 *
 * Threads: any may sum up; who keeps and closes is the one that finalizes.
 */
#ifndef BTL_RBUF_COUNTERS_H
#define BTL_RBUF_COUNTERS_H

#include "module/module.h"
#include "registration/reuse.h"
#include "core/choice/choice.h"

/* All that is counted. 64-bit counters only. */
struct mca_btl_rbuf_counters {
    struct rbuf_stats core;
    struct rbuf_choice_counters choice;
    struct mca_btl_rbuf_reuse_counters reuse; /* whose levels come last, */
    uint64_t reuse_percent;                   /* and this is one */
    uint64_t bounced;
    struct mca_btl_rbuf_one_sided one_sided;
    uint64_t fragments;
    uint64_t fragment_bytes;
    uint64_t undelivered;
    uint64_t staging;
    uint64_t queue_pairs;
    struct mca_btl_rbuf_helper_counters helper;
    uint64_t requests;
    uint64_t completions;
    uint64_t lookups;
    uint64_t cache_hits;
    uint64_t cache_misses;
    uint64_t registrations;
    uint64_t deregistrations;
    uint64_t pinned;
    uint64_t pinned_peak;
    uint64_t unauthenticated;
    uint64_t latecomers;
    uint64_t connects_unanswered;
    uint64_t async_visits;
};

struct mca_btl_rbuf_counter {
    const char *name;
    size_t offset; /* in struct mca_btl_rbuf_counters */
    const char *text;
};

int mca_btl_rbuf_counters_register(const mca_base_component_t *component);
void mca_btl_rbuf_counters_keep(const mca_btl_rbuf_module_t *module); /* before it is freed */
void mca_btl_rbuf_counters_close(void); /* before the listener is, behind the last module */

/* What the process has counted. */
void mca_btl_rbuf_counters_sum(struct mca_btl_rbuf_counters *sum);

/* The i-th of the table, or NULL behind the last. */
const struct mca_btl_rbuf_counter *mca_btl_rbuf_counter(size_t i);

static inline uint64_t mca_btl_rbuf_counter_value(const struct mca_btl_rbuf_counters *counters,
                                                  const struct mca_btl_rbuf_counter *counter)
{
    return *(const uint64_t *) (const void *) ((const char *) counters + counter->offset);
}

#endif
