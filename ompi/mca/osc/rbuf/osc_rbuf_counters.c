/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Counters, and their names for Open MPI.
 */
#include "osc_rbuf_counters.h"

#include "opal/mca/base/mca_base_pvar.h"

struct osc_rbuf_counters osc_rbuf_counters;

static const struct counter {
    const char *name;
    unsigned long long *value;
    const char *text;
} counters[] = {
    {"packed", &osc_rbuf_counters.packed, "One-sided operations that were packed into messages"},
    {"passed", &osc_rbuf_counters.passed,
     "One-sided operations of active epochs that went by osc/rdma"},
    {"messages", &osc_rbuf_counters.messages,
     "Messages of osc/rbuf: packed operations, synchronisation, results"},
    {"active_sent", &osc_rbuf_counters.active,
     "Messages of packed operations of passive epochs that went as active messages of rbuf"},
    {"by_thread", &osc_rbuf_counters.by_thread,
     "Active messages that came while this process computed: rbuf's thread did what they ask"}};

void osc_rbuf_counters_register(const mca_base_component_t *component)
{
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        (void) mca_base_component_pvar_register(
            component, counters[i].name, counters[i].text, OPAL_INFO_LVL_4,
            MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
            MCA_BASE_VAR_BIND_NO_OBJECT,
            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, NULL, NULL, NULL,
            counters[i].value);
    }
}
