/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * What osc/rbuf counts, which Open MPI shows as performance variables. The lock is held where they
 * are counted (osc_rbuf_window.h).
 */
#ifndef OSC_RBUF_COUNTERS_H
#define OSC_RBUF_COUNTERS_H

#include "osc_rbuf_compat.h"

struct osc_rbuf_counters {
    unsigned long long packed;
    unsigned long long passed;
    unsigned long long messages;
    unsigned long long active;    /* of them, active messages of passive epochs */
    unsigned long long by_thread; /* that came, and rbuf's thread did */
};

extern struct osc_rbuf_counters osc_rbuf_counters;

void osc_rbuf_counters_register(const mca_base_component_t *component);

#endif
