/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What osc/rbuf counts, which Open MPI shows as performance variables (osc_rbuf_counters.c has
 * their texts). Any file counts, with the lock held (osc_rbuf_window.h).
 */
#ifndef OSC_RBUF_COUNTERS_H
#define OSC_RBUF_COUNTERS_H

#include "osc_rbuf_compat.h"

struct osc_rbuf_counters {
    unsigned long long packed;    /* operations */
    unsigned long long passed;    /* operations that went below */
    unsigned long long messages;  /* that were sent */
    unsigned long long active;    /* of them, active messages of passive epochs */
    unsigned long long by_thread; /* that came, and rbuf's thread did */
};

extern struct osc_rbuf_counters osc_rbuf_counters;

/* Once, when the component registers its parameters. */
void osc_rbuf_counters_register(const mca_base_component_t *component);

#endif
