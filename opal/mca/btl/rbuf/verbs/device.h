/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Devices: which ports there are, which to use, and those opened (device.c); one port, its
 * abilities, and its asynchronous events (port_open.c).
 *
 * Threads: one that opens and closes.
 */
#ifndef RBUF_VERBS_DEVICE_H
#define RBUF_VERBS_DEVICE_H

#include <infiniband/verbs.h>

#include "verbs/port.h"
#include "verbs/selection.h"

/*
 * Opens active ports: those that verbs/selection.h chooses, in its order, or by name what the user
 * has named or not excluded. One that is not named, and of another fabric than the best, is left
 * out if it cannot be opened. A named one that is not there or not active is an error,
 * "no-such-interface".
 * `*ports` is an array of pointers that rbuf_ports_close() frees.
 */
int rbuf_ports_open(const struct rbuf_device_options *options, struct rbuf_port ***ports,
                    size_t *count, struct rbuf_problem *problem);

/* True if the user has said which ports to use. */
bool rbuf_device_options_name(const struct rbuf_device_options *options);

/* Everything made on the ports has been closed; frees the array too. */
void rbuf_ports_close(struct rbuf_port **ports, size_t count);

/* ---- one port ---- */

/* Options are in their ranges (params/params.c). Topics "device", "bad-option", "bad-gid-index",
 * "memlock". */
int rbuf_port_open(struct ibv_device *device, uint8_t number,
                   const struct rbuf_device_options *options, struct rbuf_port **out,
                   struct rbuf_problem *problem);
void rbuf_port_close(struct rbuf_port *port);

/* Fills what verbs/selection.h has to know of a candidate that is active, of its device's context.
 */
void rbuf_port_survey(struct ibv_context *context, const struct ibv_port_attr *attributes,
                      const struct rbuf_device_options *options, struct rbuf_candidate *candidate);

/* Writes "device:port". */
void rbuf_port_name(char name[RBUF_PORT_NAME_MAX], const struct ibv_device *device, uint8_t number);

/* What an asynchronous event means for the port. */
enum rbuf_port_news {
    RBUF_PORT_NO_NEWS, /* there was no event */
    RBUF_PORT_NOTED,   /* for diagnostics only */
    RBUF_PORT_DOWN,    /* the link is gone, perhaps for a moment */
    RBUF_PORT_UP,      /* and is back */
    RBUF_PORT_LOST     /* the device or a queue that all peers share has failed for good */
};

/* Takes one event off the device, without waiting. `*text` is static; set if there was an event.
 * Call it now and then, under the module's lock. */
enum rbuf_port_news rbuf_port_event(struct rbuf_port *port, const char **text);

#endif
