/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Parameters of osc/rbuf. Open MPI fills them in when the component registers them, and they are
 * read once when it opens: from then on they do not change, and need no lock. Help texts of this
 * component, which parameters are the first to need.
 */
#ifndef OSC_RBUF_PARAMS_H
#define OSC_RBUF_PARAMS_H

#include "osc_rbuf_compat.h"

#include <stdbool.h>
#include <stddef.h>

/* Which windows are packed. */
enum osc_rbuf_aggregate {
    OSC_RBUF_AGGREGATE_OFF,
    OSC_RBUF_AGGREGATE_ON,
    OSC_RBUF_AGGREGATE_AUTO /* those whose processes are on several nodes */
};

enum { OSC_RBUF_MOST_MESSAGE = 1 << 20 }; /* bytes */

struct osc_rbuf_params {
    enum osc_rbuf_aggregate aggregate;
    bool passive;                  /* accumulates of passive epochs, too */
    bool active_messages;          /* these as active messages, where they can */
    size_t limit;                  /* bytes of the longest put or get that is packed */
    size_t message_size;           /* bytes of a message, header included: a multiple of 8 */
    const char *aggregate_text;    /* as they were given, Open MPI's; never NULL */
    const char *message_size_text; /* likewise */
};

extern struct osc_rbuf_params osc_rbuf_params;

/* Once, before osc_rbuf_params_read(). `component` is osc/rbuf. */
void osc_rbuf_params_register(const mca_base_component_t *component);

/* Reads the values. A process with one that it cannot use says so, and aggregates nothing. */
void osc_rbuf_params_read(void);

/* Most bytes behind a record in one message. */
size_t osc_rbuf_room(void);

/* Shows a topic of this component's help texts. Its values are the name of the node and these; NULL
 * behind those that it needs. */
void osc_rbuf_help(const char *topic, const char *first, const char *second, const char *third);

#endif
