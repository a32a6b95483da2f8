/* SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors. */
/*
 * Which entry of a port's GID table to use.
 *
 * On Ethernet the entry names the interface address and the RoCE version, and both sides have to
 * agree on the version and on IPv4 or IPv6. On InfiniBand entry 0 is the port's own.
 */
#ifndef RBUF_VERBS_GID_H
#define RBUF_VERBS_GID_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs/device.h"

struct rbuf_gid {
    unsigned index;
    enum rbuf_gid_kind kind;
    union ibv_gid raw;
};

/* Chooses by port->options.gid_index; port->link_layer, context and number are set. Topic
 * "bad-gid-index". */
int rbuf_gid_choose(const struct rbuf_port *port, const struct ibv_port_attr *attributes,
                    struct rbuf_gid *out, struct rbuf_problem *problem);

/* Whether a GID of 16 bytes is an IPv4 address. */
bool rbuf_gid_is_ipv4(const uint8_t *gid);

bool rbuf_gid_is_link_local(const uint8_t *gid);

/* The IP network that a GID of an Ethernet port belongs to, by the interface that has its address:
 * equal for addresses of one network. Of an IPv6 address without an interface the first 64 bits; 0:
 * it is not known. */
uint64_t rbuf_gid_subnet(const uint8_t *gid);

/* The same of an address (4 bytes of IPv4, 16 of IPv6) with `prefix` bits of network. */
uint64_t rbuf_network_of(const uint8_t *address, size_t bytes, unsigned prefix);

/* How much an entry is wanted on Ethernet; more is better. */
unsigned rbuf_gid_rank(enum rbuf_gid_kind kind, const uint8_t *gid);

#endif
