/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which entry of a port's GID table to use.
 *
 * On Ethernet the entry names the interface address and the RoCE version, and both sides have to
 * agree on the version and on IPv4 or IPv6. On InfiniBand entry 0 is the port's own.
 *
 * Threads: one that opens ports.
 */
#ifndef RBUF_VERBS_GID_H
#define RBUF_VERBS_GID_H

#include <infiniband/verbs.h>

#include "verbs/port.h"

struct rbuf_gid {
    unsigned index;
    enum rbuf_gid_kind kind;
    union ibv_gid raw;
};

/* Chooses by port->options.gid_index; port->link_layer, context and number are set. Topic
 * "bad-gid-index". */
int rbuf_gid_choose(const struct rbuf_port *port, const struct ibv_port_attr *attributes,
                    struct rbuf_gid *out, struct rbuf_problem *problem);

#endif
