/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * One port: opened, its abilities found out, closed. For device.c.
 *
 * Threads: one that opens ports.
 */
#ifndef RBUF_VERBS_PORT_H
#define RBUF_VERBS_PORT_H

#include <infiniband/verbs.h>

#include "verbs/device.h"
#include "verbs/selection.h"

/* Topics "device", "bad-option", "bad-gid-index", "memlock". */
int rbuf_port_open(struct ibv_device *device, uint8_t number,
                   const struct rbuf_device_options *options, struct rbuf_port **out,
                   struct rbuf_problem *problem);
void rbuf_port_close(struct rbuf_port *port);

/* What verbs/selection.h has to know of an active port, without its name, device and place. */
void rbuf_port_survey(struct ibv_context *context, uint8_t number,
                      const struct ibv_port_attr *attributes,
                      const struct rbuf_device_options *options, struct rbuf_selectable *out);

/* Writes "device:port". */
void rbuf_port_name(char name[RBUF_PORT_NAME_MAX], const struct ibv_device *device, uint8_t number);

#endif
